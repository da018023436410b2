/* SPDX-License-Identifier: MIT */
/* IRET, IRETD and IRETQ (SDM vol. 2, IRET). */
#include "far.h"
#include "flags.h"
#include "task.h"
#include "transfer.h"

/* What IRET pops. */
struct frame {
    uint64_t ip;
    uint64_t cs;
    uint64_t flags;
    uint64_t rsp; /* where it pops a stack */
    uint64_t ss;
};

/* Beside what POPF may load: RF, and at CPL 0 in protected mode VIF and VIP. */
static uint64_t loadable_flags(const struct arch_state *state, unsigned opsize)
{
    uint64_t flags = arch_loadable_flags(state, opsize);

    if (opsize == 2)
        return flags;
    if (state->cpl == 0 && !arch_real_mode(state))
        flags |= RFLAGS_VIF | RFLAGS_VIP;
    return flags | RFLAGS_RF;
}

static struct arch_fault peek_frame(const struct arch_cpu *cpu, unsigned opsize,
                                    struct frame *frame)
{
    ARCH_TRY(arch_peek(cpu, 0, opsize, &frame->ip));
    ARCH_TRY(arch_peek(cpu, opsize, opsize, &frame->cs));
    return arch_peek(cpu, 2 * opsize, opsize, &frame->flags);
}

static struct arch_fault peek_stack(const struct arch_cpu *cpu, unsigned opsize,
                                    struct frame *frame)
{
    ARCH_TRY(arch_peek(cpu, 3 * opsize, opsize, &frame->rsp));
    return arch_peek(cpu, 4 * opsize, opsize, &frame->ss);
}

/* In real-address mode, and in virtual-8086 mode, staying there. */
static struct arch_fault iret_real(const struct arch_cpu *cpu, unsigned opsize)
{
    struct arch_state *state = cpu->state;
    struct frame frame;

    ARCH_TRY(arch_check_flags_access(state, opsize));
    ARCH_TRY(peek_frame(cpu, opsize, &frame));
    ARCH_TRY(arch_enter_real_code(cpu, (uint16_t)frame.cs, frame.ip));
    arch_release(state, 3 * opsize);
    return arch_load_flags(state, frame.flags, loadable_flags(state, opsize));
}

/* From CPL 0 to virtual-8086 mode: every segment register comes off the stack. */
static struct arch_fault iret_to_v86(const struct arch_cpu *cpu, const struct frame *frame)
{
    static const enum arch_sreg popped[] = { ARCH_SS, ARCH_ES, ARCH_DS, ARCH_FS, ARCH_GS };
    const unsigned count = sizeof(popped) / sizeof(popped[0]);
    struct arch_state *state = cpu->state;
    uint64_t esp, selector[sizeof(popped) / sizeof(popped[0])];

    ARCH_TRY(arch_peek(cpu, 12, 4, &esp));
    for (unsigned i = 0; i < count; i++)
        ARCH_TRY(arch_peek(cpu, 16 + 4 * i, 4, &selector[i]));
    arch_put_flags(state, frame->flags, loadable_flags(state, 4) | RFLAGS_VM);
    state->cpl = 3;
    ARCH_TRY(arch_enter_real_code(cpu, (uint16_t)frame->cs, frame->ip));
    for (unsigned i = 0; i < count; i++)
        ARCH_TRY(arch_load_sreg(cpu, popped[i], (uint16_t)selector[i]));
    state->gpr[ARCH_RSP] = esp;
    return ARCH_NO_FAULT;
}

/* With NT set: back to the task whose TSS the link field of this one names (SDM 8.4). */
static struct arch_fault iret_task(const struct arch_cpu *cpu, uint64_t next_rip)
{
    const struct arch_state *state = cpu->state;
    struct arch_task how = { .source = ARCH_TASK_IRET, .rip = next_rip, .rflags = state->rflags };
    uint64_t link;

    if (arch_long_mode(state))
        return arch_fault_error(ARCH_GP, 0);
    ARCH_TRY(arch_system_read(cpu, state->tr.base, 2, &link));
    return arch_task_switch(cpu, (uint16_t)link, &how);
}

/* Protected and IA-32e mode. In 64-bit mode SS:RSP are popped at the same level too
 * (SDM vol. 3A, 6.14.3). */
static struct arch_fault iret_protected(const struct arch_cpu *cpu, unsigned opsize)
{
    struct arch_state *state = cpu->state;
    uint64_t loadable = loadable_flags(state, opsize);
    struct arch_descriptor code;
    struct frame frame;
    unsigned rpl;
    bool outer;
    bool pops_stack;

    ARCH_TRY(peek_frame(cpu, opsize, &frame));
    if ((frame.flags & RFLAGS_VM) && opsize == 4 && state->cpl == 0 && !arch_long_mode(state))
        return iret_to_v86(cpu, &frame);
    ARCH_TRY(arch_read_code(cpu, (uint16_t)frame.cs, 0, &code));
    ARCH_TRY(arch_check_return_code(cpu, &code));
    rpl = arch_selector_rpl((uint16_t)frame.cs);
    outer = rpl > state->cpl;
    pops_stack = outer || arch_64bit_mode(state);
    if (pops_stack)
        ARCH_TRY(peek_stack(cpu, opsize, &frame));
    else
        arch_release(state, 3 * opsize);
    ARCH_TRY(arch_enter_code(state, &code, rpl, frame.ip, 0));
    if (pops_stack)
        ARCH_TRY(arch_load_return_stack(cpu, (uint16_t)frame.ss, frame.rsp));
    arch_put_flags(state, frame.flags, loadable);
    if (outer)
        arch_drop_inner_segments(state);
    return arch_mark_accessed(cpu, &code);
}

static struct arch_fault iret(const struct arch_cpu *cpu, unsigned opsize, uint64_t next_rip)
{
    struct arch_state *state = cpu->state;

    state->rflags &= ~(uint64_t)RFLAGS_RF;
    if (arch_real_mode(state) || arch_v86_mode(state))
        return iret_real(cpu, opsize);
    if (state->rflags & RFLAGS_NT)
        return iret_task(cpu, next_rip);
    return iret_protected(cpu, opsize);
}

struct arch_fault arch_iret(const struct arch_cpu *cpu, unsigned opsize, uint64_t next_rip)
{
    struct arch_state next;
    struct arch_cpu work = { &next, cpu->limits, cpu->mem };

    /* NMIs are unblocked even where the instruction faults (SDM 26.3, IRET). */
    cpu->state->blocking_by_nmi = false;
    next = *cpu->state;
    return arch_commit(cpu, &next, iret(&work, opsize, next_rip));
}
