/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delivery of what interrupts the flow of instructions, as events. */
#include <assert.h>

#include "../models/cost.h"
#include "flow.h"

static struct arch_cpu cpu_of(struct machine *machine)
{
    struct lp *lp = &machine->lp;

    return (struct arch_cpu){ .state = &lp->arch, .limits = &lp->limits, .mem = &lp->mem };
}

static uint64_t linear_ip(const struct machine *machine)
{
    return arch_linear_ip(&machine->lp.arch, machine->lp.arch.rip);
}

/* Delivers *WHAT, or what comes of a fault in doing so, and makes EVENT that of what was delivered.
 * False: shutdown (SDM vol. 3A, 6.15, interrupt 8). */
static bool deliver_any(struct machine *machine, struct arch_interruption *what,
                        struct ptsim_event *event)
{
    struct arch_cpu cpu = cpu_of(machine);
    struct arch_fault fault;

    while (arch_deliver(&cpu, what, &fault) != ARCH_DELIVERED) {
        struct arch_fault combined = arch_combine_faults(what, &fault);

        if (!combined.raised) {
            cpu.state->activity = ARCH_SHUTDOWN;
            return false;
        }
        *what = arch_fault_interruption(cpu.state, &combined);
        event->kind = EV_FAULT;
        event->next_ip = 0;
        if (fault.new_task)
            event->from_ip = linear_ip(machine);
    }
    return true;
}

/* The processor is in shutdown, which is C1 as well (table 33-57, case 5). */
static void shut_down(struct machine *machine, struct ptsim_event *event)
{
    event->kind = EV_SHUTDOWN;
    event->to_ip = event->from_ip;
    event->after = arch_context(&machine->lp.arch);
    flow_event(machine, event);
    sleep_enter_c1(machine, event->from_ip);
}

/* CYCLES are those of the instruction where EVENT is a software interrupt. */
static void deliver(struct machine *machine, struct arch_interruption what,
                    struct ptsim_event *event, uint32_t cycles)
{
    const struct arch_state *state = &machine->lp.arch;

    event->from_ip = linear_ip(machine);
    event->before = arch_context(state);
    sleep_wake(machine, IPT_WAKE_INTERRUPT);
    machine->lp.sleep.armed = false;
    machine->deliveries++;
    machine->lp.smm.io.valid = false;
    bool mce = what.vector != ARCH_MC || event->kind != EV_FAULT || state->cr4 & CR4_MCE;

    if (!mce)
        machine->lp.arch.activity = ARCH_SHUTDOWN;
    if (!mce || !deliver_any(machine, &what, event)) {
        shut_down(machine, event);
        return;
    }
    if (event->kind == EV_SW_INTERRUPT)
        flow_retire(machine, event->from_ip, cycles);
    else
        machine->cycles += cost_cycles(machine->profile, COST_DELIVERY);
    machine->in_repeat = false;
    event->vector = what.vector;
    if (event->kind == EV_FAULT && what.vector == ARCH_PF)
        event->value = state->cr2;
    event->to_ip = linear_ip(machine);
    event->after = arch_context(state);
    flow_event(machine, event);
}

void deliver_fault(struct machine *machine, const struct arch_fault *fault)
{
    struct ptsim_event event = { .kind = EV_FAULT };

    deliver(machine, arch_fault_interruption(&machine->lp.arch, fault), &event, 0);
}

void deliver_single_step(struct machine *machine)
{
    struct arch_state *state = &machine->lp.arch;
    struct ptsim_event event = { .kind = EV_TRAP };
    struct arch_interruption what = { .type = ARCH_INT_HW_EXCEPTION,
                                      .vector = ARCH_DB,
                                      .in_repeat = machine->in_repeat,
                                      .return_rip = state->rip };

    state->dr[6] |= DR6_BS;
    deliver(machine, what, &event, 0);
}

void deliver_shutdown(struct machine *machine, struct ptsim_event *event)
{
    shut_down(machine, event);
}

void deliver_software(struct machine *machine, const struct arch_interruption *what,
                      struct ptsim_event *event, uint32_t cycles)
{
    deliver(machine, *what, event, cycles);
}

/*
 * Injected interruptions
 */

/* Whether WHAT may be delivered (SDM vol. 3A, 6.7 and 6.8); SHADOW says whether blocking by STI and
 * MOV SS counts. */
static bool deliverable(const struct arch_state *state, const struct arch_interruption *what,
                        bool shadow)
{
    if (state->activity == ARCH_WAIT_FOR_SIPI)
        return false;
    switch (what->type) {
    case ARCH_INT_EXTERNAL:
        if (shadow && state->blocking_by_sti)
            return false;
        return state->rflags & RFLAGS_IF && !(shadow && state->blocking_by_mov_ss);
    case ARCH_INT_NMI:
        return !state->blocking_by_nmi && !(shadow && state->blocking_by_mov_ss);
    default: /* ARCH_INT_HW_EXCEPTION */
        return true;
    }
}

/* Exceptions first, then NMIs, then external interrupts (SDM vol. 3A, table 6-2); else as they
 * came. Returns injected_count for none. */
static unsigned first_deliverable(const struct machine *machine, bool shadow)
{
    static const unsigned order[] = {
        [ARCH_INT_HW_EXCEPTION] = 0,
        [ARCH_INT_NMI] = 1,
        [ARCH_INT_EXTERNAL] = 2,
    };
    unsigned best = machine->injected_count;

    for (unsigned i = 0; i < machine->injected_count; i++) {
        const struct arch_interruption *what = &machine->injected[i];

        if (deliverable(&machine->lp.arch, what, shadow) &&
            (best == machine->injected_count ||
             order[what->type] < order[machine->injected[best].type]))
            best = i;
    }
    return best;
}

static enum ev_kind kind_of(const struct arch_interruption *what)
{
    switch (what->type) {
    case ARCH_INT_EXTERNAL:
        return EV_INTERRUPT;
    case ARCH_INT_NMI:
        return EV_NMI;
    case ARCH_INT_HW_EXCEPTION:
        return what->vector == ARCH_DB ? EV_TRAP : EV_FAULT;
    default:
        return EV_FAULT;
    }
}

/* The pending SMI, before anything else (SDM 32.3.1). */
static bool deliver_smi(struct machine *machine)
{
    struct smm_cpu cpu = lp_smm_cpu(&machine->lp);
    enum arch_activity was = machine->lp.arch.activity;
    struct ptsim_event event = { .kind = EV_SMI };

    if (!smm_takes_smi(&cpu))
        return false;
    sleep_wake(machine, IPT_WAKE_INTERRUPT);
    if (was == ARCH_HLT)
        machine->lp.arch.activity = ARCH_HLT; /* which the auto HALT restart flag will tell */
    machine->lp.sleep.armed = false;
    event.insns = machine->insns;
    event.cycles = machine->cycles + cost_cycles(machine->profile, COST_DELIVERY);
    lp_smi(&machine->lp, &event);
    machine->deliveries++;
    machine->in_repeat = false;
    flow_event_seen(machine, &event, machine->retired);
    return true;
}

/* A pending INIT, or a SIPI, which is lost where nobody waits for it. */
static bool deliver_init_or_sipi(struct machine *machine)
{
    struct lp *lp = &machine->lp;
    struct ptsim_event event = { .kind = EV_INIT };
    int vector = machine->sipi_pending;
    bool init = machine->init_pending && lp_takes_init(lp), sipi = false;

    if (!init) {
        machine->sipi_pending = MACHINE_NO_SIPI;
        sipi = vector != MACHINE_NO_SIPI && lp_takes_sipi(lp);
    }
    if (!init && !sipi)
        return false;
    sleep_wake(machine, IPT_WAKE_INTERRUPT);
    event.insns = machine->insns;
    event.cycles = machine->cycles + cost_cycles(machine->profile, COST_DELIVERY);
    if (init)
        lp_take_init(lp, &event);
    else
        lp_take_sipi(lp, (uint8_t)vector, &event);
    machine->init_pending &= !init;
    machine->deliveries++;
    machine->in_repeat = false;
    flow_event_seen(machine, &event, machine->retired);
    if (event.kind == EV_INIT_WAIT)
        sleep_enter_c1(machine, event.from_ip);
    return true;
}

/* Masked by RFLAGS.IF, but it ends a sleep that takes no notice of that. */
static bool wake_unmasked(struct machine *machine)
{
    bool pending = false;

    for (unsigned i = 0; i < machine->injected_count; i++)
        pending |= machine->injected[i].type == ARCH_INT_EXTERNAL;
    if (!pending || !sleep_ignores_if(machine))
        return false;
    sleep_wake(machine, IPT_WAKE_INTERRUPT);
    return true;
}

bool deliver_injected(struct machine *machine)
{
    unsigned n = first_deliverable(machine, true);
    struct ptsim_event event = { .kind = EV_INTERRUPT };
    struct arch_interruption what;

    if (deliver_smi(machine) || deliver_init_or_sipi(machine))
        return true;
    if (n == machine->injected_count)
        return wake_unmasked(machine);
    what = machine->injected[n];
    machine->injected_count--;
    for (unsigned i = n; i < machine->injected_count; i++)
        machine->injected[i] = machine->injected[i + 1];
    what.return_rip = machine->lp.arch.rip;
    what.in_repeat = machine->in_repeat;
    event.kind = kind_of(&what);
    deliver(machine, what, &event, 0);
    return true;
}

bool deliver_awaits_shadow(struct machine *machine)
{
    struct smm_cpu cpu = lp_smm_cpu(&machine->lp);

    return smm_awaits_shadow(&cpu) ||
           first_deliverable(machine, true) != first_deliverable(machine, false);
}
