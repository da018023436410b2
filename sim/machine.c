/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine: its making, what others ask of it, and the loop that takes turns with the engine.
 *
 * Between two turns the machine stands at an instruction boundary, with the state in lp->arch.
 * There calls are made and interruptions delivered; then the instruction at RIP is executed here
 * if it is special, else the engine runs from it as far as it gets. */
#include "machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../models/cost.h"
#include "flow.h"
#include "special.h"

static const uint32_t IA32_RTIT_CTL = 0x570;
static const uint64_t TRACE_EN = 1;
/* not canonical */
static const uint64_t NOWHERE = UINT64_C(0x8000000000000000);

static uint64_t linear_ip(const struct machine *machine)
{
    return arch_linear_ip(&machine->lp.arch, machine->lp.arch.rip);
}

/*
 * What the engine asks
 */

/* RFLAGS.AC, which SMAP looks at, may have been changed by the running code. */
static struct arch_fault translate(void *ctx, uint64_t linear, enum arch_access access,
                                   struct arch_translation *out)
{
    struct machine *machine = ctx;
    struct lp *lp = &machine->lp;
    struct arch_fault fault;

    if (lp->arch.cr4 & CR4_SMAP)
        lp->arch.rflags =
            (lp->arch.rflags & ~(uint64_t)RFLAGS_AC) | (engine_rflags(machine->engine) & RFLAGS_AC);
    fault = arch_translate(&lp->arch, &lp->limits, &lp->mem, linear, access, lp->arch.cpl, out);
    machine->fetch_fault = fault.raised && access == ARCH_FETCH;
    return fault;
}

/* The next block hook looks twice: see settle_in_hook(). */
static void code_changed(void *ctx, uint64_t linear, uint32_t size)
{
    struct machine *machine = ctx;

    block_cache_remove(&machine->cache, linear, size);
    machine->slow = true;
    machine->limit = 0;
}

static const struct engine_ops ops = {
    .block = flow_block,
    .translate = translate,
    .code_changed = code_changed,
};

/*
 * Making and freeing
 */

struct machine *machine_new(const struct cpu_profile *profile, uint64_t memory_size)
{
    struct machine *machine = calloc(1, sizeof(*machine));
    struct mem_port mem;

    if (!machine)
        return NULL;
    machine->profile = profile;

    machine->arrived_linear = NOWHERE;
    machine->sipi_pending = MACHINE_NO_SIPI;
    machine->memory = memory_new(memory_size);
    if (!machine->memory || !block_cache_init(&machine->cache)) {
        machine_free(machine);
        return NULL;
    }
    machine->pending = &machine->cache.none;
    mem = memory_port(machine->memory);
    lp_init(&machine->lp, profile, &mem);
    machine->engine = engine_new(machine->memory, &ops, machine);
    if (!machine->engine) {
        machine_free(machine);
        return NULL;
    }
    return machine;
}

void machine_free(struct machine *machine)
{
    if (!machine)
        return;
    engine_free(machine->engine);
    if (machine->memory)
        memory_free(machine->memory);
    block_cache_free(&machine->cache);
    free(machine->at.call);
    free(machine->after.call);
    free(machine);
}

struct lp *machine_lp(struct machine *machine)
{
    return &machine->lp;
}

struct memory *machine_memory(struct machine *machine)
{
    return machine->memory;
}

const char *machine_error(const struct machine *machine)
{
    return machine->error;
}

uint64_t machine_instructions(const struct machine *machine)
{
    return machine->retired;
}

/*
 * What others ask
 */

void machine_watch(struct machine *machine, const struct machine_watch *watch)
{
    if (machine->watches == MACHINE_WATCHES) {
        flow_error(machine, "more than %d watchers", MACHINE_WATCHES);
        return;
    }
    machine->watch[machine->watches++] = *watch;
    if (watch->truth)
        machine->watch_truth = true;
}

static enum ptsim_status add_call(struct machine_calls *calls, const struct machine_call *call)
{
    if (calls->count == calls->room) {
        size_t room = calls->room ? calls->room * 2 : 8;
        struct machine_call *grown = realloc(calls->call, room * sizeof(*grown));

        if (!grown)
            return PTSIM_NO_SPACE;
        calls->call = grown;
        calls->room = room;
    }
    calls->call[calls->count++] = *call;
    return PTSIM_OK;
}

enum ptsim_status machine_at(struct machine *machine, uint64_t linear, uint64_t nth,
                             machine_at_fn *fn, void *ctx)
{
    if (nth == 0)
        return PTSIM_INVALID;
    (void)engine_intercept(machine->engine, linear);
    return add_call(&machine->at,
                    &(struct machine_call){ .linear = linear, .count = nth, .fn = fn, .ctx = ctx });
}

enum ptsim_status machine_after(struct machine *machine, uint64_t n, machine_at_fn *fn, void *ctx)
{
    return add_call(&machine->after,
                    &(struct machine_call){ .count = machine->retired + n, .fn = fn, .ctx = ctx });
}

void machine_flush_tlb(struct machine *machine)
{
    engine_flush_tlb(machine->engine);
    block_cache_drop(&machine->cache);
}

static bool nmi_is_latched(const struct machine *machine)
{
    for (unsigned i = 0; i < machine->injected_count; i++)
        if (machine->injected[i].type == ARCH_INT_NMI)
            return true;
    return false;
}

void machine_inject(struct machine *machine, const struct arch_interruption *what)
{
    /* One NMI is latched, no more (SDM 32.8; vol. 3A, 6.7.1). */
    if (what->type == ARCH_INT_NMI && nmi_is_latched(machine))
        return;
    if (machine->injected_count == MACHINE_PENDING)
        flow_error(machine, "more than %d interruptions are pending", MACHINE_PENDING);
    else
        machine->injected[machine->injected_count++] = *what;
}

void machine_smi(struct machine *machine)
{
    machine->lp.smm.pending = true;
}

void machine_signal_init(struct machine *machine)
{
    machine->init_pending = true;
}

void machine_sipi(struct machine *machine, uint8_t vector)
{
    machine->sipi_pending = vector;
}

void machine_check(struct machine *machine)
{
    machine_inject(machine,
                   &(struct arch_interruption){ .type = ARCH_INT_HW_EXCEPTION, .vector = ARCH_MC });
}

void machine_stall(struct machine *machine, uint64_t cycles)
{
    machine->cycles += cycles;
}

void machine_reset_cycle_counter(struct machine *machine, uint64_t cycles)
{
    struct ptsim_event event = { .kind = EV_CYCLE_COUNTER_RESET };

    machine->cycles += cycles;
    flow_event(machine, &event);
}

static void overflow_event(struct machine *machine, enum ev_kind kind)
{
    uint64_t ip = linear_ip(machine);
    struct ptsim_event event = { .kind = kind, .from_ip = ip, .to_ip = ip };

    flow_event(machine, &event);
}

void machine_overflow(struct machine *machine)
{
    overflow_event(machine, EV_OVERFLOW);
}

void machine_overflow_end(struct machine *machine)
{
    overflow_event(machine, EV_OVERFLOW_END);
}

void machine_stop(struct machine *machine)
{
    machine->stop = true;
}

/* WRMSR is two bytes long. */
void machine_trace_end(struct machine *machine)
{
    struct lp *lp = &machine->lp;
    uint64_t ip = linear_ip(machine);
    struct ptsim_event event = { .kind = EV_WRMSR,
                                 .insns = machine->insns,
                                 .cycles = machine->cycles,
                                 .from_ip = ip,
                                 .next_ip = ip + 2,
                                 .to_ip = ip + 2,
                                 .before = arch_context(&lp->arch),
                                 .after = arch_context(&lp->arch) };

    if (!(lp->pt.ctl & TRACE_EN))
        return;
    (void)lp_wrmsr(lp, IA32_RTIT_CTL, lp->pt.ctl & ~TRACE_EN, &event);
    flow_event_seen(machine, &event, machine->retired);
    flow_flush_truth(machine);
}

/*
 * The boundary between two instructions
 */

/* Takes the call at INDEX out and makes it. */
static void make_call(struct machine *machine, struct machine_calls *calls, size_t index)
{
    struct machine_call call = calls->call[index];

    calls->count--;
    memmove(&calls->call[index], &calls->call[index + 1],
            (calls->count - index) * sizeof(calls->call[0]));
    call.fn(call.ctx, machine);
}

/* Those that machine_after() asked for. True: one was made. */
static bool make_due_call(struct machine *machine)
{
    for (size_t i = 0; i < machine->after.count; i++) {
        if (machine->after.call[i].count <= machine->retired) {
            make_call(machine, &machine->after, i);
            return true;
        }
    }
    return false;
}

static bool is_at(const struct machine *machine, uint64_t linear)
{
    for (size_t i = 0; i < machine->at.count; i++)
        if (machine->at.call[i].linear == linear)
            return true;
    return false;
}

/* Those that machine_at() asked for, once for each arrival. A call asked for by one of them waits
 * for the next arrival. */
static void arrive(struct machine *machine)
{
    uint64_t linear = linear_ip(machine);
    size_t due = 0;

    if (machine->arrived_retired == machine->retired && machine->arrived_linear == linear &&
        machine->arrived_deliveries == machine->deliveries)
        return;
    machine->arrived_retired = machine->retired;
    machine->arrived_linear = linear;
    machine->arrived_deliveries = machine->deliveries;
    for (size_t i = 0; i < machine->at.count; i++)
        if (machine->at.call[i].linear == linear && --machine->at.call[i].count == 0)
            due++;
    for (size_t i = 0; due; i++) {
        if (machine->at.call[i].count == 0) {
            make_call(machine, &machine->at, i--);
            due--;
        }
    }
}

/* Blocking by STI and MOV SS ends with the next instruction. */
static void end_shadow(struct machine *machine)
{
    struct arch_state *state = &machine->lp.arch;

    if (machine->retired != machine->shadow_at)
        state->blocking_by_sti = state->blocking_by_mov_ss = false;
}

/* Whether the run ends at this boundary. */
static bool ends(struct machine *machine, enum machine_end *end)
{
    enum arch_activity activity = machine->lp.arch.activity;

    if (machine->error[0])
        *end = MACHINE_ERROR;
    else if (machine->stop)
        *end = MACHINE_STOPPED;
    else if (activity == ARCH_SHUTDOWN)
        *end = MACHINE_SHUTDOWN;
    else if (activity != ARCH_ACTIVE)
        *end = MACHINE_HALTED;
    else if (machine->retired >= machine->limit_at)
        *end = MACHINE_LIMIT;
    else
        return false;
    return true;
}

/* Everything that happens between two instructions. True: the run ends. */
static bool boundary(struct machine *machine, enum machine_end *end)
{
    do {
        end_shadow(machine);
        while (!machine->stop && make_due_call(machine))
            ;
        if (!machine->stop)
            arrive(machine);
        if (machine->watches)
            flow_poll_packet_en(machine, machine->retired);
        if (machine->stop || machine->error[0] || machine->lp.arch.activity == ARCH_SHUTDOWN)
            break;
    } while (deliver_injected(machine) || sleep_ends(machine) ||
             linear_ip(machine) != machine->arrived_linear);
    return ends(machine, end);
}

/*
 * One turn
 */

/* Where the state no longer is what the engine and the cache know, they forget. */
static bool synchronize(struct machine *machine)
{
    const struct arch_state *state = &machine->lp.arch;
    struct machine_mapping mapping = {
        .cr0 = state->cr0, .cr3 = state->cr3, .cr4 = state->cr4, .efer = state->efer
    };
    bool long64 = arch_64bit_mode(state);

    memcpy(mapping.pdpte, state->pdpte, sizeof(mapping.pdpte));
    if (memcmp(&mapping, &machine->mapping, sizeof(mapping)) != 0) {
        machine->mapping = mapping;
        machine_flush_tlb(machine);
    }
    if (block_cache_select(&machine->cache, (uint8_t)arch_code_bits(state),
                           long64 ? 0 : state->sreg[ARCH_CS].base))
        return true;
    flow_error(machine, "out of memory");
    return false;
}

/* The instruction at RIP, or the fault of fetching it. */
static struct arch_fault fetch(struct machine *machine, struct insn *insn)
{
    uint8_t bytes[INSN_SIZE_MAX];
    struct code code = { .bytes = bytes,
                         .linear = linear_ip(machine),
                         .bits = (uint8_t)arch_code_bits(&machine->lp.arch) };
    struct arch_fault fault =
        flow_fetch(machine, code.linear, bytes, sizeof(bytes), &code.available);

    if (insn_decode(&code, insn) == PTSIM_TRUNCATED)
        return fault;
    return ARCH_NO_FAULT;
}

/* What the special instruction has done to time, to events and to what is cached. */
static void retire_special(struct machine *machine, struct special_call *call, uint32_t cycles)
{
    struct ptsim_event *event = &call->event;
    bool trace_was_on = machine->packet_en;

    flow_retire(machine, event->from_ip, cycles);
    if (call->event_seen) {
        /* a WRMSR that ends tracing is not traced itself */
        bool ended = trace_was_on && !(machine->lp.pt.ctl & TRACE_EN);

        flow_event_seen(machine, event, machine->retired - (ended ? 1 : 0));
    } else if (event->kind != EV_KINDS) {
        flow_event(machine, event);
    }
    if (event->kind == EV_RSM && machine->lp.arch.activity == ARCH_HLT)
        sleep_enter_c1(machine, event->to_ip);
    if (call->flush)
        machine_flush_tlb(machine);
}

/* The instructions that see the clock see it with all that was before them. */
static void charge_time(struct machine *machine, enum special special)
{
    if (special == SPECIAL_RDTSC || special == SPECIAL_RDTSCP || special == SPECIAL_RDMSR)
        flow_charge(machine);
}

/* RFLAGS.TF as it was before an instruction makes a trap after it, but for those that begin a
 * handler, and with MOV SS and POP SS one instruction later (SDM vol. 3A, 17.3.1.4 and 6.8.3). */
static bool single_steps(const struct machine *machine, const struct special_call *call)
{
    enum special special = call->insn->special;

    return call->outcome == SPECIAL_RETIRED && special != SPECIAL_SYSCALL &&
           special != SPECIAL_SYSENTER && special != SPECIAL_RSM &&
           !machine->lp.arch.blocking_by_mov_ss;
}

static void execute_special(struct machine *machine, const struct insn *insn)
{
    struct arch_state *state = &machine->lp.arch;
    uint32_t cycles = cost_cycles(machine->profile, insn->cost);
    struct special_call call = { .lp = &machine->lp, .insn = insn };
    bool tf = state->rflags & RFLAGS_TF;

    charge_time(machine, insn->special);
    call.next_rip = state->rip + insn->length;
    if (!arch_64bit_mode(state))
        call.next_rip = (uint32_t)call.next_rip;
    call.event.from_ip = linear_ip(machine);
    call.event.next_ip = arch_linear_ip(state, call.next_rip);
    call.event.before = arch_context(state);
    call.event.insns = machine->insns + 1;
    call.event.cycles = machine->cycles + cycles;
    state->blocking_by_sti = state->blocking_by_mov_ss = false;
    special_execute(&call);
    machine->lp.smm.io = call.io;
    if (call.smi)
        machine_smi(machine);
    if (state->blocking_by_sti || state->blocking_by_mov_ss)
        machine->shadow_at = machine->retired + 1;
    switch (call.outcome) {
    case SPECIAL_RETIRED:
        retire_special(machine, &call, cycles);
        if (tf && single_steps(machine, &call))
            deliver_single_step(machine);
        return;
    case SPECIAL_REPEATS:
        machine->in_repeat = true;
        if (tf)
            deliver_single_step(machine);
        return;
    case SPECIAL_SHUTDOWN:
        deliver_shutdown(machine, &call.event);
        return;
    case SPECIAL_INTERRUPTS:
        deliver_software(machine, &call.interruption, &call.event, cycles);
        return;
    case SPECIAL_FAULTED:
        deliver_fault(machine, &call.fault);
        return;
    case SPECIAL_NOT_MODELLED:
        flow_error(machine, "%s at %#" PRIx64 " is not modelled", special_name(insn->special),
                   call.event.from_ip);
        return;
    }
}

/* A near branch to an address that is not canonical has not retired: it faults (SDM vol. 2, JMP,
 * CALL, RET). The engine noticed only when it fetched from there; RSP goes back. */
static bool undo_branch(struct machine *machine)
{
    struct arch_state *state = &machine->lp.arch;
    const struct block *block = machine->pending;
    struct insn insn;

    if (block->end < BLOCK_JMP_INDIRECT || block->end > BLOCK_RET)
        return false;
    state->rip = block->last_ip;
    if (fetch(machine, &insn).raised)
        return false;
    if (block->end == BLOCK_CALL_INDIRECT)
        state->gpr[ARCH_RSP] += 8;
    else if (block->end == BLOCK_RET)
        state->gpr[ARCH_RSP] -= 8 + (insn.operands ? (uint16_t)insn.operand[0].value : 0u);
    flow_settle(machine, block->last_ip, false);
    return true;
}

/* The engine met a fault. One of a fetch is met when code is translated: all that is pending has
 * retired; and it may be the fault of a later instruction than that at RIP, from which on
 * Unicorn wanted to translate. */
static void engine_fault(struct machine *machine, const struct arch_fault *fault)
{
    struct insn insn;

    if (!machine->fetch_fault) {
        flow_settle(machine, linear_ip(machine), false);
        deliver_fault(machine, fault);
        return;
    }
    machine->fetch_fault = false;
    if (fault->vector == ARCH_GP && undo_branch(machine)) {
        deliver_fault(machine, fault);
        return;
    }
    flow_settle(machine, linear_ip(machine), true);
    if (fetch(machine, &insn).raised)
        deliver_fault(machine, fault);
    else
        machine->step_once = true;
}

static void engine_trap(struct machine *machine, const struct arch_fault *trap)
{
    flow_settle(machine, linear_ip(machine), true);
    if (trap->vector == ARCH_DB)
        deliver_single_step(machine);
    else
        flow_error(machine, "Unicorn delivers vector %u at %#" PRIx64, trap->vector,
                   linear_ip(machine));
}

static void engine_left(struct machine *machine, const struct engine_exit *left)
{
    struct arch_fault undefined = arch_fault(ARCH_UD);

    switch (left->kind) {
    case ENGINE_STOPPED:
        flow_settle(machine, linear_ip(machine), false);
        break;
    case ENGINE_FAULT:
        engine_fault(machine, &left->fault);
        break;
    case ENGINE_TRAP:
        engine_trap(machine, &left->fault);
        break;
    case ENGINE_INVALID:
        flow_settle(machine, linear_ip(machine), false);
        deliver_fault(machine, &undefined);
        break;
    case ENGINE_ERROR:
        flow_error(machine, "Unicorn stopped at %#" PRIx64 ": %s", linear_ip(machine), left->error);
        break;
    }
}

static bool load(struct machine *machine)
{
    enum ptsim_status status = engine_load(machine->engine, &machine->lp.arch);

    if (status != PTSIM_OK)
        flow_error(machine, "no processor can be in the state at %#" PRIx64 ": %s",
                   linear_ip(machine), ptsim_status_text(status));
    machine->fetch_fault = false;
    return status == PTSIM_OK;
}

static void set_stop(struct machine *machine)
{
    machine->stop_at = machine->limit_at;
    for (size_t i = 0; i < machine->after.count; i++)
        if (machine->after.call[i].count < machine->stop_at)
            machine->stop_at = machine->after.call[i].count;
    /* with TF set blocks have one instruction each, which are not those of the cache */
    machine->slow = machine->watches || machine->lp.arch.rflags & RFLAGS_TF;
    flow_set_limit(machine);
}

/* The engine runs until something stops it. */
static void run(struct machine *machine)
{
    uint64_t retired = machine->retired;
    uint64_t linear = linear_ip(machine);
    struct engine_exit left;

    if (!load(machine))
        return;
    set_stop(machine);
    left = engine_run(machine->engine);
    engine_save(machine->engine, &machine->lp.arch);

    /* stopped by an intercept that is left from other code */
    bool stale = left.kind == ENGINE_STOPPED && machine->pending != &machine->cache.none;

    engine_left(machine, &left);
    if (stale && machine->retired == retired && linear_ip(machine) == linear) {
        engine_forget(machine->engine, linear);
        block_cache_drop(&machine->cache);
    }
}

/* The engine executes INSN and stops. */
static void step(struct machine *machine, const struct insn *insn)
{
    struct arch_state *state = &machine->lp.arch;
    uint64_t linear = linear_ip(machine);
    bool tf = state->rflags & RFLAGS_TF;
    struct engine_exit left;
    size_t available;
    struct code code = { .bytes = machine->code,
                         .linear = linear,
                         .cs_base = arch_64bit_mode(state) ? 0 : state->sreg[ARCH_CS].base,
                         .bits = (uint8_t)arch_code_bits(state) };

    if (!load(machine))
        return;
    (void)flow_fetch(machine, linear, machine->code, insn->length, &available);
    code.available = available;
    (void)block_decode(&code, insn->length, machine->profile, &machine->step_insn,
                       &machine->step_block);
    machine->step_once = false;
    machine->stepping = true;
    machine->slow = true;
    machine->limit = 0;
    left = engine_step(machine->engine);
    machine->stepping = false;
    engine_save(machine->engine, state);
    machine->pending = &machine->step_block;
    if (left.kind != ENGINE_STOPPED) {
        engine_left(machine, &left);
        return;
    }
    flow_settle(machine, linear_ip(machine), true);
    if (tf)
        deliver_single_step(machine);
}

/* One instruction, or as many as the engine runs. */
static void turn(struct machine *machine)
{
    struct arch_fault fault;
    struct insn insn;

    machine->lp.smm.io.valid = false; /* no longer what came last */
    if (!synchronize(machine))
        return;
    fault = fetch(machine, &insn);
    if (fault.raised)
        deliver_fault(machine, &fault);
    else if (insn.special != SPECIAL_NONE)
        execute_special(machine, &insn);
    else if (machine->retired < machine->step_until || machine->step_once ||
             deliver_awaits_shadow(machine) || is_at(machine, linear_ip(machine)))
        step(machine, &insn);
    else
        run(machine);
}

enum machine_end machine_run(struct machine *machine, uint64_t max_instructions)
{
    enum machine_end end;

    machine->stop = false;
    machine->limit_at = machine->retired + max_instructions;
    if (machine->limit_at < machine->retired)
        machine->limit_at = UINT64_MAX;
    while (!boundary(machine, &end))
        turn(machine);
    flow_flush_truth(machine);
    return end;
}
