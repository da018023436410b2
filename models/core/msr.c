/* SPDX-License-Identifier: MIT */
#include "msr.h"

#include <stddef.h>
#include <string.h>

#include "../msr.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The expressions of the table, as functions of the profile P and of V, the value of a field
 * whose lowest bit is LO. */
#define ANY           true
#define ENCODING(set) (((set) >> v & 1) != 0)
#define PHYSICAL      (v >> (p->maxphyaddr - lo) == 0)
#define CANONICAL     is_canonical(v, p->linear_width)

#define MSR(index, name, at, exists_, reset_, section)                                             \
    enum {                                                                                         \
        name##_INDEX = (int)(index)                                                                \
    };                                                                                             \
    static bool name##_exists(const struct cpu_profile *p)                                         \
    {                                                                                              \
        (void)p;                                                                                   \
        return exists_;                                                                            \
    }                                                                                              \
    static uint64_t name##_reset(const struct cpu_profile *p)                                      \
    {                                                                                              \
        (void)p;                                                                                   \
        return reset_;                                                                             \
    }
#define FIELD(msr, name, hi, lo_, access, exists_, allows_, meaning)                               \
    static bool msr##_##name##_exists(const struct cpu_profile *p)                                 \
    {                                                                                              \
        (void)p;                                                                                   \
        return exists_;                                                                            \
    }                                                                                              \
    static bool msr##_##name##_allows(const struct cpu_profile *p, uint64_t v)                     \
    {                                                                                              \
        const unsigned lo = lo_;                                                                   \
                                                                                                   \
        (void)p, (void)v, (void)lo;                                                                \
        return allows_;                                                                            \
    }
#include "msrs.def"
#undef MSR
#undef FIELD

/* clang-format off */
static const struct msr_field fields[] = {
#define MSR(index, name, at, exists, reset, section)
#define FIELD(msr, name, hi, lo, access, exists, allows, meaning) \
    { (uint32_t)msr##_INDEX, #name, hi, lo, MSR_##access, \
      msr##_##name##_exists, msr##_##name##_allows, meaning },
#include "msrs.def"
#undef MSR
#undef FIELD
};

static const struct msr msrs[] = {
#define STORED(member) true
#define RTIT(member) true
#define TSC() true
#define EFER() true
#define CONSTANT() false
#define MSR(index, name, at, exists, reset, section) \
    { index, #name, name##_exists, name##_reset, at, section },
#define FIELD(msr, name, hi, lo, access, exists, allows, meaning)
#include "msrs.def"
#undef MSR
#undef FIELD
};
/* clang-format on */

const struct msr *msr_at(unsigned position)
{
    return position < COUNT(msrs) ? &msrs[position] : NULL;
}

const struct msr *msr_find(uint32_t index)
{
    for (size_t i = 0; i < COUNT(msrs); i++)
        if (msrs[i].index == index)
            return &msrs[i];
    return NULL;
}

const struct msr *msr_find_name(const char *name)
{
    for (size_t i = 0; i < COUNT(msrs); i++)
        if (!strcmp(msrs[i].name, name))
            return &msrs[i];
    return NULL;
}

const struct msr_field *msr_field_at(const struct msr *msr, unsigned position)
{
    for (size_t i = 0; i < COUNT(fields); i++)
        if (fields[i].msr == msr->index && position-- == 0)
            return &fields[i];
    return NULL;
}

const struct msr_field *msr_field_find(const struct msr *msr, const char *name)
{
    const struct msr_field *field;

    for (unsigned i = 0; (field = msr_field_at(msr, i)); i++)
        if (!strcmp(field->name, name))
            return field;
    return NULL;
}

uint64_t msr_reserved(const struct msr *msr, const struct cpu_profile *profile)
{
    const struct msr_field *field;
    uint64_t defined = 0;

    for (unsigned i = 0; (field = msr_field_at(msr, i)); i++)
        if (field->exists(profile))
            defined |= BITS(field->hi, field->lo);
    return ~defined;
}

bool msr_allows(const struct msr *msr, const struct cpu_profile *profile, uint64_t value)
{
    const struct msr_field *field;

    if (value & msr_reserved(msr, profile))
        return false;
    for (unsigned i = 0; (field = msr_field_at(msr, i)); i++)
        if (field->exists(profile) &&
            !field->allows(profile, bits_get(value, field->hi, field->lo)))
            return false;
    return true;
}

uint64_t msr_legal(const struct msr *msr, uint64_t old, uint64_t value)
{
    const struct msr_field *field;

    for (unsigned i = 0; (field = msr_field_at(msr, i)); i++) {
        uint64_t bits = BITS(field->hi, field->lo);

        if (field->access == MSR_RO)
            value = (value & ~bits) | (old & bits);
        else if (field->access == MSR_ONES)
            value |= bits;
    }
    return value;
}
