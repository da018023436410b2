/* SPDX-License-Identifier: MIT */
#include "../bits.h"
#include "lp.h"

enum {
    EAX,
    EBX,
    ECX,
    EDX
};

/* What a leaf gives; the leaf is one that the processor has, or all registers are 0. */
static void leaf_registers(const struct lp *lp, uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
    const struct cpu_profile *p = lp->profile;

    regs[EAX] = regs[EBX] = regs[ECX] = regs[EDX] = 0;
#define ALL       UINT32_MAX
#define PT(value) (p->pt ? (value) : 0)
#define CPUID(leaf_, subleaf_, reg, hi, lo, name, value)                                           \
    if (leaf == (leaf_) && ((subleaf_) == ALL || subleaf == (subleaf_)))                           \
        regs[reg] |= (uint32_t)bits_put(0, hi, lo, (uint64_t)(value));
#include "cpuid.def"
}

void lp_cpuid(const struct lp *lp, uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
    uint32_t max_extended[4];

    leaf_registers(lp, 0x80000000, 0, max_extended);
    /* Beyond the last leaf of either kind: the data of the highest basic leaf, at the same
     * sub-leaf. */
    if (leaf < 0x80000000 ? leaf > lp->profile->max_basic_leaf : leaf > max_extended[EAX])
        leaf = lp->profile->max_basic_leaf;
    leaf_registers(lp, leaf, subleaf, regs);
}
