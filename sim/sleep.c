/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of a processor that sleeps, and what the core does to its clock. The scenario, or
 * who else drives the machine, says how long it sleeps; a deadline ends it where nothing else does.
 */
#include <inttypes.h>

#include "flow.h"

static uint64_t linear_ip(const struct machine *machine)
{
    return arch_linear_ip(&machine->lp.arch, machine->lp.arch.rip);
}

/* An event here, with all that has passed until now. */
static struct ptsim_event event_here(const struct machine *machine)
{
    uint64_t ip = linear_ip(machine);

    return (struct ptsim_event){
        .insns = machine->insns, .cycles = machine->cycles, .from_ip = ip, .to_ip = ip
    };
}

static bool is_asleep(const struct machine *machine)
{
    enum arch_activity activity = machine->lp.arch.activity;

    return activity == ARCH_HLT || activity == ARCH_MWAIT || activity == ARCH_WAIT_FOR_SIPI;
}

void sleep_enter_c1(struct machine *machine, uint64_t from_ip)
{
    struct ptsim_event event = event_here(machine);

    event.from_ip = from_ip;
    lp_sleep_c1(&machine->lp, &event);
    flow_event_seen(machine, &event, machine->retired);
}

void sleep_wake(struct machine *machine, uint8_t wake)
{
    struct ptsim_event event = event_here(machine);

    enum arch_activity was = machine->lp.arch.activity;

    if (!is_asleep(machine))
        return;
    if (lp_wake(&machine->lp, wake, &event))
        flow_event_seen(machine, &event, machine->retired);
    if (was == ARCH_WAIT_FOR_SIPI)
        machine->lp.arch.activity = was; /* until the SIPI has been taken */
}

bool sleep_ends(struct machine *machine)
{
    const struct lp_sleep *sleep = &machine->lp.sleep;
    struct clock *clock = &machine->lp.clock;
    uint64_t now;

    if (machine->lp.arch.activity != ARCH_MWAIT || !sleep->timed)
        return false;
    flow_charge(machine);
    now = clock_tsc_at(clock, clock->core);
    if (sleep->stopped && now < sleep->deadline)
        clock_stand_still(clock, sleep->deadline - now);
    else if (now < sleep->deadline)
        machine->cycles += clock_core_at_tsc(clock, sleep->deadline) - clock->core;
    sleep_wake(machine, IPT_WAKE_TIMER);
    return true;
}

bool sleep_ignores_if(const struct machine *machine)
{
    return machine->lp.arch.activity == ARCH_MWAIT && machine->lp.sleep.ignores_if;
}

void machine_sleep(struct machine *machine, uint64_t ticks)
{
    flow_charge(machine);
    if (machine->lp.sleep.stopped)
        clock_stand_still(&machine->lp.clock, ticks);
    else
        flow_error(machine, "the processor does not sleep at %#" PRIx64, linear_ip(machine));
}

void machine_monitored_store(struct machine *machine)
{
    machine->lp.sleep.armed = false;
    if (machine->lp.arch.activity == ARCH_MWAIT)
        sleep_wake(machine, IPT_WAKE_STORE);
}

void machine_duty_cycle(struct machine *machine, uint64_t ticks)
{
    struct ptsim_event stop = event_here(machine), start = stop;

    start.insns = 0;
    start.cycles = 0;
    if (is_asleep(machine))
        return; /* nothing to force idle */
    lp_duty_cycle(&machine->lp, ticks, &stop, &start);
    flow_event_seen(machine, &stop, machine->retired);
    flow_event_seen(machine, &start, machine->retired);
}

void machine_set_core_ratio(struct machine *machine, uint8_t ratio)
{
    struct ptsim_event stop = event_here(machine), start = stop;

    start.insns = 0;
    start.cycles = 0;
    if (machine->lp.sleep.stopped)
        flow_charge(machine);
    if (!lp_set_core_ratio(&machine->lp, ratio, &stop, &start))
        return;
    flow_event_seen(machine, &stop, machine->retired);
    flow_event_seen(machine, &start, machine->retired);
}
