/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Execution of the instructions of specials.def on the architectural state. */
#ifndef PTSIM_SIM_SPECIAL_H
#define PTSIM_SIM_SPECIAL_H

#include "../models/arch/interrupt.h"
#include "../models/core/lp.h"
#include "block.h"

enum special_outcome {
    SPECIAL_RETIRED,
    SPECIAL_FAULTED,    /* fault; nothing else has changed */
    SPECIAL_REPEATS,    /* one iteration of a repeated string instruction, which is not the last */
    SPECIAL_SHUTDOWN,   /* the processor is in shutdown; the instruction has not retired */
    SPECIAL_INTERRUPTS, /* interruption is to be delivered: then the instruction has retired */
    SPECIAL_NOT_MODELLED, /* nothing has changed */
};

/* One instruction about to be executed, and what came of it. */
struct special_call {
    /* in */
    struct lp *lp;
    const struct insn *insn;
    uint64_t next_rip; /* the offset in CS of the instruction after it */

    /* in: from_ip, next_ip, before, insns and cycles, as if it had retired. Out: to_ip, after,
     * and, where it retired, its kind: EV_KINDS if no kind of event says what it did. */
    struct ptsim_event event;

    /* out */
    enum special_outcome outcome;
    bool event_seen;  /* the models have seen the event already: lp_wrmsr() showed it */
    bool flush;       /* what was cached of translations is stale */
    bool smi;         /* what it wrote to made the chipset signal an SMI */
    struct smm_io io; /* an I/O instruction: what it was */
    struct arch_fault fault;
    struct arch_interruption interruption;
};

/* The processor, as models/arch works on it. */
static inline struct arch_cpu special_cpu(const struct special_call *call)
{
    struct lp *lp = call->lp;

    return (struct arch_cpu){ .state = &lp->arch, .limits = &lp->limits, .mem = &lp->mem };
}

/* What CPUID must have for the instruction to be defined: a bit of EAX, EBX, ECX or EDX (0 to 3).
 */
bool special_has_feature(const struct special_call *call, uint32_t leaf, uint32_t subleaf,
                         unsigned reg, unsigned bit);

void special_execute(struct special_call *call);

#endif
