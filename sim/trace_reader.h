/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The packets of a raw trace file, one after the other, in constant memory. What is no packet comes
 * out as a gap that reaches to the next PSB. */
#ifndef PTSIM_SIM_TRACE_READER_H
#define PTSIM_SIM_TRACE_READER_H

#include <stdbool.h>
#include <stdio.h>

#include "../models/pt/packet.h"

enum trace_kind {
    TRACE_PACKET,
    TRACE_LEAD,  /* gap: bytes before the first PSB; a buffer that wrapped begins so */
    TRACE_BAD,   /* gap: bytes that no packet begins with */
    TRACE_CUT,   /* gap: a packet that the end of the file cuts off */
    TRACE_END,   /* the end of the file */
    TRACE_ERROR, /* reading failed: errno */
};

/* What is next in the file, at OFFSET, SIZE bytes long. */
struct trace_item {
    enum trace_kind kind;
    uint64_t offset;
    uint64_t size;
    bool psb_follows;            /* a gap */
    uint8_t raw[IPT_PACKET_MAX]; /* its bytes; of a gap the first ones */
    struct ipt_packet packet;    /* of TRACE_PACKET */
};

struct trace_reader {
    FILE *file;
    bool synced;     /* the next byte begins a packet */
    bool end;        /* of the file: nothing is left but buf[at] to buf[size - 1] */
    uint64_t offset; /* of buf[at] in the file */
    size_t at, size;
    struct ipt_decode_state state;
    uint8_t buf[1 << 16];
};

/* Reads FILE from where it stands, which is offset 0. SYNCED: a packet begins there, else all up to
 * the first PSB is a gap. */
void trace_reader_init(struct trace_reader *reader, FILE *file, bool synced);

/* TRACE_END and TRACE_ERROR come again and again. */
void trace_reader_next(struct trace_reader *reader, struct trace_item *item);

#endif
