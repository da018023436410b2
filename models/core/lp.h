/* SPDX-License-Identifier: MIT */
/* One logical processor: the models wired together. */
#ifndef PTSIM_CORE_LP_H
#define PTSIM_CORE_LP_H

#include "../arch/segment.h"
#include "../clock.h"
#include "../event.h"
#include "../ports.h"
#include "../profile.h"
#include "../pt/ipt.h"

struct lp {
    const struct cpu_profile *profile;
    struct mem_port mem;
    struct arch_limits limits;
    struct arch_state arch;
    struct clock clock;
    struct ipt pt;

    /* MSRs that only guest software and the devices round the processor look at. */
    uint64_t apic_base;
    uint64_t misc_enable;
    uint64_t debugctl;
    uint64_t xss;
};

/* Power-on: every model in its cold-reset state. PROFILE must outlive LP,
 * and LP stays where it is: its models point at each other. */
void lp_init(struct lp *lp, const struct cpu_profile *profile, const struct mem_port *mem);

/* Advances the clock by event->cycles and shows EVENT to every model. */
void lp_event(struct lp *lp, const struct ptsim_event *event);

/* The fast path: what lp_event() does for a COND_BRANCH with these fields. */
static inline void lp_cond_branch(struct lp *lp, bool taken, uint64_t from_ip, uint64_t next_ip,
                                  uint64_t to_ip, uint32_t insns, uint64_t cycles)
{
    const struct ptsim_event event = { .kind = EV_COND_BRANCH,
                                       .taken = taken,
                                       .insns = insns,
                                       .cycles = cycles,
                                       .from_ip = from_ip,
                                       .next_ip = next_ip,
                                       .to_ip = to_ip };

    lp_event(lp, &event);
}

/* RDMSR and WRMSR: a fault is #GP(0) and has changed nothing. All checks are included but that of
 * CPL, which belongs to the instruction: a scenario's start writes MSRs with none.
 * EVENT, for a write, describes the WRMSR (or what else wrote: the scenario's start): kind
 * EV_WRMSR, from_ip, next_ip, to_ip, before, after, with insns and cycles up to and including
 * it. lp_wrmsr() advances the clock and lets the models see it, so the caller raises no event
 * of its own. */
struct arch_fault lp_rdmsr(struct lp *lp, uint32_t index, uint64_t *value);
struct arch_fault lp_wrmsr(struct lp *lp, uint32_t index, uint64_t value,
                           const struct ptsim_event *event);

/* Every MSR to its value after a cold reset. */
void lp_reset_msrs(struct lp *lp);

/* CPUID: EAX, EBX, ECX, EDX in regs[0..3]. */
void lp_cpuid(const struct lp *lp, uint32_t leaf, uint32_t subleaf, uint32_t regs[4]);

#endif
