/* SPDX-License-Identifier: MIT */
/* One logical processor: the models wired together. */
#ifndef PTSIM_CORE_LP_H
#define PTSIM_CORE_LP_H

#include "../arch/segment.h"
#include "../clock.h"
#include "../event.h"
#include "../ports.h"
#include "../profile.h"
#include "../pt/fast.h"
#include "../smm/smm.h"
#include "sleep.h"

struct lp {
    struct ipt pt; /* in front, since its TNT buffer is what changes most */
    const struct cpu_profile *profile;
    struct mem_port mem;
    struct arch_limits limits;
    struct arch_state arch;
    struct clock clock;
    struct smm smm;
    struct lp_sleep sleep;

    /* MSRs that only guest software and the devices round the processor look at. */
    uint64_t apic_base;
    uint64_t misc_enable;
    uint64_t debugctl;
    uint64_t umwait_control;
    uint64_t xss;
};

/* Power-on: every model in its cold-reset state. PROFILE must outlive LP,
 * and LP stays where it is: its models point at each other. */
void lp_init(struct lp *lp, const struct cpu_profile *profile, const struct mem_port *mem);

/* Advances the clock by event->cycles and shows EVENT to every model. */
void lp_event(struct lp *lp, const struct ptsim_event *event);

/* The fast path: what lp_event() does for a near branch with these fields. */
#define LP_NEAR_BRANCH(name)                                                                       \
    static inline void lp_##name(struct lp *lp, uint64_t from_ip, uint64_t next_ip,                \
                                 uint64_t to_ip, uint32_t insns, uint64_t cycles)                  \
    {                                                                                              \
        (void)insns;                                                                               \
        lp->clock.core += cycles;                                                                  \
        ipt_##name(&lp->pt, lp->clock.core, from_ip, next_ip, to_ip);                              \
    }
LP_NEAR_BRANCH(jmp_direct)
LP_NEAR_BRANCH(call_direct)
LP_NEAR_BRANCH(jmp_indirect)
LP_NEAR_BRANCH(call_indirect)
LP_NEAR_BRANCH(ret)
#undef LP_NEAR_BRANCH

static inline void lp_cond_branch(struct lp *lp, bool taken, uint64_t from_ip, uint64_t next_ip,
                                  uint64_t to_ip, uint32_t insns, uint64_t cycles)
{
    (void)insns;
    lp->clock.core += cycles;
    ipt_cond_branch(&lp->pt, lp->clock.core, taken, from_ip, next_ip, to_ip);
}

/* The core clocks from now on during which near branches need not be shown one by one: a direct JMP
 * not at all, the others through ipt_quiet_*() of pt/fast.h. Where one of these returns false, or
 * the time is over, or for whatever other event, the question is to be asked anew, and the cycles
 * since are charged with the next event. */
static inline uint64_t lp_quiet_cycles(const struct lp *lp)
{
    uint64_t until = ipt_quiet_until(&lp->pt);

    return until > lp->clock.core ? until - lp->clock.core : 0;
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

/* The pending SMI is taken, which smm_takes_smi() allows, and RSM is executed, in SMM. EVENT has
 * insns and cycles, for RSM also from_ip, next_ip and before; the rest is filled in, the clock
 * advances, and the models see it. False: RSM led to shutdown, and nothing was shown. */
void lp_smi(struct lp *lp, struct ptsim_event *event);
bool lp_rsm(struct lp *lp, struct ptsim_event *event);
/* INIT is taken, which lp_takes_init() allows: not in SMM, nor by a processor that waits for a
 * SIPI. The bootstrap processor, as IA32_APIC_BASE says, goes on at the reset vector, any other
 * waits. A SIPI with VECTOR is taken where the processor waits for one. EVENT has insns and cycles;
 * the rest as for lp_smi(). */
bool lp_takes_init(const struct lp *lp);
void lp_take_init(struct lp *lp, struct ptsim_event *event);
bool lp_takes_sipi(const struct lp *lp);
void lp_take_sipi(struct lp *lp, uint8_t vector, struct ptsim_event *event);
/* What models/smm works on. */
struct smm_cpu lp_smm_cpu(struct lp *lp);

/* Every MSR to its value after a cold reset. */
void lp_reset_msrs(struct lp *lp);

/* CPUID: EAX, EBX, ECX, EDX in regs[0..3]. */
void lp_cpuid(const struct lp *lp, uint32_t leaf, uint32_t subleaf, uint32_t regs[4]);

#endif
