/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "special.h"

#include "../models/arch/control.h"
#include "../models/arch/far.h"
#include "../models/arch/stack.h"
#include "../models/bits.h"
#include "special_io.h"
#include "special_wait.h"
#include "special_xstate.h"

static const uint32_t IA32_EFER = 0xc0000080;
/* L0 to L3 and G0 to G3 of DR7 */
static const uint64_t DR7_ENABLES = BITS(7, 0);

/*
 * What the handlers share
 */

static struct arch_state *state_of(const struct special_call *call)
{
    return &call->lp->arch;
}

static struct arch_fault gp0(void)
{
    return arch_fault_error(ARCH_GP, 0);
}

bool special_has_feature(const struct special_call *call, uint32_t leaf, uint32_t subleaf,
                         unsigned reg, unsigned bit)
{
    uint32_t regs[4];

    lp_cpuid(call->lp, leaf, subleaf, regs);
    return regs[reg] >> bit & 1;
}

static struct arch_fault not_modelled(struct special_call *call)
{
    call->outcome = SPECIAL_NOT_MODELLED;
    return ARCH_NO_FAULT;
}

/* Writes the low SIZE bytes of a general register; 4 of them clear the upper half. */
static void set_gpr(struct special_call *call, unsigned reg, unsigned size, uint64_t value)
{
    uint64_t *gpr = &state_of(call)->gpr[reg];

    *gpr = size >= 4 ? bits_get(value, size * 8 - 1, 0) : bits_put(*gpr, size * 8 - 1, 0, value);
}

static uint64_t edx_eax(const struct special_call *call)
{
    const struct arch_state *state = state_of(call);

    return state->gpr[ARCH_RDX] << 32 | (uint32_t)state->gpr[ARCH_RAX];
}

static void set_edx_eax(struct special_call *call, uint64_t value)
{
    set_gpr(call, ARCH_RAX, 4, value);
    set_gpr(call, ARCH_RDX, 4, value >> 32);
}

static const struct insn_operand *operand(const struct special_call *call, unsigned n)
{
    return &call->insn->operand[n];
}

/* SIZE bytes of the memory operand, DISPLACEMENT bytes into it. */
static struct arch_fault read_memory(const struct special_call *call,
                                     const struct insn_operand *from, unsigned displacement,
                                     unsigned size, uint64_t *value)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_read(&cpu, from->sreg, insn_offset(call->insn, from, state_of(call)) + displacement,
                     size, value);
}

static struct arch_fault write_memory(const struct special_call *call,
                                      const struct insn_operand *to, unsigned displacement,
                                      unsigned size, uint64_t value)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_write(&cpu, to->sreg, insn_offset(call->insn, to, state_of(call)) + displacement,
                      size, value);
}

/* The low SIZE bytes of a register or memory operand. */
static struct arch_fault read_rm(const struct special_call *call, const struct insn_operand *from,
                                 unsigned size, uint64_t *value)
{
    if (from->kind == INSN_MEM)
        return read_memory(call, from, 0, size, value);
    *value = bits_get(state_of(call)->gpr[from->reg], size * 8 - 1, 0);
    return ARCH_NO_FAULT;
}

/* What SMSW, SLDT and STR give, to a register of the operand size or to a word of memory. */
static struct arch_fault store_system_word(struct special_call *call, uint64_t value)
{
    const struct insn_operand *to = operand(call, 0);

    if (to->kind == INSN_MEM)
        return write_memory(call, to, 0, 2, value);
    set_gpr(call, to->reg, to->size, value);
    return ARCH_NO_FAULT;
}

/*
 * Far transfers
 */

/* The far pointer that JMP, CALL and LDS take from the instruction or from memory. */
static struct arch_fault far_pointer(const struct special_call *call,
                                     const struct insn_operand *from, uint16_t *selector,
                                     uint64_t *offset)
{
    unsigned size = call->insn->opsize;
    uint64_t value;

    if (from->kind == INSN_PTR) {
        *selector = from->selector;
        *offset = from->value;
        return ARCH_NO_FAULT;
    }
    ARCH_TRY(read_memory(call, from, 0, size, offset));
    ARCH_TRY(read_memory(call, from, size, 2, &value));
    *selector = (uint16_t)value;
    return ARCH_NO_FAULT;
}

static struct arch_fault special_jmp_far(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);
    uint16_t selector;
    uint64_t offset;

    call->event.kind = EV_FAR_BRANCH;
    ARCH_TRY(far_pointer(call, operand(call, 0), &selector, &offset));
    return arch_far_jmp(&cpu, selector, offset, call->insn->opsize, call->next_rip);
}

static struct arch_fault special_call_far(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);
    uint16_t selector;
    uint64_t offset;

    call->event.kind = EV_FAR_BRANCH;
    ARCH_TRY(far_pointer(call, operand(call, 0), &selector, &offset));
    return arch_far_call(&cpu, selector, offset, call->insn->opsize, call->next_rip);
}

static struct arch_fault special_ret_far(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);
    unsigned release = call->insn->operands ? (uint16_t)operand(call, 0)->value : 0;

    call->event.kind = EV_FAR_BRANCH;
    return arch_far_ret(&cpu, call->insn->opsize, release);
}

static struct arch_fault special_iret(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    call->event.kind = EV_IRET;
    return arch_iret(&cpu, call->insn->opsize, call->next_rip);
}

static struct arch_fault special_syscall(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    call->event.kind = EV_FAR_BRANCH;
    return arch_syscall(&cpu, call->next_rip);
}

static struct arch_fault special_sysret(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    call->event.kind = EV_FAR_BRANCH;
    return arch_sysret(&cpu, call->insn->opsize);
}

static struct arch_fault special_sysenter(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    call->event.kind = EV_FAR_BRANCH;
    return arch_sysenter(&cpu);
}

static struct arch_fault special_sysexit(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    call->event.kind = EV_FAR_BRANCH;
    return arch_sysexit(&cpu, call->insn->opsize);
}

/*
 * Software interrupts
 */

static struct arch_fault interrupts(struct special_call *call, enum arch_int_type type,
                                    uint8_t vector)
{
    call->event.kind = EV_SW_INTERRUPT;
    call->event.vector = vector;
    call->outcome = SPECIAL_INTERRUPTS;
    call->interruption =
        (struct arch_interruption){ .type = type, .vector = vector, .return_rip = call->next_rip };
    return ARCH_NO_FAULT;
}

static struct arch_fault special_int(struct special_call *call)
{
    return interrupts(call, ARCH_INT_SW_INTERRUPT, (uint8_t)operand(call, 0)->value);
}

static struct arch_fault special_int3(struct special_call *call)
{
    return interrupts(call, ARCH_INT_SW_EXCEPTION, ARCH_BP);
}

static struct arch_fault special_into(struct special_call *call)
{
    if (!(state_of(call)->rflags & RFLAGS_OF))
        return ARCH_NO_FAULT;
    return interrupts(call, ARCH_INT_SW_EXCEPTION, ARCH_OF);
}

static struct arch_fault special_int1(struct special_call *call)
{
    return interrupts(call, ARCH_INT_PRIV_SW_EXCEPTION, ARCH_DB);
}

/*
 * Control and debug registers
 */

/* The size of the general register that moves to and from control and debug registers: the
 * operand size does not count. */
static unsigned cr_size(const struct special_call *call)
{
    return arch_64bit_mode(state_of(call)) ? 8 : 4;
}

static uint64_t cr_source(const struct special_call *call)
{
    uint64_t value = state_of(call)->gpr[operand(call, 1)->reg];

    return bits_get(value, cr_size(call) * 8 - 1, 0);
}

static struct arch_fault special_mov_cr(struct special_call *call)
{
    const struct insn_operand *to = operand(call, 0), *from = operand(call, 1);
    struct arch_cpu cpu = special_cpu(call);
    uint64_t value;

    if (to->kind == INSN_GPR) {
        ARCH_TRY(arch_mov_from_cr(&cpu, from->reg, &value));
        set_gpr(call, to->reg, cr_size(call), value);
        return ARCH_NO_FAULT;
    }
    value = cr_source(call);
    ARCH_TRY(arch_mov_to_cr(&cpu, to->reg, value));
    call->flush = to->reg == 0 || to->reg == 3 || to->reg == 4;
    if (to->reg == 3) {
        call->event.kind = EV_MOV_CR3;
        call->event.value = value;
    }
    return ARCH_NO_FAULT;
}

static struct arch_fault special_mov_dr(struct special_call *call)
{
    const struct insn_operand *to = operand(call, 0), *from = operand(call, 1);
    struct arch_cpu cpu = special_cpu(call);
    struct arch_state before = *cpu.state;
    uint64_t value;

    if (to->kind == INSN_GPR) {
        ARCH_TRY(arch_mov_from_dr(&cpu, from->reg, &value));
        set_gpr(call, to->reg, cr_size(call), value);
        return ARCH_NO_FAULT;
    }
    ARCH_TRY(arch_mov_to_dr(&cpu, to->reg, cr_source(call)));
    if (!(cpu.state->dr[7] & DR7_ENABLES))
        return ARCH_NO_FAULT;
    /* nobody would notice the breakpoint being hit */
    *cpu.state = before;
    return not_modelled(call);
}

static struct arch_fault special_lmsw(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);
    uint64_t value;

    ARCH_TRY(read_rm(call, operand(call, 0), 2, &value));
    call->flush = true;
    return arch_lmsw(&cpu, (uint16_t)value);
}

static struct arch_fault special_smsw(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);
    uint64_t value;

    ARCH_TRY(arch_smsw(&cpu, &value));
    return store_system_word(call, value);
}

static struct arch_fault special_clts(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_clts(&cpu);
}

/*
 * MSRs, identification, clocks
 */

static struct arch_fault special_wrmsr(struct special_call *call)
{
    struct arch_state *state = state_of(call);
    uint32_t index = (uint32_t)state->gpr[ARCH_RCX];

    ARCH_TRY(arch_require_cpl0(state_of(call)));
    call->event.kind = EV_WRMSR;
    call->event.to_ip = call->event.next_ip;
    call->event.after = call->event.before;
    ARCH_TRY(lp_wrmsr(call->lp, index, edx_eax(call), &call->event));
    call->event_seen = true;
    call->flush = index == IA32_EFER;
    return ARCH_NO_FAULT;
}

static struct arch_fault special_rdmsr(struct special_call *call)
{
    uint64_t value;

    ARCH_TRY(arch_require_cpl0(state_of(call)));
    ARCH_TRY(lp_rdmsr(call->lp, (uint32_t)state_of(call)->gpr[ARCH_RCX], &value));
    set_edx_eax(call, value);
    return ARCH_NO_FAULT;
}

static struct arch_fault special_cpuid(struct special_call *call)
{
    const struct arch_state *state = state_of(call);
    uint32_t regs[4];

    lp_cpuid(call->lp, (uint32_t)state->gpr[ARCH_RAX], (uint32_t)state->gpr[ARCH_RCX], regs);
    set_gpr(call, ARCH_RAX, 4, regs[0]);
    set_gpr(call, ARCH_RBX, 4, regs[1]);
    set_gpr(call, ARCH_RCX, 4, regs[2]);
    set_gpr(call, ARCH_RDX, 4, regs[3]);
    return ARCH_NO_FAULT;
}

static struct arch_fault special_rdtsc(struct special_call *call)
{
    const struct clock *clock = &call->lp->clock;

    ARCH_TRY(arch_check_rdtsc(state_of(call)));
    set_edx_eax(call, clock_tsc_at(clock, clock->core));
    return ARCH_NO_FAULT;
}

static struct arch_fault special_rdtscp(struct special_call *call)
{
    if (!special_has_feature(call, 0x80000001, 0, 3, 27))
        return arch_fault(ARCH_UD);
    ARCH_TRY(special_rdtsc(call));
    set_gpr(call, ARCH_RCX, 4, state_of(call)->tsc_aux);
    return ARCH_NO_FAULT;
}

static struct arch_fault special_rdpid(struct special_call *call)
{
    if (!special_has_feature(call, 7, 0, 2, 22))
        return arch_fault(ARCH_UD);
    set_gpr(call, operand(call, 0)->reg, cr_size(call), state_of(call)->tsc_aux);
    return ARCH_NO_FAULT;
}

/* Without counters no index is valid. */
static struct arch_fault special_rdpmc(struct special_call *call)
{
    uint32_t regs[4];

    ARCH_TRY(arch_check_rdpmc(state_of(call)));
    lp_cpuid(call->lp, 0xa, 0, regs);
    return regs[0] & 0xff ? not_modelled(call) : gp0();
}

static struct arch_fault special_ptwrite(struct special_call *call)
{
    unsigned size = operand(call, 0)->size;

    if (!special_has_feature(call, 0x14, 0, 1, 4))
        return arch_fault(ARCH_UD);
    call->event.kind = EV_PTWRITE;
    call->event.size = (uint8_t)size;
    return read_rm(call, operand(call, 0), size, &call->event.value);
}

/*
 * RFLAGS
 */

static struct arch_fault special_cli(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_cli(&cpu);
}

static struct arch_fault special_sti(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_sti(&cpu);
}

static struct arch_fault special_popf(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_popf(&cpu, call->insn->opsize);
}

static struct arch_fault special_pushf(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_pushf(&cpu, call->insn->opsize);
}

/*
 * Segment registers and descriptor tables
 */

static struct arch_fault load_sreg(struct special_call *call, unsigned sreg, uint64_t selector)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_load_sreg(&cpu, (enum arch_sreg)sreg, (uint16_t)selector);
}

static struct arch_fault special_mov_sreg(struct special_call *call)
{
    unsigned sreg = operand(call, 0)->reg;
    uint64_t selector;

    ARCH_TRY(read_rm(call, operand(call, 1), 2, &selector));
    ARCH_TRY(load_sreg(call, sreg, selector));
    if (sreg == ARCH_SS)
        state_of(call)->blocking_by_mov_ss = true;
    return ARCH_NO_FAULT;
}

/* RSP moves on the stack as it was: POP SS may change its width. */
static struct arch_fault special_pop_sreg(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);
    unsigned sreg = operand(call, 0)->reg;
    uint64_t rsp = cpu.state->gpr[ARCH_RSP];
    struct arch_fault fault;
    uint64_t selector;

    ARCH_TRY(arch_peek(&cpu, 0, call->insn->opsize, &selector));
    arch_release(cpu.state, call->insn->opsize);
    fault = load_sreg(call, sreg, selector);
    if (fault.raised)
        cpu.state->gpr[ARCH_RSP] = rsp;
    else if (sreg == ARCH_SS)
        cpu.state->blocking_by_mov_ss = true;
    return fault;
}

static enum arch_sreg far_pointer_sreg(enum special special)
{
    switch (special) {
    case SPECIAL_LDS:
        return ARCH_DS;
    case SPECIAL_LES:
        return ARCH_ES;
    case SPECIAL_LFS:
        return ARCH_FS;
    case SPECIAL_LGS:
        return ARCH_GS;
    default:
        return ARCH_SS;
    }
}

static struct arch_fault special_load_far_pointer(struct special_call *call)
{
    uint16_t selector;
    uint64_t offset;

    ARCH_TRY(far_pointer(call, operand(call, 1), &selector, &offset));
    ARCH_TRY(load_sreg(call, far_pointer_sreg(call->insn->special), selector));
    set_gpr(call, operand(call, 0)->reg, call->insn->opsize, offset);
    return ARCH_NO_FAULT;
}

/* LGDT and the others have one memory operand, whose offset this is. */
static uint64_t table_offset(const struct special_call *call)
{
    return insn_offset(call->insn, operand(call, 0), state_of(call));
}

static enum arch_sreg table_sreg(const struct special_call *call)
{
    return (enum arch_sreg)operand(call, 0)->sreg;
}

static struct arch_fault special_lgdt(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_lgdt(&cpu, table_sreg(call), table_offset(call), call->insn->opsize);
}

static struct arch_fault special_lidt(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_lidt(&cpu, table_sreg(call), table_offset(call), call->insn->opsize);
}

static struct arch_fault special_sgdt(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_sgdt(&cpu, table_sreg(call), table_offset(call));
}

static struct arch_fault special_sidt(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_sidt(&cpu, table_sreg(call), table_offset(call));
}

static struct arch_fault special_lldt(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);
    uint64_t selector;

    ARCH_TRY(read_rm(call, operand(call, 0), 2, &selector));
    return arch_load_ldtr(&cpu, (uint16_t)selector);
}

static struct arch_fault special_ltr(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);
    uint64_t selector;

    ARCH_TRY(read_rm(call, operand(call, 0), 2, &selector));
    return arch_load_tr(&cpu, (uint16_t)selector);
}

static struct arch_fault special_sldt(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);
    uint16_t selector;

    ARCH_TRY(arch_sldt(&cpu, &selector));
    return store_system_word(call, selector);
}

static struct arch_fault special_str(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);
    uint16_t selector;

    ARCH_TRY(arch_str(&cpu, &selector));
    return store_system_word(call, selector);
}

static struct arch_fault special_swapgs(struct special_call *call)
{
    struct arch_cpu cpu = special_cpu(call);

    return arch_swapgs(&cpu);
}

static struct arch_fault special_invlpg(struct special_call *call)
{
    ARCH_TRY(arch_require_cpl0(state_of(call)));
    call->flush = true;
    return ARCH_NO_FAULT;
}

/*
 * SMM
 */

static struct arch_fault special_rsm(struct special_call *call)
{
    if (!call->lp->smm.in_smm)
        return arch_fault(ARCH_UD);
    call->event_seen = lp_rsm(call->lp, &call->event);
    if (!call->event_seen)
        call->outcome = SPECIAL_SHUTDOWN;
    call->flush = true;
    return ARCH_NO_FAULT;
}

/*
 * The XSAVE family
 */

static struct arch_fault need_osxsave(const struct special_call *call)
{
    return state_of(call)->cr4 & CR4_OSXSAVE ? ARCH_NO_FAULT : arch_fault(ARCH_UD);
}

static struct arch_fault special_xsave(struct special_call *call)
{
    ARCH_TRY(need_osxsave(call));
    return not_modelled(call);
}

static struct arch_fault special_xgetbv(struct special_call *call)
{
    ARCH_TRY(need_osxsave(call));
    if ((uint32_t)state_of(call)->gpr[ARCH_RCX] != 0)
        return gp0();
    set_edx_eax(call, state_of(call)->xcr0);
    return ARCH_NO_FAULT;
}

/* XCR0 takes what CPUID leaf 0DH has, and never loses x87 (SDM vol. 1, 13.3). */
static struct arch_fault special_xsetbv(struct special_call *call)
{
    struct arch_state *state = state_of(call);
    uint64_t value = edx_eax(call);
    uint32_t regs[4];

    ARCH_TRY(need_osxsave(call));
    ARCH_TRY(arch_require_cpl0(state_of(call)));
    lp_cpuid(call->lp, 0xd, 0, regs);
    if ((uint32_t)state->gpr[ARCH_RCX] != 0 || !(value & 1) ||
        value & ~((uint64_t)regs[3] << 32 | regs[0]))
        return gp0();
    state->xcr0 = value;
    return ARCH_NO_FAULT;
}

/*
 * The rest
 */

static struct arch_fault special_undefined(struct special_call *call)
{
    (void)call;
    return arch_fault(ARCH_UD);
}

static struct arch_fault special_too_long(struct special_call *call)
{
    (void)call;
    return gp0();
}

static struct arch_fault special_not_modelled(struct special_call *call)
{
    return not_modelled(call);
}

/* The instructions of the ABSENT rows. */
static struct arch_fault special_absent(struct special_call *call)
{
    static const struct {
        enum special special;
        uint32_t leaf, subleaf;
        uint8_t reg, bit;
    } rows[] = {
#define SPECIAL(id, mnemonic, form, cost, handler, reference)
#define ABSENT(id, mnemonic, leaf, subleaf, reg, bit, reference)                                   \
    { SPECIAL_##id, leaf, subleaf, reg, bit },
#include "specials.def"
#undef ABSENT
#undef SPECIAL
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].special == call->insn->special &&
            special_has_feature(call, rows[i].leaf, rows[i].subleaf, rows[i].reg, rows[i].bit))
            return not_modelled(call);
    return arch_fault(ARCH_UD);
}

/* Where the instruction leaves the processor, and what the event that says so is. */
static void complete(struct special_call *call, uint64_t rip)
{
    struct arch_state *state = state_of(call);
    struct ptsim_event *event = &call->event;
    const struct ev_context *before = &event->before;

    if (event->kind != EV_FAR_BRANCH && event->kind != EV_IRET && event->kind != EV_RSM)
        state->rip = rip;
    event->to_ip = arch_linear_ip(state, state->rip);
    event->after = arch_context(state);

    const struct ev_context *after = &event->after;
    bool changed = before->cr3 != after->cr3 || before->cpl != after->cpl ||
                   before->cs_l != after->cs_l || before->cs_d != after->cs_d ||
                   before->lma != after->lma || before->pae != after->pae ||
                   before->rflags_if != after->rflags_if;

    if (event->kind == EV_KINDS && changed)
        event->kind = EV_CONTEXT;
}

void special_execute(struct special_call *call)
{
    static struct arch_fault (*const handlers[SPECIALS])(struct special_call *) = {
        [SPECIAL_NONE] = special_not_modelled,
        [SPECIAL_UNDEFINED] = special_undefined,
        [SPECIAL_TOO_LONG] = special_too_long,
#define SPECIAL(id, mnemonic, form, cost, handler, reference)    [SPECIAL_##id] = special_##handler,
#define ABSENT(id, mnemonic, leaf, subleaf, reg, bit, reference) [SPECIAL_##id] = special_absent,
#include "specials.def"
#undef ABSENT
#undef SPECIAL
    };

    call->outcome = SPECIAL_RETIRED;
    call->event.kind = EV_KINDS;
    call->event_seen = false;
    call->flush = false;
    call->smi = false;
    call->io.valid = false;
    call->fault = handlers[call->insn->special](call);
    if (call->fault.raised)
        call->outcome = SPECIAL_FAULTED;
    else if (call->outcome == SPECIAL_RETIRED)
        complete(call, call->next_rip);
}
