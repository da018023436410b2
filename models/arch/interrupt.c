/* SPDX-License-Identifier: MIT */
#include "interrupt.h"

#include "flags.h"
#include "task.h"
#include "transfer.h"

/* One delivery, with the state it works on. */
struct delivery {
    const struct arch_cpu *cpu;
    const struct arch_interruption *what;
    unsigned ext;
    uint64_t rflags; /* what is pushed */
};

/* An error code that names an entry of the IDT (SDM 6.13). */
static struct arch_fault idt_fault(const struct delivery *delivery, enum arch_vector vector)
{
    return arch_fault_error(vector, (uint32_t)delivery->what->vector << 3 | 2 | delivery->ext);
}

/* INT n, INT3 and INTO: not external to the program, so EXT is 0 in the error codes of
 * their delivery, and the DPL of the gate counts. INT1 is as an exception in both. */
static bool is_software(enum arch_int_type type)
{
    return type == ARCH_INT_SW_INTERRUPT || type == ARCH_INT_SW_EXCEPTION;
}

/* Exceptions whose class is fault (SDM vol. 3A, table 6-1); #DB may be either and is dealt
 * with as a trap, since the pushed RF then stays as it is (18.3.1.1). */
static bool is_fault_class(const struct arch_interruption *what)
{
    switch (what->vector) {
    case ARCH_DE:
    case ARCH_BR:
    case ARCH_UD:
    case ARCH_NM:
    case ARCH_TS:
    case ARCH_NP:
    case ARCH_SS_FAULT:
    case ARCH_GP:
    case ARCH_PF:
    case ARCH_MF:
    case ARCH_AC:
    case ARCH_XM:
    case ARCH_VE:
    case ARCH_CP:
        return what->type == ARCH_INT_HW_EXCEPTION;
    default:
        return false;
    }
}

/* RFLAGS as the handler finds them saved: RF set where the instruction will be restarted
 * (SDM 18.3.1.1). */
static uint64_t saved_rflags(const struct arch_state *state, const struct arch_interruption *what)
{
    uint64_t rflags = state->rflags;

    if (is_software(what->type))
        rflags &= ~(uint64_t)RFLAGS_RF;
    if (is_fault_class(what) || what->in_repeat)
        rflags |= RFLAGS_RF;
    return rflags;
}

/* Through an interrupt vector table at TABLE, with no change of stack: FLAGS, CS and IP
 * are pushed, never an error code. */
static struct arch_fault deliver_ivt(const struct delivery *delivery, uint64_t table,
                                     uint64_t flags, uint64_t cleared)
{
    const struct arch_cpu *cpu = delivery->cpu;
    struct arch_state *state = cpu->state;
    struct arch_pushes pushes = arch_push_begin(cpu, 0);
    uint8_t entry[4];

    ARCH_TRY(arch_linear_read(state, cpu->limits, cpu->mem, table + 4u * delivery->what->vector,
                              entry, 4, state->cpl));
    ARCH_TRY(arch_push(&pushes, 2, flags));
    ARCH_TRY(arch_push(&pushes, 2, state->sreg[ARCH_CS].selector));
    ARCH_TRY(arch_push(&pushes, 2, delivery->what->return_rip));
    ARCH_TRY(arch_enter_real_code(cpu, (uint16_t)le_load(entry + 2, 2), le_load(entry, 2)));
    ARCH_TRY(arch_push_end(&pushes));
    state->rflags &= ~cleared;
    return ARCH_NO_FAULT;
}

/* Real-address mode (SDM 21.1.4). */
static struct arch_fault deliver_real(const struct delivery *delivery)
{
    const struct arch_table *idtr = &delivery->cpu->state->idtr;

    if (4u * delivery->what->vector + 3 > idtr->limit)
        return idt_fault(delivery, ARCH_GP);
    return deliver_ivt(delivery, idtr->base, delivery->rflags,
                       RFLAGS_IF | RFLAGS_TF | RFLAGS_AC | RFLAGS_RF);
}

/* Whether the redirection bitmap of the TSS sends INT n to the program's own IVT: its bit
 * is 0 (SDM 21.3.3). The 32 bytes lie below the I/O permission bitmap. */
static struct arch_fault read_redirection(const struct delivery *delivery, bool *to_ivt)
{
    const struct arch_cpu *cpu = delivery->cpu;
    const struct arch_seg *tr = &cpu->state->tr;
    unsigned vector = delivery->what->vector;
    uint64_t io_base, at, byte;

    if (tr->limit < 0x67)
        return arch_fault_error(ARCH_GP, 0);
    ARCH_TRY(arch_system_read(cpu, tr->base + 0x66, 2, &io_base));
    at = io_base - 32 + vector / 8;
    if (at > tr->limit)
        return arch_fault_error(ARCH_GP, 0);
    ARCH_TRY(arch_system_read(cpu, tr->base + at, 1, &byte));
    *to_ivt = !(byte >> vector % 8 & 1);
    return ARCH_NO_FAULT;
}

/* INT n in virtual-8086 mode (SDM table 21-2): what happens to it is up to CR4.VME, IOPL and
 * the redirection bitmap. DONE: it went to the program's own IVT. */
static struct arch_fault deliver_v86_int(const struct delivery *delivery, bool *done)
{
    struct arch_state *state = delivery->cpu->state;
    bool iopl3 = arch_iopl(state) == 3;
    uint64_t flags = delivery->rflags;
    bool to_ivt = false;

    *done = false;
    if (state->cr4 & CR4_VME)
        ARCH_TRY(read_redirection(delivery, &to_ivt));
    if (!to_ivt)
        return iopl3 ? ARCH_NO_FAULT : arch_fault_error(ARCH_GP, 0);
    *done = true;
    if (iopl3)
        return deliver_ivt(delivery, 0, flags, RFLAGS_IF | RFLAGS_TF | RFLAGS_RF);
    /* The program sees VIF as its IF, and an IOPL of 3. */
    flags = bits_put(flags, 9, 9, bits_get(flags, 19, 19)) | RFLAGS_IOPL;
    return deliver_ivt(delivery, 0, flags, RFLAGS_VIF | RFLAGS_TF | RFLAGS_RF);
}

/* The gate of the vector, with the checks on it. */
static struct arch_fault read_gate(const struct delivery *delivery, struct arch_gate *gate)
{
    const struct arch_cpu *cpu = delivery->cpu;
    const struct arch_state *state = cpu->state;
    bool lma = arch_long_mode(state);
    unsigned size = lma ? 16 : 8;
    unsigned at = size * delivery->what->vector;
    uint64_t low, high = 0;

    if (at + size - 1 > state->idtr.limit)
        return idt_fault(delivery, ARCH_GP);
    ARCH_TRY(arch_system_read(cpu, state->idtr.base + at, 8, &low));
    if (lma)
        ARCH_TRY(arch_system_read(cpu, state->idtr.base + at + 8, 8, &high));
    *gate = arch_gate_decode(low, high);
    if (bits_get(low, 44, 44)) /* S */
        return idt_fault(delivery, ARCH_GP);
    switch (gate->type) {
    case ARCH_TYPE_INT_GATE32:
    case ARCH_TYPE_TRAP_GATE32:
        break;
    case ARCH_TYPE_TASK_GATE:
    case ARCH_TYPE_INT_GATE16:
    case ARCH_TYPE_TRAP_GATE16:
        if (!lma)
            break;
        /* fallthrough */
    default:
        return idt_fault(delivery, ARCH_GP);
    }
    if (is_software(delivery->what->type) && gate->dpl < state->cpl)
        return idt_fault(delivery, ARCH_GP);
    return gate->present ? ARCH_NO_FAULT : idt_fault(delivery, ARCH_NP);
}

/* The handler's code segment, with the checks on it (SDM 6.12.1). */
static struct arch_fault read_handler(const struct delivery *delivery, const struct arch_gate *gate,
                                      struct arch_descriptor *code)
{
    const struct arch_state *state = delivery->cpu->state;
    bool v86 = arch_v86_mode(state);
    bool conforming;
    unsigned dpl;

    ARCH_TRY(arch_read_code(delivery->cpu, gate->selector, delivery->ext, code));
    conforming = code->seg.ar & ARCH_TYPE_CONFORMING;
    dpl = arch_ar_dpl(code->seg.ar);
    if (dpl > state->cpl || (arch_long_mode(state) && !(code->seg.ar & ARCH_AR_L)))
        return arch_selector_fault(ARCH_GP, gate->selector, delivery->ext);
    if (v86 && (conforming || dpl))
        return arch_selector_fault(ARCH_GP, gate->selector, delivery->ext);
    if (!(code->seg.ar & ARCH_AR_P))
        return arch_selector_fault(ARCH_NP, gate->selector, delivery->ext);
    return ARCH_NO_FAULT;
}

/* Out of virtual-8086 mode the data segments are saved, and null in the handler (SDM 21.3.1). */
static struct arch_fault push_v86_segments(struct arch_pushes *pushes, const struct arch_state *old,
                                           unsigned size)
{
    static const enum arch_sreg pushed[] = { ARCH_GS, ARCH_FS, ARCH_DS, ARCH_ES };

    for (unsigned i = 0; i < sizeof(pushed) / sizeof(pushed[0]); i++) {
        ARCH_TRY(arch_push(pushes, size, old->sreg[pushed[i]].selector));
        arch_seg_load_null(pushes->cpu->state, pushed[i], 0);
    }
    return ARCH_NO_FAULT;
}

/* What is pushed: SS and RSP where the stack changes, and always in IA-32e mode. */
static struct arch_fault push_frame(const struct delivery *delivery, struct arch_pushes *pushes,
                                    const struct arch_state *old, unsigned size, bool with_stack)
{
    const struct arch_interruption *what = delivery->what;

    if (arch_v86_mode(old))
        ARCH_TRY(push_v86_segments(pushes, old, size));
    if (with_stack) {
        ARCH_TRY(arch_push(pushes, size, old->sreg[ARCH_SS].selector));
        ARCH_TRY(arch_push(pushes, size, old->gpr[ARCH_RSP]));
    }
    ARCH_TRY(arch_push(pushes, size, delivery->rflags));
    ARCH_TRY(arch_push(pushes, size, old->sreg[ARCH_CS].selector));
    ARCH_TRY(arch_push(pushes, size, what->return_rip));
    if (what->has_error)
        ARCH_TRY(arch_push(pushes, size, what->error));
    return ARCH_NO_FAULT;
}

/* The stack of the handler, in STATE. IA-32e mode aligns it to 16 bytes (SDM 6.14.2), and an IST
 * entry moves RSP without a change of SS. */
static void load_handler_stack(struct arch_state *state, const struct arch_inner_stack *stack,
                               bool inner, bool ist)
{
    if (inner)
        arch_load_inner_stack(state, stack);
    else if (ist)
        state->gpr[ARCH_RSP] = stack->rsp;
    if (arch_64bit_mode(state))
        state->gpr[ARCH_RSP] &= ~UINT64_C(15);
}

/* Through an interrupt or trap gate (SDM 6.12.1; IA-32e mode: 6.14). */
static struct arch_fault deliver_gate(const struct delivery *delivery, const struct arch_gate *gate)
{
    const struct arch_cpu *cpu = delivery->cpu;
    struct arch_state *state = cpu->state;
    const struct arch_state old = *state;
    bool lma = arch_long_mode(state);
    bool gate32 = gate->type >= ARCH_TYPE_INT_GATE32;
    unsigned ist = lma ? gate->ist : 0;
    struct arch_inner_stack stack = { .null = false };
    struct arch_descriptor code;
    struct arch_pushes pushes;
    unsigned cpl = old.cpl;
    bool inner;

    ARCH_TRY(read_handler(delivery, gate, &code));
    if (!(code.seg.ar & ARCH_TYPE_CONFORMING))
        cpl = arch_ar_dpl(code.seg.ar);
    inner = cpl < old.cpl;
    if (inner || ist)
        ARCH_TRY(arch_inner_stack(cpu, cpl, ist, delivery->ext, &stack));
    state->rflags &= ~(uint64_t)(RFLAGS_TF | RFLAGS_NT | RFLAGS_RF | RFLAGS_VM);
    if (gate->type == ARCH_TYPE_INT_GATE32 || gate->type == ARCH_TYPE_INT_GATE16)
        state->rflags &= ~(uint64_t)RFLAGS_IF;
    ARCH_TRY(arch_enter_code(state, &code, cpl, gate->offset, delivery->ext));
    load_handler_stack(state, &stack, inner, ist);
    pushes = arch_push_begin(cpu, (stack.ss.selector & 0xfffcu) | delivery->ext);
    ARCH_TRY(push_frame(delivery, &pushes, &old, lma ? 8 : gate32 ? 4 : 2, inner || lma));
    ARCH_TRY(arch_mark_accessed(cpu, &code));
    if (inner)
        ARCH_TRY(arch_mark_inner_stack(cpu, &stack));
    return arch_push_end(&pushes);
}

/* Through a task gate (SDM 6.12.2). */
static struct arch_fault deliver_task(const struct delivery *delivery, const struct arch_gate *gate)
{
    const struct arch_interruption *what = delivery->what;
    struct arch_task how = {
        .source = ARCH_TASK_EVENT,
        .ext = delivery->ext,
        .rip = what->return_rip,
        .rflags = delivery->rflags,
        .has_error = what->has_error,
        .error = what->error,
    };

    return arch_task_switch(delivery->cpu, gate->selector, &how);
}

static struct arch_fault deliver(const struct delivery *delivery)
{
    const struct arch_state *state = delivery->cpu->state;
    struct arch_gate gate;

    if (arch_real_mode(state))
        return deliver_real(delivery);
    if (arch_v86_mode(state) && delivery->what->type == ARCH_INT_SW_INTERRUPT) {
        bool done;

        ARCH_TRY(deliver_v86_int(delivery, &done));
        if (done)
            return ARCH_NO_FAULT;
    }
    ARCH_TRY(read_gate(delivery, &gate));
    if (gate.type == ARCH_TYPE_TASK_GATE)
        return deliver_task(delivery, &gate);
    return deliver_gate(delivery, &gate);
}

/* What delivery itself changes, however it was made. */
static void begin_handler(struct arch_state *state, const struct arch_interruption *what)
{
    state->activity = ARCH_ACTIVE;
    state->blocking_by_sti = false;
    state->blocking_by_mov_ss = false;
    if (what->type == ARCH_INT_NMI)
        state->blocking_by_nmi = true;
    if (what->vector == ARCH_DB && what->type != ARCH_INT_SW_INTERRUPT)
        state->dr[7] &= ~DR7_GD;
}

struct arch_interruption arch_fault_interruption(struct arch_state *state,
                                                 const struct arch_fault *fault)
{
    if (fault->vector == ARCH_PF)
        state->cr2 = fault->address;
    return (struct arch_interruption){
        .type = ARCH_INT_HW_EXCEPTION,
        .vector = fault->vector,
        .has_error = fault->has_error,
        .error = fault->error,
        .return_rip = state->rip,
    };
}

enum arch_delivery arch_deliver(const struct arch_cpu *cpu, const struct arch_interruption *what,
                                struct arch_fault *fault)
{
    struct arch_state next = *cpu->state;
    struct arch_cpu work = { &next, cpu->limits, cpu->mem };
    struct delivery delivery = {
        .cpu = &work,
        .what = what,
        .ext = is_software(what->type) ? 0 : 1,
        .rflags = saved_rflags(&next, what),
    };

    *fault = deliver(&delivery);
    if (!fault->raised || fault->new_task)
        begin_handler(&next, what);
    arch_commit(cpu, &next, *fault);
    if (fault->raised && fault->vector == ARCH_PF)
        cpu->state->cr2 = fault->address;
    return fault->raised ? ARCH_DELIVERY_FAULT : ARCH_DELIVERED;
}

/* The classes of table 6-4. */
enum fault_class {
    BENIGN,
    CONTRIBUTORY,
    PAGE_FAULT,
    DOUBLE_FAULT,
};

static enum fault_class class_of(unsigned vector)
{
    switch (vector) {
    case ARCH_DE:
    case ARCH_TS:
    case ARCH_NP:
    case ARCH_SS_FAULT:
    case ARCH_GP:
    case ARCH_CP:
        return CONTRIBUTORY;
    case ARCH_PF:
    case ARCH_VE:
        return PAGE_FAULT;
    case ARCH_DF:
        return DOUBLE_FAULT;
    default:
        return BENIGN;
    }
}

struct arch_fault arch_combine_faults(const struct arch_interruption *first,
                                      const struct arch_fault *second)
{
    enum fault_class a = first->type == ARCH_INT_HW_EXCEPTION ? class_of(first->vector) : BENIGN;
    enum fault_class b = class_of(second->vector);

    if (a == DOUBLE_FAULT && b != BENIGN)
        return ARCH_NO_FAULT;
    if ((a == CONTRIBUTORY && b == CONTRIBUTORY) || (a == PAGE_FAULT && b != BENIGN))
        return arch_fault_error(ARCH_DF, 0);
    return *second;
}
