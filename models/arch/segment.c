/* SPDX-License-Identifier: MIT */
#include "segment.h"

#include "descriptor.h"

/* Real-address mode keeps limit and rights as they are: what protected mode left there
 * goes on to hold ("unreal" segments). Virtual-8086 mode sets both (SDM vol. 3B, 21.1.1, 21.2.1).
 */
static void load_real_or_v86(struct arch_state *state, enum arch_sreg sreg, uint16_t selector)
{
    struct arch_seg *seg = &state->sreg[sreg];

    seg->selector = selector;
    seg->base = (uint32_t)selector << 4;
    if (arch_v86_mode(state)) {
        seg->limit = 0xffff;
        seg->ar = ARCH_AR_P | 3 << ARCH_AR_DPL_SHIFT | ARCH_AR_S | ARCH_TYPE_WRITABLE |
                  ARCH_TYPE_ACCESSED;
    } else if (seg->ar & ARCH_AR_UNUSABLE) {
        seg->ar = ARCH_AR_P | ARCH_AR_S | ARCH_TYPE_WRITABLE | ARCH_TYPE_ACCESSED;
    }
}

void arch_seg_load_null(struct arch_state *state, enum arch_sreg sreg, uint16_t selector)
{
    uint32_t dpl = sreg == ARCH_SS ? state->cpl : 0;

    state->sreg[sreg] = (struct arch_seg){ .selector = selector,
                                           .ar = ARCH_AR_UNUSABLE | dpl << ARCH_AR_DPL_SHIFT };
}

/* A null selector for SS is for 64-bit code below CPL 3 alone (SDM vol. 2, MOV; 5.4.1.1). */
static struct arch_fault load_null(struct arch_state *state, enum arch_sreg sreg, uint16_t selector)
{
    bool stack_ok =
        arch_64bit_mode(state) && state->cpl != 3 && arch_selector_rpl(selector) == state->cpl;

    if (sreg == ARCH_SS && !stack_ok)
        return arch_fault_error(ARCH_GP, 0);
    arch_seg_load_null(state, sreg, selector);
    return ARCH_NO_FAULT;
}

struct arch_fault arch_check_stack_segment(const struct arch_descriptor *desc, unsigned cpl,
                                           enum arch_vector vector, unsigned ext)
{
    uint32_t ar = desc->seg.ar;

    if (arch_selector_rpl(desc->selector) != cpl || !arch_ar_is_writable_data(ar) ||
        arch_ar_dpl(ar) != cpl)
        return arch_selector_fault(vector, desc->selector, ext);
    if (!(ar & ARCH_AR_P))
        return arch_selector_fault(ARCH_SS_FAULT, desc->selector, ext);
    return ARCH_NO_FAULT;
}

struct arch_fault arch_check_data_segment(const struct arch_descriptor *desc, unsigned cpl,
                                          enum arch_vector vector, unsigned ext)
{
    uint32_t ar = desc->seg.ar;
    bool code = arch_ar_is_code(ar);
    unsigned rpl = arch_selector_rpl(desc->selector);
    bool conforming = code && (ar & ARCH_TYPE_CONFORMING);

    if (!(ar & ARCH_AR_S) || (code && !(ar & ARCH_TYPE_READABLE)))
        return arch_selector_fault(vector, desc->selector, ext);
    if (!conforming && (rpl > arch_ar_dpl(ar) || cpl > arch_ar_dpl(ar)))
        return arch_selector_fault(vector, desc->selector, ext);
    if (!(ar & ARCH_AR_P))
        return arch_selector_fault(ARCH_NP, desc->selector, ext);
    return ARCH_NO_FAULT;
}

struct arch_fault arch_load_sreg(const struct arch_cpu *cpu, enum arch_sreg sreg, uint16_t selector)
{
    struct arch_state *state = cpu->state;
    struct arch_descriptor desc;

    if (arch_real_mode(state) || arch_v86_mode(state)) {
        load_real_or_v86(state, sreg, selector);
        return ARCH_NO_FAULT;
    }
    if (arch_selector_null(selector))
        return load_null(state, sreg, selector);
    ARCH_TRY(arch_descriptor_read(cpu, selector, ARCH_GP, 0, &desc));
    if (sreg == ARCH_SS)
        ARCH_TRY(arch_check_stack_segment(&desc, state->cpl, ARCH_GP, 0));
    else
        ARCH_TRY(arch_check_data_segment(&desc, state->cpl, ARCH_GP, 0));
    ARCH_TRY(arch_mark_accessed(cpu, &desc));
    state->sreg[sreg] = desc.seg;
    return ARCH_NO_FAULT;
}

/* What LLDT and LTR have in common: the instruction is there and allowed. */
static struct arch_fault check_system_load(const struct arch_state *state)
{
    if (arch_real_mode(state) || arch_v86_mode(state))
        return arch_fault(ARCH_UD);
    return state->cpl ? arch_fault_error(ARCH_GP, 0) : ARCH_NO_FAULT;
}

/* The descriptor in the GDT that LLDT or LTR names, of one of the types in the set TYPES. */
static struct arch_fault read_system(const struct arch_cpu *cpu, uint16_t selector, unsigned types,
                                     struct arch_descriptor *desc)
{
    struct arch_fault wrong = arch_selector_fault(ARCH_GP, selector, 0);

    if (arch_selector_ti(selector))
        return wrong;
    ARCH_TRY(arch_descriptor_read(cpu, selector, ARCH_GP, 0, desc));
    if ((desc->seg.ar & ARCH_AR_S) || !(types & 1u << arch_ar_type(desc->seg.ar)))
        return wrong;
    if (!(desc->seg.ar & ARCH_AR_P))
        return arch_selector_fault(ARCH_NP, selector, 0);
    return is_canonical(desc->seg.base, cpu->limits->linear_width) ? ARCH_NO_FAULT : wrong;
}

struct arch_fault arch_load_ldtr(const struct arch_cpu *cpu, uint16_t selector)
{
    struct arch_descriptor desc;

    ARCH_TRY(check_system_load(cpu->state));
    if (arch_selector_null(selector)) {
        cpu->state->ldtr = (struct arch_seg){ .selector = selector, .ar = ARCH_AR_UNUSABLE };
        return ARCH_NO_FAULT;
    }
    ARCH_TRY(read_system(cpu, selector, 1u << ARCH_TYPE_LDT, &desc));
    cpu->state->ldtr = desc.seg;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_load_tr(const struct arch_cpu *cpu, uint16_t selector)
{
    unsigned types = 1u << ARCH_TYPE_TSS32;
    struct arch_descriptor desc;

    ARCH_TRY(check_system_load(cpu->state));
    if (arch_selector_null(selector))
        return arch_fault_error(ARCH_GP, 0);
    if (!arch_long_mode(cpu->state))
        types |= 1u << ARCH_TYPE_TSS16;
    ARCH_TRY(read_system(cpu, selector, types, &desc));
    ARCH_TRY(arch_descriptor_set(cpu, &desc, ARCH_TYPE_BUSY));
    cpu->state->tr = desc.seg;
    return ARCH_NO_FAULT;
}

/* Limit check (SDM 5.3). LAST is the offset of the last byte; it does not fit in 32 bits where the
 * access wraps, which counts as a violation. */
static bool within_limit(const struct arch_seg *seg, uint64_t offset, uint64_t last)
{
    bool down = (seg->ar & ARCH_AR_S) && !(seg->ar & ARCH_TYPE_CODE) && (seg->ar & ARCH_TYPE_DOWN);

    if (down)
        return offset > seg->limit && last <= (seg->ar & ARCH_AR_DB ? 0xffffffff : 0xffff);
    return last <= seg->limit;
}

/* Type check of an access through a loaded segment register (SDM 5.5). */
static bool type_allows(uint32_t ar, enum arch_access access)
{
    if (ar & ARCH_AR_UNUSABLE)
        return false;
    if (access == ARCH_WRITE)
        return arch_ar_is_writable_data(ar);
    return access == ARCH_FETCH || !arch_ar_is_code(ar) || (ar & ARCH_TYPE_READABLE);
}

static struct arch_fault linear_64bit(const struct arch_state *state, enum arch_sreg sreg,
                                      uint64_t offset, size_t size, uint64_t *linear)
{
    uint64_t first = offset;

    if (sreg == ARCH_FS || sreg == ARCH_GS)
        first += state->sreg[sreg].base;
    if (!is_canonical(first, arch_linear_bits(state)) ||
        !is_canonical(first + size - 1, arch_linear_bits(state)))
        return arch_fault_error(sreg == ARCH_SS ? ARCH_SS_FAULT : ARCH_GP, 0);
    *linear = first;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_seg_linear(const struct arch_state *state, const struct arch_limits *limits,
                                  enum arch_sreg sreg, uint64_t offset, size_t size,
                                  enum arch_access access, uint64_t *linear)
{
    const struct arch_seg *seg = &state->sreg[sreg];

    (void)limits;
    if (arch_64bit_mode(state))
        return linear_64bit(state, sreg, offset, size, linear);
    /* In real-address mode a code segment can be written: no type is checked there. */
    if ((!arch_real_mode(state) && !type_allows(seg->ar, access)) ||
        !within_limit(seg, offset, offset + size - 1))
        return arch_fault_error(sreg == ARCH_SS ? ARCH_SS_FAULT : ARCH_GP, 0);
    *linear = (uint32_t)(seg->base + offset);
    return ARCH_NO_FAULT;
}

struct arch_fault arch_check_alignment(const struct arch_state *state, uint64_t linear, size_t size)
{
    bool on = state->cpl == 3 && (state->cr0 & CR0_AM) && (state->rflags & RFLAGS_AC);

    return on && linear % size ? arch_fault_error(ARCH_AC, 0) : ARCH_NO_FAULT;
}

struct arch_fault arch_read(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset,
                            size_t size, uint64_t *value)
{
    const struct arch_state *state = cpu->state;
    uint64_t linear;
    uint8_t buf[8];

    ARCH_TRY(arch_seg_linear(state, cpu->limits, sreg, offset, size, ARCH_READ, &linear));
    ARCH_TRY(arch_linear_read(state, cpu->limits, cpu->mem, linear, buf, size, state->cpl));
    *value = le_load(buf, size);
    return arch_check_alignment(state, linear, size);
}

struct arch_fault arch_write(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset,
                             size_t size, uint64_t value)
{
    const struct arch_state *state = cpu->state;
    uint64_t linear;
    uint8_t buf[8];

    ARCH_TRY(arch_seg_linear(state, cpu->limits, sreg, offset, size, ARCH_WRITE, &linear));
    ARCH_TRY(arch_linear_probe(state, cpu->limits, cpu->mem, linear, size, ARCH_WRITE, state->cpl));
    ARCH_TRY(arch_check_alignment(state, linear, size));
    le_store(buf, value, size);
    return arch_linear_write(state, cpu->limits, cpu->mem, linear, buf, size, state->cpl);
}
