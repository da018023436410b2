/* SPDX-License-Identifier: MIT */
/* Sleep of a logical processor: thread C-states (SDM 33.2.3; vol. 3A, 8.10; vol. 2B, MONITOR,
 * MWAIT, UMWAIT, TPAUSE).
 *
 * While it sleeps in a C-state deeper than C0.1 the core clock stands still, and the TSC goes on:
 * who wakes it says for how long. There is one thread in the core, so that the core's C-state is
 * the thread's. */
#ifndef PTSIM_CORE_SLEEP_H
#define PTSIM_CORE_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "../event.h"

struct lp;

struct lp_sleep {
    bool stopped;     /* the core clock stands still */
    bool ignores_if;  /* MWAIT's extension: interrupts wake with RFLAGS.IF clear too */
    bool timed;       /* it ends when the TSC is DEADLINE */
    bool os_deadline; /* which is that of IA32_UMWAIT_CONTROL: RFLAGS.CF will be set */
    bool armed;       /* the address-range monitor */
    uint64_t monitor; /* the physical address it is on */
    uint64_t deadline;
    struct ev_cstate cstate;
};

/* The bytes that MONITOR watches (CPUID.05H). */
#define MONITOR_LINE 64

/* MONITOR and UMONITOR: the line of PHYS is watched. */
void lp_monitor(struct lp *lp, uint64_t phys);

/* C1, after HLT, on shutdown, or where RSM goes on in HALT (table 33-57, case 5). What state is in
 * lp->arch.activity. EVENT has insns, cycles, from_ip and to_ip; the rest is filled in, the clock
 * advances, and the models see it. This holds for all functions below. */
void lp_sleep_c1(struct lp *lp, struct ptsim_event *event);

/* MWAIT with HINTS and EXTENSIONS. False: it did not sleep, and no event was shown, since the
 * monitor is not armed or C0 was asked for (table 33-57, case 2). */
bool lp_mwait(struct lp *lp, uint32_t hints, uint32_t extensions, struct ptsim_event *event);

/* UMWAIT and TPAUSE (which has no monitor) with the state that CONTROL asks for, until the TSC is
 * DEADLINE at the latest. False: no event was shown. Where lp->arch.activity then is ARCH_MWAIT the
 * processor waits in C0.1, in which the core clock runs. */
bool lp_umwait(struct lp *lp, uint32_t control, uint64_t deadline, struct ptsim_event *event);
bool lp_tpause(struct lp *lp, uint32_t control, uint64_t deadline, struct ptsim_event *event);

/* It wakes for WAKE, of enum ipt_wake; the monitor is no longer armed. False: the core clock had
 * not stopped, and no event was shown. */
bool lp_wake(struct lp *lp, uint8_t wake, struct ptsim_event *event);

/* Hardware duty cycling while awake (table 33-57, case 6): the two events are shown one after the
 * other, with STOP and START made from EVENT, and in between the TSC counts TICKS. */
void lp_duty_cycle(struct lp *lp, uint64_t ticks, struct ptsim_event *stop,
                   struct ptsim_event *start);

/* The core has RATIO times the frequency of the bus clock from now on. False: it sleeps, and no
 * event was shown; else as for lp_duty_cycle(). */
bool lp_set_core_ratio(struct lp *lp, uint8_t ratio, struct ptsim_event *stop,
                       struct ptsim_event *start);

#endif
