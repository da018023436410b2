/* SPDX-License-Identifier: MIT */
#include "descriptor.h"

struct arch_seg arch_seg_decode(uint16_t selector, uint64_t descriptor, uint32_t base_high)
{
    uint32_t limit = (uint32_t)(bits_get(descriptor, 51, 48) << 16 | bits_get(descriptor, 15, 0));
    uint64_t base = bits_get(descriptor, 63, 56) << 24 | bits_get(descriptor, 39, 16);
    uint32_t ar = (uint32_t)(bits_get(descriptor, 47, 40) | bits_get(descriptor, 55, 52) << 12);

    if (ar & ARCH_AR_G)
        limit = limit << 12 | 0xfff;
    return (struct arch_seg){
        .selector = selector, .ar = ar, .limit = limit, .base = (uint64_t)base_high << 32 | base
    };
}

uint64_t arch_seg_encode(const struct arch_seg *seg)
{
    uint32_t limit = seg->ar & ARCH_AR_G ? seg->limit >> 12 : seg->limit;
    uint64_t descriptor = bits_get(limit, 15, 0);

    descriptor = bits_put(descriptor, 39, 16, seg->base);
    descriptor = bits_put(descriptor, 47, 40, seg->ar);
    descriptor = bits_put(descriptor, 51, 48, limit >> 16);
    descriptor = bits_put(descriptor, 55, 52, seg->ar >> 12);
    return bits_put(descriptor, 63, 56, seg->base >> 24);
}

struct arch_gate arch_gate_decode(uint64_t low, uint64_t high)
{
    struct arch_gate gate = {
        .type = (unsigned)bits_get(low, 43, 40),
        .dpl = (unsigned)bits_get(low, 46, 45),
        .present = bits_get(low, 47, 47),
        .selector = (uint16_t)bits_get(low, 31, 16),
        .offset = bits_get(low, 15, 0),
        .params = (unsigned)bits_get(low, 36, 32),
        .ist = (unsigned)bits_get(low, 34, 32),
    };

    if (gate.type >= ARCH_TYPE_CALL_GATE32)
        gate.offset |= bits_get(low, 63, 48) << 16 | bits_get(high, 31, 0) << 32;
    return gate;
}

struct arch_fault arch_system_read(const struct arch_cpu *cpu, uint64_t linear, size_t size,
                                   uint64_t *value)
{
    uint8_t buf[8];

    ARCH_TRY(arch_linear_read(cpu->state, cpu->limits, cpu->mem, linear, buf, size, ARCH_IMPLICIT));
    *value = le_load(buf, size);
    return ARCH_NO_FAULT;
}

struct arch_fault arch_system_write(const struct arch_cpu *cpu, uint64_t linear, size_t size,
                                    uint64_t value)
{
    uint8_t buf[8];

    le_store(buf, value, size);
    return arch_linear_write(cpu->state, cpu->limits, cpu->mem, linear, buf, size, ARCH_IMPLICIT);
}

/* The table that SELECTOR refers to. False: there is no LDT. */
static bool descriptor_table(const struct arch_state *state, uint16_t selector, uint64_t *base,
                             uint32_t *limit)
{
    if (!arch_selector_ti(selector)) {
        *base = state->gdtr.base;
        *limit = state->gdtr.limit;
        return true;
    }
    *base = state->ldtr.base;
    *limit = state->ldtr.limit;
    return !(state->ldtr.ar & ARCH_AR_UNUSABLE);
}

struct arch_fault arch_descriptor_read(const struct arch_cpu *cpu, uint16_t selector,
                                       enum arch_vector vector, unsigned ext,
                                       struct arch_descriptor *out)
{
    struct arch_fault outside = arch_selector_fault(vector, selector, ext);
    uint32_t index = selector & 0xfff8u;
    uint64_t base;
    uint32_t limit;

    *out = (struct arch_descriptor){ .selector = selector };
    if (!descriptor_table(cpu->state, selector, &base, &limit) || index + 7 > limit)
        return outside;
    out->linear = base + index;
    ARCH_TRY(arch_system_read(cpu, out->linear, 8, &out->low));
    out->seg = arch_seg_decode(selector, out->low, 0);
    if (arch_long_mode(cpu->state) && !(out->seg.ar & ARCH_AR_S)) {
        if (index + 15 > limit)
            return outside;
        ARCH_TRY(arch_system_read(cpu, out->linear + 8, 8, &out->high));
        if (bits_get(out->high, 44, 40))
            return outside;
        out->seg.base |= bits_get(out->high, 31, 0) << 32;
    }
    return ARCH_NO_FAULT;
}

static struct arch_fault put_type(const struct arch_cpu *cpu, struct arch_descriptor *desc,
                                  unsigned type)
{
    if (type == arch_ar_type(desc->seg.ar))
        return ARCH_NO_FAULT;
    desc->low = bits_put(desc->low, 43, 40, type);
    desc->seg.ar = (desc->seg.ar & ~(uint32_t)ARCH_AR_TYPE) | type;
    return arch_system_write(cpu, desc->linear + 5, 1, bits_get(desc->low, 47, 40));
}

struct arch_fault arch_descriptor_set(const struct arch_cpu *cpu, struct arch_descriptor *desc,
                                      unsigned type_bits)
{
    return put_type(cpu, desc, arch_ar_type(desc->seg.ar) | type_bits);
}

struct arch_fault arch_descriptor_clear(const struct arch_cpu *cpu, struct arch_descriptor *desc,
                                        unsigned type_bits)
{
    return put_type(cpu, desc, arch_ar_type(desc->seg.ar) & ~type_bits);
}
