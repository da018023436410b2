/* SPDX-License-Identifier: MIT */
/* Trace output: a single range, ToPA, the trace transport subsystem (SDM 33.2.7).
 *
 * Bytes gather in a buffer inside the processor and go to memory when it is full, when a region
 * is, and when something asks for it. What happens at the end of a region happens with the very
 * byte that fills it. */
#ifndef PTSIM_PT_OUTPUT_H
#define PTSIM_PT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"
#include "tnt.h"

struct ipt;

/* What a sink says when its region is full, or when it is to be opened. */
enum ipt_sink_answer {
    IPT_SINK_OK,    /* there is a region to write to */
    IPT_SINK_STOP,  /* a ToPA STOP (33.2.7.2): Stopped is to be set */
    IPT_SINK_FATAL, /* an operational error (33.3.10): Error is to be set */
};

/* An output scheme. open() and filled() leave region, size, offset and pmi_at of struct ipt_output
 * as they are to be, with room for a byte or more, where they answer IPT_SINK_OK. */
struct ipt_sink {
    enum ipt_sink_answer (*open)(struct ipt *ipt);   /* from the MSRs */
    enum ipt_sink_answer (*filled)(struct ipt *ipt); /* offset has reached size */
    void (*store)(struct ipt *ipt, uint64_t address, const uint8_t *data, size_t size);
};

#define IPT_OUTPUT_BUFFER 1024

struct ipt_output {
    const struct ipt_sink *sink;
    uint64_t region; /* physical address of the current region */
    uint64_t size;   /* of the region, in bytes */
    uint64_t offset; /* in the region, of buffer[0] */
    uint64_t pmi_at; /* offset at which a PMI is raised, or IPT_NEVER */
    bool stop;       /* tracing stops with the region */
    uint64_t stored; /* bytes that have left the buffer, since reset */
    uint32_t used;   /* bytes in the buffer */
    uint32_t limit;  /* with so many, ipt_output_commit() has something to do; 0 once it is over */
    uint32_t ahead;  /* with fewer, there is nothing to do for IPT_TNT_AHEAD_PACKETS more either */
    uint8_t buffer[IPT_OUTPUT_BUFFER + IPT_PACKET_MAX];
};

/* Opens the sink that IA32_RTIT_CTL selects. */
enum ipt_sink_answer ipt_output_open(struct ipt *ipt);

/* TriggerEn is cleared, with Stopped or Error set: ANSWER is STOP or FATAL. */
void ipt_output_end(struct ipt *ipt, enum ipt_sink_answer answer);

/* Writes out the buffer, after which the output MSRs are those of what was sent. Where the sink
 * ends, what does not fit is lost. */
void ipt_output_commit(struct ipt *ipt);

#endif
