/* SPDX-License-Identifier: MIT */
/* The TNT buffer: the outcomes of conditional branches and compressed RETs that are not in a
 * packet yet (SDM 33.4.2.1).
 *
 * What a packet holds is fixed, and not when it is made, as long as nothing comes between: so there
 * may be outcomes for several packets here, where neither time nor output can tell. The stop bit
 * starts so high that it arrives in bit 63, where a branch can see it at once, when the buffer is
 * to be looked at: it is full, or what was added is the first and has its time to be told. */
#ifndef PTSIM_PT_TNT_H
#define PTSIM_PT_TNT_H

#include <stdbool.h>
#include <stdint.h>

#include "../bits.h"
#include "packet.h"

/* The most outcomes that may be here: those of so many short TNTs. */
#define IPT_TNT_AHEAD_PACKETS 8
#define IPT_TNT_AHEAD         (IPT_TNT_AHEAD_PACKETS * IPT_TNT_8_MAX)

struct ipt_tnt_buffer {
    uint64_t bits;  /* a stop bit, then the outcomes, the oldest highest */
    uint64_t empty; /* BITS where there are none */
    uint32_t room;  /* outcomes that make it full */
};

/* Makes it one for ROOM outcomes, with none in it. TIMED: the first is to be looked at. Of two
 * bits, since one alone in bit 62 is also that of a buffer that lacks one outcome, none taken. */
static inline void ipt_tnt_clear(struct ipt_tnt_buffer *tnt, uint32_t room, bool timed)
{
    tnt->room = room;
    tnt->empty = timed ? BITS(62, 61) : BIT(63 - room);
    tnt->bits = tnt->empty;
}

static inline bool ipt_tnt_empty(const struct ipt_tnt_buffer *tnt)
{
    return tnt->bits == tnt->empty;
}

/* BITS with an outcome more. */
static inline uint64_t ipt_tnt_with(uint64_t bits, bool taken)
{
    return bits + bits + taken;
}

/* Whether a buffer with BITS is to be looked at: ipt_tnt_add() does. */
static inline bool ipt_tnt_due(uint64_t bits)
{
    return (int64_t)bits < 0;
}

/* Adds an outcome to a buffer that is not full; returns whether it now is. */
static inline bool ipt_tnt_add(struct ipt_tnt_buffer *tnt, bool taken)
{
    uint64_t bits = ipt_tnt_empty(tnt) ? BIT(63 - tnt->room) : tnt->bits;

    tnt->bits = ipt_tnt_with(bits, taken);
    return ipt_tnt_due(tnt->bits);
}

/* How many outcomes are in it. */
static inline unsigned ipt_tnt_count(const struct ipt_tnt_buffer *tnt)
{
    return ipt_tnt_empty(tnt) ? 0 : bits_top(tnt->bits) + tnt->room - 63;
}

#endif
