/* SPDX-License-Identifier: MIT */
/* Internal buffer overflow (SDM 33.3.8; 33.4.2.16): packets are lost until it resolves. The
 * enables, the output's place and the cycle counter go on meanwhile. */
#ifndef PTSIM_PT_OVERFLOW_H
#define PTSIM_PT_OVERFLOW_H

#include <stdbool.h>

#include "last_ip.h"

struct ipt;

/* MODE.Exec: the mode that the last one told, and whether there was one that still counts. */
struct ipt_mode {
    bool sent; /* since the last PSB, and since TraceEn was set */
    bool cs_l; /* CS.L & LMA */
    bool cs_d;
    bool rflags_if; /* with event trace: RFLAGS.IF */
};

/* What the decoder knows from before the overflow. */
struct ipt_overflow {
    bool lasts;
    bool last_ip_unknown;
    struct ipt_last_ip last_ip;
    struct ipt_mode mode;
};

/* The buffers are full: what the TNT buffer has for whole packets still goes out, all else is lost.
 */
void ipt_overflow_begin(struct ipt *ipt);

/* It is resolved: OVF, and FUP with IP, of the next instruction, where PacketEn is set. Nothing
 * where tracing ended meanwhile. */
void ipt_overflow_end(struct ipt *ipt, uint64_t ip);

#endif
