/* SPDX-License-Identifier: MIT */
#include "transfer.h"

/* Offsets in the TSS (SDM vol. 3A, figures 8-2, 8-10 and 8-11). */
enum {
    TSS16_SP0 = 2,
    TSS32_ESP0 = 4,
    TSS64_RSP0 = 4,
    TSS64_IST1 = 0x24,
};

static struct arch_fault inner_stack64(const struct arch_cpu *cpu, unsigned dpl, unsigned ist,
                                       unsigned ext, struct arch_inner_stack *out)
{
    const struct arch_seg *tr = &cpu->state->tr;
    unsigned at = ist ? TSS64_IST1 + 8 * (ist - 1) : TSS64_RSP0 + 8 * dpl;

    if (at + 7 > tr->limit)
        return arch_selector_fault(ARCH_TS, tr->selector, ext);
    ARCH_TRY(arch_system_read(cpu, tr->base + at, 8, &out->rsp));
    if (!is_canonical(out->rsp, arch_linear_bits(cpu->state)))
        return arch_fault_error(ARCH_SS_FAULT, ext);
    out->null = true;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_inner_stack(const struct arch_cpu *cpu, unsigned dpl, unsigned ist,
                                   unsigned ext, struct arch_inner_stack *out)
{
    const struct arch_seg *tr = &cpu->state->tr;
    bool tss32 = arch_ar_type(tr->ar) == ARCH_TYPE_TSS32_BUSY;
    unsigned size = tss32 ? 4 : 2;
    unsigned at = tss32 ? TSS32_ESP0 + 8 * dpl : TSS16_SP0 + 4 * dpl;
    uint64_t selector;

    *out = (struct arch_inner_stack){ .null = false };
    if (arch_long_mode(cpu->state))
        return inner_stack64(cpu, dpl, ist, ext, out);
    if (at + size + 1 > tr->limit)
        return arch_selector_fault(ARCH_TS, tr->selector, ext);
    ARCH_TRY(arch_system_read(cpu, tr->base + at, size, &out->rsp));
    ARCH_TRY(arch_system_read(cpu, tr->base + at + size, 2, &selector));
    if (arch_selector_null((uint16_t)selector))
        return arch_fault_error(ARCH_TS, ext);
    ARCH_TRY(arch_descriptor_read(cpu, (uint16_t)selector, ARCH_TS, ext, &out->ss));
    return arch_check_stack_segment(&out->ss, dpl, ARCH_TS, ext);
}

void arch_load_inner_stack(struct arch_state *state, const struct arch_inner_stack *stack)
{
    if (stack->null) {
        arch_seg_load_null(state, ARCH_SS, state->cpl);
    } else {
        state->sreg[ARCH_SS] = stack->ss.seg;
        state->sreg[ARCH_SS].ar |= ARCH_TYPE_ACCESSED;
    }
    arch_set_stack_pointer(state, stack->rsp);
}

struct arch_fault arch_mark_inner_stack(const struct arch_cpu *cpu, struct arch_inner_stack *stack)
{
    return stack->null ? ARCH_NO_FAULT : arch_mark_accessed(cpu, &stack->ss);
}

struct arch_fault arch_check_code(const struct arch_cpu *cpu, const struct arch_descriptor *desc,
                                  unsigned ext)
{
    uint32_t both = ARCH_AR_L | ARCH_AR_DB;

    if (!arch_ar_is_code(desc->seg.ar) ||
        (arch_long_mode(cpu->state) && (desc->seg.ar & both) == both))
        return arch_selector_fault(ARCH_GP, desc->selector, ext);
    return ARCH_NO_FAULT;
}

struct arch_fault arch_read_code(const struct arch_cpu *cpu, uint16_t selector, unsigned ext,
                                 struct arch_descriptor *out)
{
    if (arch_selector_null(selector))
        return arch_fault_error(ARCH_GP, ext);
    ARCH_TRY(arch_descriptor_read(cpu, selector, ARCH_GP, ext, out));
    return arch_check_code(cpu, out, ext);
}

struct arch_fault arch_check_return_code(const struct arch_cpu *cpu,
                                         const struct arch_descriptor *desc)
{
    unsigned rpl = arch_selector_rpl(desc->selector);
    unsigned dpl = arch_ar_dpl(desc->seg.ar);
    bool conforming = desc->seg.ar & ARCH_TYPE_CONFORMING;

    if (rpl < cpu->state->cpl || (conforming ? dpl > rpl : dpl != rpl))
        return arch_selector_fault(ARCH_GP, desc->selector, 0);
    if (!(desc->seg.ar & ARCH_AR_P))
        return arch_selector_fault(ARCH_NP, desc->selector, 0);
    return ARCH_NO_FAULT;
}

static struct arch_fault enter(struct arch_state *state, uint64_t ip, unsigned ext)
{
    bool inside = arch_64bit_mode(state) ? is_canonical(ip, arch_linear_bits(state))
                                         : ip <= state->sreg[ARCH_CS].limit;

    if (!inside)
        return arch_fault_error(ARCH_GP, ext);
    state->rip = ip;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_enter_code(struct arch_state *state, const struct arch_descriptor *desc,
                                  unsigned cpl, uint64_t ip, unsigned ext)
{
    state->sreg[ARCH_CS] = desc->seg;
    state->sreg[ARCH_CS].selector = (uint16_t)((desc->selector & 0xfffc) | cpl);
    state->sreg[ARCH_CS].ar |= ARCH_TYPE_ACCESSED;
    state->cpl = (uint8_t)cpl;
    return enter(state, ip, ext);
}

struct arch_fault arch_enter_real_code(const struct arch_cpu *cpu, uint16_t selector, uint64_t ip)
{
    ARCH_TRY(arch_load_sreg(cpu, ARCH_CS, selector));
    return enter(cpu->state, ip, 0);
}

struct arch_fault arch_load_return_stack(const struct arch_cpu *cpu, uint16_t selector,
                                         uint64_t rsp)
{
    struct arch_state *state = cpu->state;

    if (arch_selector_null(selector) && arch_64bit_mode(state) && state->cpl != 3)
        arch_seg_load_null(state, ARCH_SS, selector);
    else
        ARCH_TRY(arch_load_sreg(cpu, ARCH_SS, selector));
    arch_set_stack_pointer(state, rsp);
    return ARCH_NO_FAULT;
}

void arch_drop_inner_segments(struct arch_state *state)
{
    static const enum arch_sreg data[] = ARCH_DATA_SREGS;

    for (unsigned i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        struct arch_seg *seg = &state->sreg[data[i]];
        bool conforming = arch_ar_is_code(seg->ar) && (seg->ar & ARCH_TYPE_CONFORMING);

        if ((seg->ar & ARCH_AR_UNUSABLE) || conforming || arch_ar_dpl(seg->ar) >= state->cpl)
            continue;
        seg->selector = 0;
        seg->ar = ARCH_AR_UNUSABLE;
    }
}
