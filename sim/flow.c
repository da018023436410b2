/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

void flow_error(struct machine *machine, const char *format, ...)
{
    va_list args;

    if (machine->error[0])
        return;
    va_start(args, format);
    vsnprintf(machine->error, sizeof(machine->error), format, args);
    va_end(args);
}

/*
 * Watchers
 */

void flow_flush_truth(struct machine *machine)
{
    for (unsigned i = 0; i < machine->watches && machine->truth_count; i++)
        if (machine->watch[i].truth)
            machine->watch[i].truth(machine->watch[i].ctx, machine->truth, machine->truth_count);
    machine->truth_count = 0;
}

static void add_truth(struct machine *machine, uint64_t linear)
{
    machine->truth[machine->truth_count++] = linear;
    if (machine->truth_count == MACHINE_TRUTH)
        flow_flush_truth(machine);
}

/* The first COUNT instructions of BLOCK. */
static void add_block_truth(struct machine *machine, const struct block *block, unsigned count)
{
    uint64_t linear = block->linear;

    if (!machine->watch_truth)
        return;
    for (unsigned i = 0; i < count; i++) {
        add_truth(machine, linear);
        linear += block->insn[i].length;
    }
}

void flow_poll_packet_en(struct machine *machine, uint64_t n)
{
    bool packet_en = ipt_packet_en(&machine->lp.pt);

    if (packet_en == machine->packet_en)
        return;
    machine->packet_en = packet_en;
    for (unsigned i = 0; i < machine->watches; i++)
        if (machine->watch[i].packet_en)
            machine->watch[i].packet_en(machine->watch[i].ctx, n, packet_en);
}

void flow_event_seen(struct machine *machine, const struct ptsim_event *event, uint64_t n)
{
    machine->insns = 0;
    machine->cycles = 0;
    for (unsigned i = 0; i < machine->watches; i++)
        if (machine->watch[i].event)
            machine->watch[i].event(machine->watch[i].ctx, machine->retired, event);
    if (machine->watches)
        flow_poll_packet_en(machine, n);
}

/* Of the transfers, task switches alone load CR3. */
static uint64_t cycles_after_cr3(const struct machine *machine, const struct ptsim_event *event)
{
    uint64_t tail = machine->profile->task_switch_after_cr3;

    if (event->kind == EV_MOV_CR3 || event->before.cr3 == event->after.cr3)
        return 0;
    return tail < event->cycles ? tail : event->cycles;
}

void flow_event(struct machine *machine, struct ptsim_event *event)
{
    event->insns = machine->insns;
    event->cycles = machine->cycles;
    event->cycles_after_cr3 = cycles_after_cr3(machine, event);
    lp_event(&machine->lp, event);
    flow_event_seen(machine, event, machine->retired);
}

void flow_charge(struct machine *machine)
{
    struct ptsim_event event = { .kind = EV_TIME };

    if (machine->insns != 0 || machine->cycles != 0)
        flow_event(machine, &event);
}

void flow_retire(struct machine *machine, uint64_t linear, uint32_t cycles)
{
    machine->retired++;
    machine->insns++;
    machine->cycles += cycles;
    machine->in_repeat = false;
    if (machine->watch_truth)
        add_truth(machine, linear);
}

/*
 * The end of a block
 */

static const uint8_t near_kind[] = {
    [BLOCK_COND] = EV_COND_BRANCH,
    [BLOCK_COND_NEXT] = EV_COND_BRANCH,
    [BLOCK_JMP_DIRECT] = EV_JMP_DIRECT,
    [BLOCK_CALL_DIRECT] = EV_CALL_DIRECT,
    [BLOCK_JMP_INDIRECT] = EV_JMP_INDIRECT,
    [BLOCK_CALL_INDIRECT] = EV_CALL_INDIRECT,
    [BLOCK_RET] = EV_RET,
};

/* Where the target is the next instruction too, only the condition tells. While a hook runs the
 * registers are the engine's. */
static bool cond_next_taken(const struct machine *machine, const struct block *block)
{
    return block_taken(block, engine_rflags(machine->engine),
                       engine_gpr(machine->engine, ARCH_RCX));
}

static void fill_near(struct machine *machine, const struct block *block, uint64_t to_ip)
{
    struct ptsim_event *event = &machine->near;

    event->kind = near_kind[block->end];
    event->from_ip = block->last_ip;
    event->next_ip = block->next_ip;
    event->to_ip = to_ip;
    event->taken =
        block->end == BLOCK_COND_NEXT ? cond_next_taken(machine, block) : to_ip == block->target;
}

/* The first COUNT instructions of BLOCK have retired, and no more. */
static void retire_part(struct machine *machine, const struct block *block, unsigned count)
{
    machine->retired += count;
    machine->insns += count;
    for (unsigned i = 0; i < count; i++)
        machine->cycles += block->insn[i].cycles;
    add_block_truth(machine, block, count);
}

static void add_sum(struct machine *machine, uint64_t sum)
{
    machine->retired += sum >> 32;
    machine->insns += (uint32_t)(sum >> 32);
    machine->cycles += (uint32_t)sum;
}

void flow_catch_up(struct machine *machine)
{
    add_sum(machine, machine->sum);
    machine->sum = 0;
}

/* BLOCK has retired, and execution goes on at TO_IP. */
static void retire(struct machine *machine, const struct block *block, uint64_t to_ip)
{
    if (block->end == BLOCK_REP && to_ip == block->last_ip) {
        retire_part(machine, block, block->insns - 1u);
        machine->in_repeat = true;
        return;
    }
    add_block_truth(machine, block, block->insns);
    add_sum(machine, block->sum);
    if (block->end == BLOCK_SEQUENTIAL || block->end == BLOCK_REP)
        return;
    fill_near(machine, block, to_ip);
    flow_event(machine, &machine->near);
}

/* Which instruction of BLOCK is at LINEAR; insns for the one behind it; -1 for none. */
static int index_in(const struct block *block, uint64_t linear)
{
    uint64_t at = block->linear;
    int i = 0;

    while (i < block->insns && at < linear)
        at += block->insn[i++].length;
    return at == linear ? i : -1;
}

/* Whether execution can go on at LINEAR when BLOCK has ended. */
static bool is_successor(const struct block *block, uint64_t linear)
{
    switch ((enum block_end)block->end) {
    case BLOCK_SEQUENTIAL:
        return linear == block->next_ip;
    case BLOCK_REP:
        return linear == block->next_ip || linear == block->last_ip;
    case BLOCK_COND:
    case BLOCK_COND_NEXT:
        return linear == block->next_ip || linear == block->target;
    case BLOCK_JMP_DIRECT:
    case BLOCK_CALL_DIRECT:
        return linear == block->target;
    default:
        return true;
    }
}

void flow_settle(struct machine *machine, uint64_t linear, bool complete)
{
    const struct block *block = machine->pending;
    int index = complete ? -1 : index_in(block, linear);

    flow_catch_up(machine);
    machine->pending = &machine->cache.none;
    if (block == &machine->cache.none)
        return;
    machine->in_repeat = false;
    if (index >= 0)
        retire_part(machine, block, (unsigned)index);
    else if (is_successor(block, linear))
        retire(machine, block, linear);
    else
        flow_error(machine, "the engine left the block at %#" PRIx64 " for %#" PRIx64,
                   block->linear, linear);
}

/* Before the block of SIZE bytes at LINEAR. A store into the block that makes it ends the block
 * right there: Unicorn translates the one instruction again, alone, and executes it again. */
static void settle_in_hook(struct machine *machine, uint64_t linear, uint32_t size)
{
    const struct block *block = machine->pending;
    int index = index_in(block, linear);
    bool again = index >= 0 && index < block->insns && block->insn[index].length == size &&
                 (index < block->insns - 1 || !is_successor(block, linear));

    flow_settle(machine, linear, !again);
}

/*
 * The block hook
 */

struct arch_fault flow_fetch(struct machine *machine, uint64_t linear, uint8_t *bytes, size_t size,
                             size_t *available)
{
    const struct lp *lp = &machine->lp;

    *available = 0;
    while (*available < size) {
        uint64_t at = linear + *available;
        size_t chunk = MEMORY_PAGE_SIZE - (size_t)(at % MEMORY_PAGE_SIZE);
        struct arch_translation t;

        ARCH_TRY(
            arch_translate(&lp->arch, &lp->limits, &lp->mem, at, ARCH_FETCH, lp->arch.cpl, &t));
        if (chunk > size - *available)
            chunk = size - *available;
        lp->mem.read(lp->mem.ctx, t.phys, bytes + *available, chunk);
        *available += chunk;
    }
    return ARCH_NO_FAULT;
}

static struct block *decode(struct machine *machine, uint64_t linear, uint32_t size)
{
    const struct block_space *space = &machine->cache.space[machine->cache.current];
    struct code code = {
        .bytes = machine->code, .linear = linear, .cs_base = space->cs_base, .bits = space->bits
    };
    struct block block;

    if (size <= CODE_SIZE - INSN_SIZE_MAX)
        (void)flow_fetch(machine, linear, machine->code, size + INSN_SIZE_MAX, &code.available);
    if (code.available < size ||
        block_decode(&code, size, machine->profile, machine->list, &block) != PTSIM_OK) {
        flow_error(machine,
                   "Unicorn makes a block of %" PRIu32 " bytes at %#" PRIx64
                   " that the decoder does not",
                   size, linear);
        return NULL;
    }
    return block_cache_add(&machine->cache, &block);
}

static struct block *find_or_decode(struct machine *machine, uint64_t linear, uint32_t size)
{
    struct block *block = block_cache_find(&machine->cache, linear);

    if (block && block->size == size)
        return block;
    if (block_cache_is_full(&machine->cache))
        block_cache_drop(&machine->cache);
    block = decode(machine, linear, size);
    if (!block)
        flow_error(machine, "out of memory");
    return block;
}

/* Whether the engine may run BLOCK now. If not it is stopped, before the block. */
static bool may_enter(struct machine *machine, const struct block *block)
{
    if (block->special && engine_intercept(machine->engine, block->next_ip))
        return false;
    if (machine->retired + block->insns > machine->stop_at) {
        machine->step_until = machine->stop_at;
        return false;
    }
    return true;
}

static __attribute__((noinline)) void slow_way(struct machine *machine, uint64_t linear,
                                               uint32_t size)
{
    struct block *block;

    if (machine->stepping)
        return;
    settle_in_hook(machine, linear, size);
    block = find_or_decode(machine, linear, size);
    if (!block || machine->error[0] || !may_enter(machine, block)) {
        engine_stop(machine->engine);
        return;
    }
    machine->pending = block;
    machine->slow = machine->watches != 0;
    flow_set_limit(machine);
}

/* The insns of a block are no more than its cycles, so that one limit serves for both: until the
 * next event that the models must see in time, and for the last block before stop_at. */
void flow_set_limit(struct machine *machine)
{
    uint64_t time = lp_quiet_cycles(&machine->lp);
    uint64_t room = machine->stop_at - machine->retired;

    if (machine->slow || time <= machine->cycles || room <= BLOCK_INSNS_MAX) {
        machine->limit = 0;
        return;
    }
    time -= machine->cycles;
    room -= BLOCK_INSNS_MAX;
    if (time > room)
        time = room;
    machine->limit = time < BLOCK_CYCLES_MAX ? (uint32_t)time : BLOCK_CYCLES_MAX;
}

/* The event of a near branch, in time, with nobody watching. */
static void show(struct machine *machine, const struct block *done, uint64_t to_ip)
{
    struct lp *lp = &machine->lp;
    uint32_t insns = machine->insns;
    uint64_t cycles = machine->cycles;

    machine->insns = 0;
    machine->cycles = 0;
    switch ((enum block_end)done->end) {
    case BLOCK_COND:
        lp_cond_branch(lp, to_ip == done->target, done->last_ip, done->next_ip, to_ip, insns,
                       cycles);
        break;
    case BLOCK_COND_NEXT:
        lp_cond_branch(lp, cond_next_taken(machine, done), done->last_ip, done->next_ip, to_ip,
                       insns, cycles);
        break;
    case BLOCK_JMP_DIRECT:
        lp_jmp_direct(lp, done->last_ip, done->next_ip, to_ip, insns, cycles);
        break;
    case BLOCK_CALL_DIRECT:
        lp_call_direct(lp, done->last_ip, done->next_ip, to_ip, insns, cycles);
        break;
    case BLOCK_JMP_INDIRECT:
        lp_jmp_indirect(lp, done->last_ip, done->next_ip, to_ip, insns, cycles);
        break;
    case BLOCK_CALL_INDIRECT:
        lp_call_indirect(lp, done->last_ip, done->next_ip, to_ip, insns, cycles);
        break;
    case BLOCK_RET:
        lp_ret(lp, done->last_ip, done->next_ip, to_ip, insns, cycles);
        break;
    case BLOCK_SEQUENTIAL:
    case BLOCK_REP:
        machine->insns = insns;
        machine->cycles = cycles;
        break;
    }
}

/* Not quiet: something is due by now. */
static __attribute__((noinline)) void longer_way(struct uc_struct *uc, uint64_t linear,
                                                 uint32_t size, void *ctx)
{
    struct machine *machine = ctx;
    const struct block *done = machine->pending;
    struct block *next = block_cache_find(&machine->cache, linear);
    uint64_t sum = machine->sum + done->sum;

    (void)uc;
    if (unlikely(!next || next->size != size || machine->slow ||
                 machine->retired + (sum >> 32) + next->insns > machine->stop_at)) {
        slow_way(machine, linear, size);
        return;
    }
    machine->pending = next;
    if (unlikely(done->end == BLOCK_REP && linear == done->last_ip)) {
        flow_catch_up(machine);
        retire_part(machine, done, done->insns - 1u);
        return;
    }
    machine->sum = sum;
    flow_catch_up(machine);
    show(machine, done, linear);
    flow_set_limit(machine);
}

/*
 * The quiet ways: nothing can happen but the packets of DONE's end. Each is a hook of its own, and
 * goes on to the next longer one where it cannot do what it is for.
 */

/* Execution goes on at LINEAR, after a block that the sum then is SUM with. False, and nothing
 * done, where that is not quiet. */
static inline bool pass(struct machine *machine, uint64_t linear, uint64_t sum)
{
    struct block *next = block_cache_first(&machine->cache, linear);

    if (unlikely((uint32_t)sum >= machine->limit || next->linear != linear))
        return false;
    machine->sum = sum;
    machine->pending = next;
    return true;
}

/* The packets of DONE's end at core clock CORE; whether it still is quiet. */
static bool quiet(struct machine *machine, const struct block *done, uint64_t to_ip, uint64_t core)
{
    struct ipt *pt = &machine->lp.pt;

    switch ((enum block_end)done->end) {
    case BLOCK_COND:
        return ipt_quiet_cond_branch(pt, core, to_ip == done->target, to_ip);
    case BLOCK_COND_NEXT:
        return ipt_quiet_cond_branch(pt, core, cond_next_taken(machine, done), to_ip);
    case BLOCK_RET:
        return ipt_quiet_ret(pt, core, to_ip);
    case BLOCK_JMP_INDIRECT:
        return ipt_quiet_jmp_indirect(pt, core, to_ip);
    case BLOCK_CALL_INDIRECT:
        return ipt_quiet_call_indirect(pt, core, done->next_ip, to_ip);
    case BLOCK_CALL_DIRECT:
        ipt_quiet_call_direct(pt, done->next_ip, to_ip);
        return true;
    default:
        return true;
    }
}

static __attribute__((noinline)) void no_longer_quiet(struct machine *machine)
{
    flow_catch_up(machine);
    flow_set_limit(machine);
}

#define WAY __attribute__((noinline)) void

/* Any end. */
static WAY quiet_way(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    struct machine *machine = ctx;
    const struct block *done = machine->pending;

    if (unlikely(!pass(machine, linear, machine->sum + done->sum))) {
        longer_way(uc, linear, size, ctx);
    } else if (unlikely(
                   !quiet(machine, done, linear,
                          machine->lp.clock.core + machine->cycles + (uint32_t)machine->sum))) {
        no_longer_quiet(machine);
    }
}

/* The TNT buffer is full, or begins. */
static WAY cond_way(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    struct machine *machine = ctx;
    const struct block *done = machine->pending;
    struct lp *lp = &machine->lp;

    if (unlikely(!pass(machine, linear, machine->sum + done->sum)))
        longer_way(uc, linear, size, ctx);
    else if (unlikely(!ipt_quiet_due(&lp->pt,
                                     lp->clock.core + machine->cycles + (uint32_t)machine->sum,
                                     linear == done->target, linear)))
        no_longer_quiet(machine);
}

static WAY no_packet_way(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    struct machine *machine = ctx;

    if (unlikely(!pass(machine, linear, machine->sum + machine->pending->sum)))
        longer_way(uc, linear, size, ctx);
}

static WAY call_way(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    struct machine *machine = ctx;
    const struct block *done = machine->pending;

    if (likely(pass(machine, linear, machine->sum + done->sum)))
        ipt_quiet_call_direct(&machine->lp.pt, done->next_ip, linear);
    else
        longer_way(uc, linear, size, ctx);
}

static WAY ret_way(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    struct machine *machine = ctx;
    struct ipt *pt = &machine->lp.pt;
    uint64_t sum = machine->sum + machine->pending->sum;
    uint64_t bits = ipt_tnt_with(pt->tnt.bits, true);
    struct block *next = block_cache_first(&machine->cache, linear);

    if (unlikely((uint32_t)sum >= machine->limit || next->linear != linear || ipt_tnt_due(bits) ||
                 !ipt_ret_stack_matches(&pt->ret_stack, ipt_packet_ip(pt, linear)))) {
        quiet_way(uc, linear, size, ctx);
        return;
    }
    ipt_ret_stack_pop(&pt->ret_stack);
    pt->tnt.bits = bits;
    machine->sum = sum;
    machine->pending = next;
}

/* By how a block ends, where flow_block() itself is not enough. */
static engine_block_fn *const ways[] = {
    [BLOCK_SEQUENTIAL] = no_packet_way,
    [BLOCK_JMP_DIRECT] = no_packet_way,
    [BLOCK_CALL_DIRECT] = call_way,
    [BLOCK_RET] = ret_way,
    [BLOCK_COND] = cond_way,
    [BLOCK_COND_NEXT] = quiet_way,
    [BLOCK_JMP_INDIRECT] = quiet_way,
    [BLOCK_CALL_INDIRECT] = quiet_way,
    [BLOCK_REP] = longer_way,
};

void flow_block(struct uc_struct *uc, uint64_t linear, uint32_t size, void *ctx)
{
    struct machine *machine = ctx;
    const struct block *done = machine->pending;
    struct block *next = block_cache_first(&machine->cache, linear);
    uint64_t sum = machine->sum + done->cond_sum;
    uint64_t bits = ipt_tnt_with(machine->lp.pt.tnt.bits, linear == done->target);

    if (unlikely((uint32_t)sum >= machine->limit || next->linear != linear || ipt_tnt_due(bits))) {
        ways[done->end](uc, linear, size, ctx);
        return;
    }
    machine->sum = sum;
    machine->lp.pt.tnt.bits = bits;
    machine->pending = next;
}
