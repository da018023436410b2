/* SPDX-License-Identifier: MIT */
#include "far.h"

#include "task.h"
#include "transfer.h"

/* The instruction, JMP or CALL, with the state it works on. */
struct far {
    const struct arch_cpu *cpu;
    bool call;
    unsigned opsize;
    uint64_t next_rip;
};

/* The return address of a CALL that stays on its stack. */
static struct arch_fault push_return(const struct far *far, struct arch_pushes *pushes,
                                     unsigned size)
{
    ARCH_TRY(arch_push(pushes, size, far->cpu->state->sreg[ARCH_CS].selector));
    return arch_push(pushes, size, far->next_rip);
}

/* Real-address and virtual-8086 mode. */
static struct arch_fault far_real(const struct far *far, uint16_t selector, uint64_t ip)
{
    struct arch_pushes pushes = arch_push_begin(far->cpu, 0);

    if (far->call)
        ARCH_TRY(push_return(far, &pushes, far->opsize));
    ARCH_TRY(arch_enter_real_code(far->cpu, selector, ip));
    return arch_push_end(&pushes);
}

/* Straight to a code segment: CPL stays. */
static struct arch_fault far_code(const struct far *far, struct arch_descriptor *desc, uint64_t ip)
{
    unsigned cpl = far->cpu->state->cpl;
    unsigned dpl = arch_ar_dpl(desc->seg.ar);
    bool conforming = desc->seg.ar & ARCH_TYPE_CONFORMING;
    struct arch_pushes pushes = arch_push_begin(far->cpu, 0);

    if (conforming ? dpl > cpl : arch_selector_rpl(desc->selector) > cpl || dpl != cpl)
        return arch_selector_fault(ARCH_GP, desc->selector, 0);
    if (!(desc->seg.ar & ARCH_AR_P))
        return arch_selector_fault(ARCH_NP, desc->selector, 0);
    if (far->call)
        ARCH_TRY(push_return(far, &pushes, far->opsize));
    ARCH_TRY(arch_enter_code(far->cpu->state, desc, cpl, ip, 0));
    ARCH_TRY(arch_mark_accessed(far->cpu, desc));
    return arch_push_end(&pushes);
}

/* A gate is for those whose CPL and RPL are no less privileged than its DPL (SDM 5.8.4). */
static struct arch_fault check_gate(const struct arch_state *state, uint16_t selector, unsigned dpl,
                                    bool present)
{
    if (dpl < state->cpl || dpl < arch_selector_rpl(selector))
        return arch_selector_fault(ARCH_GP, selector, 0);
    return present ? ARCH_NO_FAULT : arch_selector_fault(ARCH_NP, selector, 0);
}

/* CALL through a gate to a more privileged level (SDM 5.8.5). SIZE is that of the gate. */
static struct arch_fault call_inner(const struct far *far, const struct arch_gate *gate,
                                    struct arch_descriptor *code, unsigned size)
{
    const struct arch_cpu *cpu = far->cpu;
    const struct arch_state old = *cpu->state;
    unsigned params = arch_long_mode(&old) ? 0 : gate->params;
    uint64_t param[31];
    struct arch_inner_stack stack;
    struct arch_pushes pushes;

    ARCH_TRY(arch_inner_stack(cpu, arch_ar_dpl(code->seg.ar), 0, 0, &stack));
    for (unsigned i = 0; i < params; i++)
        ARCH_TRY(arch_peek(cpu, i * size, size, &param[i]));
    ARCH_TRY(arch_enter_code(cpu->state, code, arch_ar_dpl(code->seg.ar), gate->offset, 0));
    arch_load_inner_stack(cpu->state, &stack);
    pushes = arch_push_begin(cpu, stack.ss.selector & 0xfffc);
    ARCH_TRY(arch_push(&pushes, size, old.sreg[ARCH_SS].selector));
    ARCH_TRY(arch_push(&pushes, size, old.gpr[ARCH_RSP]));
    for (unsigned i = params; i > 0; i--)
        ARCH_TRY(arch_push(&pushes, size, param[i - 1]));
    ARCH_TRY(arch_push(&pushes, size, old.sreg[ARCH_CS].selector));
    ARCH_TRY(arch_push(&pushes, size, far->next_rip));
    ARCH_TRY(arch_mark_accessed(cpu, code));
    ARCH_TRY(arch_mark_inner_stack(cpu, &stack));
    return arch_push_end(&pushes);
}

/* JMP, or CALL at the same privilege, through a gate. A 64-bit gate pushes on the stack as
 * 64-bit mode sees it. */
static struct arch_fault gate_same(const struct far *far, const struct arch_gate *gate,
                                   struct arch_descriptor *code, unsigned size)
{
    const struct arch_cpu *cpu = far->cpu;
    uint16_t cs = cpu->state->sreg[ARCH_CS].selector;
    struct arch_pushes pushes;

    ARCH_TRY(arch_enter_code(cpu->state, code, cpu->state->cpl, gate->offset, 0));
    pushes = arch_push_begin(cpu, 0);
    if (far->call) {
        ARCH_TRY(arch_push(&pushes, size, cs));
        ARCH_TRY(arch_push(&pushes, size, far->next_rip));
    }
    ARCH_TRY(arch_mark_accessed(cpu, code));
    return arch_push_end(&pushes);
}

/* Through a call gate (SDM 5.8.3, 5.8.4; 64-bit: 5.8.3.1). */
static struct arch_fault far_gate(const struct far *far, const struct arch_descriptor *desc)
{
    const struct arch_state *state = far->cpu->state;
    struct arch_gate gate = arch_gate_decode(desc->low, desc->high);
    bool lma = arch_long_mode(state);
    unsigned size = lma ? 8 : gate.type == ARCH_TYPE_CALL_GATE32 ? 4 : 2;
    struct arch_descriptor code;
    bool conforming;
    unsigned dpl;

    ARCH_TRY(check_gate(state, desc->selector, gate.dpl, gate.present));
    ARCH_TRY(arch_read_code(far->cpu, gate.selector, 0, &code));
    conforming = code.seg.ar & ARCH_TYPE_CONFORMING;
    dpl = arch_ar_dpl(code.seg.ar);
    if ((lma && !(code.seg.ar & ARCH_AR_L)) || dpl > state->cpl ||
        (!far->call && !conforming && dpl != state->cpl))
        return arch_selector_fault(ARCH_GP, gate.selector, 0);
    if (!(code.seg.ar & ARCH_AR_P))
        return arch_selector_fault(ARCH_NP, gate.selector, 0);
    if (!conforming && dpl < state->cpl)
        return call_inner(far, &gate, &code, size);
    return gate_same(far, &gate, &code, size);
}

/* To another task, through its TSS or a task gate (SDM 8.3). */
static struct arch_fault far_task(const struct far *far, const struct arch_descriptor *desc)
{
    struct arch_gate gate = arch_gate_decode(desc->low, desc->high);
    struct arch_task how = { .source = far->call ? ARCH_TASK_CALL : ARCH_TASK_JMP,
                             .rip = far->next_rip,
                             .rflags = far->cpu->state->rflags };
    bool through_gate = gate.type == ARCH_TYPE_TASK_GATE;

    /* Of a TSS, whether it is there is the switch's to check, after its type. */
    ARCH_TRY(check_gate(far->cpu->state, desc->selector, gate.dpl, gate.present || !through_gate));
    return arch_task_switch(far->cpu, through_gate ? gate.selector : desc->selector, &how);
}

static struct arch_fault far_system(const struct far *far, const struct arch_descriptor *desc)
{
    bool lma = arch_long_mode(far->cpu->state);

    switch (arch_ar_type(desc->seg.ar)) {
    case ARCH_TYPE_CALL_GATE32:
        return far_gate(far, desc);
    case ARCH_TYPE_CALL_GATE16:
        if (!lma)
            return far_gate(far, desc);
        break;
    case ARCH_TYPE_TASK_GATE:
    case ARCH_TYPE_TSS16:
    case ARCH_TYPE_TSS32:
        if (!lma)
            return far_task(far, desc);
        break;
    default:
        break;
    }
    return arch_selector_fault(ARCH_GP, desc->selector, 0);
}

static struct arch_fault far_transfer(const struct far *far, uint16_t selector, uint64_t offset)
{
    struct arch_state *state = far->cpu->state;
    uint64_t ip = offset & arch_operand_mask(far->opsize);
    struct arch_descriptor desc;

    state->rflags &= ~(uint64_t)RFLAGS_RF;
    if (arch_real_mode(state) || arch_v86_mode(state))
        return far_real(far, selector, ip);
    if (arch_selector_null(selector))
        return arch_fault_error(ARCH_GP, 0);
    ARCH_TRY(arch_descriptor_read(far->cpu, selector, ARCH_GP, 0, &desc));
    if (!(desc.seg.ar & ARCH_AR_S))
        return far_system(far, &desc);
    ARCH_TRY(arch_check_code(far->cpu, &desc, 0));
    return far_code(far, &desc, ip);
}

struct arch_fault arch_far_jmp(const struct arch_cpu *cpu, uint16_t selector, uint64_t offset,
                               unsigned opsize, uint64_t next_rip)
{
    struct arch_state next = *cpu->state;
    struct arch_cpu work = { &next, cpu->limits, cpu->mem };
    struct far far = { .cpu = &work, .call = false, .opsize = opsize, .next_rip = next_rip };

    return arch_commit(cpu, &next, far_transfer(&far, selector, offset));
}

struct arch_fault arch_far_call(const struct arch_cpu *cpu, uint16_t selector, uint64_t offset,
                                unsigned opsize, uint64_t next_rip)
{
    struct arch_state next = *cpu->state;
    struct arch_cpu work = { &next, cpu->limits, cpu->mem };
    struct far far = { .cpu = &work, .call = true, .opsize = opsize, .next_rip = next_rip };

    return arch_commit(cpu, &next, far_transfer(&far, selector, offset));
}

/* RETF in real-address and virtual-8086 mode. */
static struct arch_fault ret_real(const struct arch_cpu *cpu, unsigned opsize, unsigned release)
{
    uint64_t ip, cs;

    ARCH_TRY(arch_peek(cpu, 0, opsize, &ip));
    ARCH_TRY(arch_peek(cpu, opsize, opsize, &cs));
    ARCH_TRY(arch_enter_real_code(cpu, (uint16_t)cs, ip));
    arch_release(cpu->state, 2 * opsize + release);
    return ARCH_NO_FAULT;
}

/* RETF in protected and IA-32e mode (SDM 5.8.6). RELEASE counts on both stacks. */
static struct arch_fault ret_protected(const struct arch_cpu *cpu, unsigned opsize,
                                       unsigned release)
{
    struct arch_state *state = cpu->state;
    unsigned frame = 2 * opsize + release;
    uint64_t ip, cs, rsp = 0, ss = 0;
    struct arch_descriptor code;
    unsigned rpl;
    bool outer;

    ARCH_TRY(arch_peek(cpu, 0, opsize, &ip));
    ARCH_TRY(arch_peek(cpu, opsize, opsize, &cs));
    ARCH_TRY(arch_read_code(cpu, (uint16_t)cs, 0, &code));
    ARCH_TRY(arch_check_return_code(cpu, &code));
    rpl = arch_selector_rpl((uint16_t)cs);
    outer = rpl > state->cpl;
    if (outer) {
        ARCH_TRY(arch_peek(cpu, frame, opsize, &rsp));
        ARCH_TRY(arch_peek(cpu, frame + opsize, opsize, &ss));
    } else {
        arch_release(state, frame);
    }
    ARCH_TRY(arch_enter_code(state, &code, rpl, ip, 0));
    if (outer) {
        ARCH_TRY(arch_load_return_stack(cpu, (uint16_t)ss, rsp));
        arch_release(state, release);
        arch_drop_inner_segments(state);
    }
    return arch_mark_accessed(cpu, &code);
}

struct arch_fault arch_far_ret(const struct arch_cpu *cpu, unsigned opsize, unsigned release)
{
    struct arch_state next = *cpu->state;
    struct arch_cpu work = { &next, cpu->limits, cpu->mem };
    bool real = arch_real_mode(&next) || arch_v86_mode(&next);

    next.rflags &= ~(uint64_t)RFLAGS_RF;
    return arch_commit(cpu, &next,
                       real ? ret_real(&work, opsize, release)
                            : ret_protected(&work, opsize, release));
}
