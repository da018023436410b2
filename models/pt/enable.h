/* SPDX-License-Identifier: MIT */
/* The packet generation enable controls (SDM 33.2.6). */
#ifndef PTSIM_PT_ENABLE_H
#define PTSIM_PT_ENABLE_H

#include "../event.h"

struct ipt;

struct ipt_enables {
    bool trigger; /* TriggerEn */
    bool context; /* ContextEn */
    bool filter;  /* FilterEn */
    bool branch;  /* BranchEn */
};

/* PacketEn (33.2.6.1). */
static inline bool ipt_enables_packet(struct ipt_enables enables)
{
    return enables.trigger && enables.context && enables.filter && enables.branch;
}

/* What the present enables become with an operation after which the processor is in CONTEXT, at
 * IP (of the kind that packets carry). LANDS: the operation is one that FilterEn and TraceStop look
 * at, a taken branch, an event or MOV CR3; going on to the next instruction is none (33.2.5.3).
 *
 * TriggerEn is set at present; where it is clear in the result, the operation landed in a
 * TraceStop range. */
struct ipt_enables ipt_enables_after(const struct ipt *ipt, const struct ev_context *context,
                                     bool lands, uint64_t ip);

#endif
