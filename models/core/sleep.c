/* SPDX-License-Identifier: MIT */
#include "sleep.h"

#include "lp.h"

/* C-states as MWAIT's hints encode them (SDM vol. 2B, MWAIT, table 4-11). */
enum {
    C0 = 15,
    C1 = 0,
    C0_2 = 1, /* sub-state of C0 */
};

/* UMWAIT's and TPAUSE's control, and IA32_UMWAIT_CONTROL. */
enum {
    CONTROL_C0_1 = 1 << 0,
    C02_DISABLE = 1 << 0,
};
#define MAX_TIME (~UINT32_C(3))

void lp_monitor(struct lp *lp, uint64_t phys)
{
    lp->sleep.armed = true;
    lp->sleep.monitor = phys & ~(uint64_t)(MONITOR_LINE - 1);
}

static void stop_clock(struct lp *lp, struct ptsim_event *event)
{
    event->kind = EV_CLOCK_STOP;
    event->cstate = lp->sleep.cstate;
    lp_event(lp, event);
}

static void start_clock(struct lp *lp, uint8_t wake, struct ptsim_event *event)
{
    const struct ev_cstate *from = &lp->sleep.cstate;

    event->kind = EV_CLOCK_START;
    event->cstate = (struct ev_cstate){
        .sleep = from->sleep, .last = from->state, .deepest = from->state, .wake = wake
    };
    lp_event(lp, event);
}

static void fall_asleep(struct lp *lp, const struct ev_cstate *to, struct ptsim_event *event)
{
    lp->sleep.stopped = true;
    lp->sleep.cstate = *to;
    lp->sleep.cstate.sleep = true;
    stop_clock(lp, event);
}

void lp_sleep_c1(struct lp *lp, struct ptsim_event *event)
{
    fall_asleep(lp, &(struct ev_cstate){ .state = C1 }, event);
}

static unsigned sub_states(const struct lp *lp, unsigned state)
{
    return state < 7 ? lp->profile->mwait_sub_states >> (4 * (state + 1)) & 0xf : 0;
}

/* The thread's C-state for one that was asked for: none that the core does not have, and no
 * sub-state that CPUID.05H does not count. */
static void resolve(const struct lp *lp, unsigned state, unsigned sub_state, struct ev_cstate *to)
{
    unsigned deepest = lp->profile->core_cstate_max - 1u;

    if (state > deepest) {
        state = deepest;
        sub_state = 0;
    }
    to->state = (uint8_t)state;
    to->sub_state = (uint8_t)(sub_state < sub_states(lp, state) ? sub_state : 0);
}

bool lp_mwait(struct lp *lp, uint32_t hints, uint32_t extensions, struct ptsim_event *event)
{
    struct ev_cstate to = { .mwait = true, .hints = hints, .extensions = extensions };
    unsigned state = hints >> 4 & 0xf;

    if (!lp->sleep.armed || state == C0) {
        lp->sleep.armed = false;
        return false;
    }
    lp->sleep.ignores_if = extensions & 1;
    lp->sleep.timed = false;
    lp->arch.activity = ARCH_MWAIT;
    resolve(lp, state, hints & 0xf, &to);
    fall_asleep(lp, &to, event);
    return true;
}

/* The TSC at which UMWAIT and TPAUSE end: the operating system's limit may come first. */
static void set_deadline(struct lp *lp, uint64_t deadline, uint64_t now)
{
    uint64_t limit = lp->umwait_control & MAX_TIME;

    lp->sleep.timed = true;
    lp->sleep.os_deadline = limit && limit < deadline - now;
    lp->sleep.deadline = lp->sleep.os_deadline ? now + limit : deadline;
}

bool lp_tpause(struct lp *lp, uint32_t control, uint64_t deadline, struct ptsim_event *event)
{
    uint64_t now = clock_tsc_at(&lp->clock, lp->clock.core + event->cycles);
    struct ev_cstate to = { .mwait = true, .hints = control, .state = C0, .sub_state = C0_2 };

    lp->arch.rflags &= ~(uint64_t)RFLAGS_CF;
    if (deadline <= now)
        return false;
    set_deadline(lp, deadline, now);
    lp->sleep.ignores_if = false;
    lp->arch.activity = ARCH_MWAIT;
    if (control & CONTROL_C0_1 || lp->umwait_control & C02_DISABLE)
        return false;
    fall_asleep(lp, &to, event);
    return true;
}

bool lp_umwait(struct lp *lp, uint32_t control, uint64_t deadline, struct ptsim_event *event)
{
    if (!lp->sleep.armed) {
        lp->arch.rflags &= ~(uint64_t)RFLAGS_CF;
        return false;
    }
    return lp_tpause(lp, control, deadline, event);
}

bool lp_wake(struct lp *lp, uint8_t wake, struct ptsim_event *event)
{
    bool stopped = lp->sleep.stopped;

    if (wake == IPT_WAKE_TIMER && lp->sleep.os_deadline)
        lp->arch.rflags |= RFLAGS_CF;
    lp->arch.activity = ARCH_ACTIVE;
    lp->sleep.stopped = lp->sleep.armed = lp->sleep.timed = lp->sleep.os_deadline = false;
    if (stopped)
        start_clock(lp, wake, event);
    return stopped;
}

void lp_duty_cycle(struct lp *lp, uint64_t ticks, struct ptsim_event *stop,
                   struct ptsim_event *start)
{
    lp->sleep.cstate =
        (struct ev_cstate){ .sleep = true, .hw = true, .state = lp->profile->core_cstate_max - 1 };
    stop_clock(lp, stop);
    clock_stand_still(&lp->clock, ticks);
    start_clock(lp, IPT_WAKE_HW, start);
}

bool lp_set_core_ratio(struct lp *lp, uint8_t ratio, struct ptsim_event *stop,
                       struct ptsim_event *start)
{
    if (lp->sleep.stopped) {
        clock_set_core_ratio(&lp->clock, ratio);
        return false;
    }
    lp->sleep.cstate = (struct ev_cstate){ .sleep = false };
    stop_clock(lp, stop);
    clock_stand_still(&lp->clock, lp->profile->frequency_stop);
    clock_set_core_ratio(&lp->clock, ratio);
    start_clock(lp, 0, start);
    return true;
}
