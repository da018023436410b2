/* SPDX-License-Identifier: MIT */
/* IRET, IRETD and IRETQ (SDM vol. 2, IRET). */
#include "far.h"
#include "task.h"
#include "transfer.h"

/* The flags that any IRET loads, whatever its operand size and privilege. */
#define IRET_FLAGS                                                                                 \
    (RFLAGS_CF | RFLAGS_PF | RFLAGS_AF | RFLAGS_ZF | RFLAGS_SF | RFLAGS_TF | RFLAGS_DF |           \
     RFLAGS_OF | RFLAGS_NT)

/* What IRET pops. */
struct frame {
    uint64_t ip;
    uint64_t cs;
    uint64_t flags;
    uint64_t rsp; /* where it pops a stack */
    uint64_t ss;
};

/* The flags that the instruction may load. IOPL and IF depend on privilege; 16 bits hold no more
 * than the low 16 flags. */
static uint64_t loadable_flags(const struct arch_state *state, unsigned opsize)
{
    unsigned iopl = (unsigned)bits_get(state->rflags, 13, 12);
    uint64_t flags = IRET_FLAGS | RFLAGS_RF | RFLAGS_AC | RFLAGS_ID;

    if (state->cpl <= iopl)
        flags |= RFLAGS_IF;
    if (state->cpl == 0)
        flags |= RFLAGS_IOPL;
    if (state->cpl == 0 && !arch_real_mode(state))
        flags |= RFLAGS_VIF | RFLAGS_VIP;
    return flags & arch_operand_mask(opsize);
}

static void load_flags(struct arch_state *state, uint64_t popped, uint64_t loadable)
{
    state->rflags = (state->rflags & ~loadable) | (popped & loadable);
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

static struct arch_fault iret_real(const struct arch_cpu *cpu, unsigned opsize)
{
    struct arch_state *state = cpu->state;
    uint64_t loadable = loadable_flags(state, opsize);
    struct frame frame;

    ARCH_TRY(peek_frame(cpu, opsize, &frame));
    ARCH_TRY(arch_enter_real_code(cpu, (uint16_t)frame.cs, frame.ip));
    arch_release(state, 3 * opsize);
    load_flags(state, frame.flags, loadable);
    return ARCH_NO_FAULT;
}

/* In virtual-8086 mode, staying there. With IOPL below 3 it is the monitor's to emulate, but for
 * the 16-bit form under the virtual-mode extensions, which works on VIF for IF
 * (SDM vol. 3A, 20.3.3.4). */
static struct arch_fault iret_v86(const struct arch_cpu *cpu, unsigned opsize)
{
    struct arch_state *state = cpu->state;
    uint64_t loadable = loadable_flags(state, opsize);
    bool virtual_if = bits_get(state->rflags, 13, 12) < 3;
    struct frame frame;

    if (virtual_if && (!(state->cr4 & CR4_VME) || opsize != 2))
        return arch_fault_error(ARCH_GP, 0);
    ARCH_TRY(peek_frame(cpu, opsize, &frame));
    if (virtual_if &&
        ((frame.flags & RFLAGS_TF) || ((frame.flags & RFLAGS_IF) && (state->rflags & RFLAGS_VIP))))
        return arch_fault_error(ARCH_GP, 0);
    ARCH_TRY(arch_enter_real_code(cpu, (uint16_t)frame.cs, frame.ip));
    arch_release(state, 3 * opsize);
    load_flags(state, frame.flags, loadable);
    if (virtual_if)
        load_flags(state, frame.flags & RFLAGS_IF ? RFLAGS_VIF : 0, RFLAGS_VIF);
    return ARCH_NO_FAULT;
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
    load_flags(state, frame->flags, loadable_flags(state, 4) | RFLAGS_VM);
    state->cpl = 3;
    ARCH_TRY(arch_enter_real_code(cpu, (uint16_t)frame->cs, frame->ip));
    for (unsigned i = 0; i < count; i++)
        ARCH_TRY(arch_load_sreg(cpu, popped[i], (uint16_t)selector[i]));
    state->gpr[ARCH_RSP] = esp;
    return ARCH_NO_FAULT;
}

/* With NT set: back to the task whose TSS the link field of this one names (SDM 7.4). */
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
    load_flags(state, frame.flags, loadable);
    if (outer)
        arch_drop_inner_segments(state);
    return arch_mark_accessed(cpu, &code);
}

static struct arch_fault iret(const struct arch_cpu *cpu, unsigned opsize, uint64_t next_rip)
{
    struct arch_state *state = cpu->state;

    state->rflags &= ~(uint64_t)RFLAGS_RF;
    if (arch_real_mode(state))
        return iret_real(cpu, opsize);
    if (arch_v86_mode(state))
        return iret_v86(cpu, opsize);
    if (state->rflags & RFLAGS_NT)
        return iret_task(cpu, next_rip);
    return iret_protected(cpu, opsize);
}

struct arch_fault arch_iret(const struct arch_cpu *cpu, unsigned opsize, uint64_t next_rip)
{
    struct arch_state next;
    struct arch_cpu work = { &next, cpu->limits, cpu->mem };

    /* NMIs are unblocked even where the instruction faults (SDM 25.3, IRET). */
    cpu->state->blocking_by_nmi = false;
    next = *cpu->state;
    return arch_commit(cpu, &next, iret(&work, opsize, next_rip));
}
