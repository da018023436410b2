/* SPDX-License-Identifier: MIT */
#include "xstate.h"

#include "../pt/rtit_msr.h"
#include "msr.h"

/* Table 33-13, in the layout's order. */
static const uint32_t layout[XSTATE_PT_WORDS] = {
    IA32_RTIT_CTL,     IA32_RTIT_OUTPUT_BASE, IA32_RTIT_OUTPUT_MASK_PTRS,
    IA32_RTIT_STATUS,  IA32_RTIT_CR3_MATCH,   IA32_RTIT_ADDR0_A,
    IA32_RTIT_ADDR0_B, IA32_RTIT_ADDR1_A,     IA32_RTIT_ADDR1_B,
};

/* Of the output pointers the lowest 7 bits are always set, and mean nothing. */
static uint64_t meaning(uint32_t index, uint64_t value)
{
    return index == IA32_RTIT_OUTPUT_MASK_PTRS
               ? value & ~MSR_MASK(IA32_RTIT_OUTPUT_MASK_PTRS, LowerMask)
               : value;
}

static uint64_t word_of(const struct ipt *pt, unsigned i)
{
    const uint64_t words[XSTATE_PT_WORDS] = { pt->ctl,        pt->output_base, pt->output_mask_ptrs,
                                              pt->status,     pt->cr3_match,   pt->addr[0][0],
                                              pt->addr[0][1], pt->addr[1][0],  pt->addr[1][1] };

    return words[i];
}

bool lp_pt_in_use(const struct lp *lp)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < XSTATE_PT_WORDS; i++)
        all |= meaning(layout[i], word_of(&lp->pt, i));
    return all != 0;
}

void lp_xsaves_pt(struct lp *lp, uint64_t words[XSTATE_PT_WORDS], const struct ptsim_event *event)
{
    uint64_t ctl = lp->pt.ctl;

    lp->clock.core += event->cycles;
    ipt_write_ctl(&lp->pt, ctl & ~MSR_MASK(IA32_RTIT_CTL, TraceEn), event);
    for (unsigned i = 0; i < XSTATE_PT_WORDS; i++)
        words[i] = layout[i] == IA32_RTIT_CTL ? ctl : word_of(&lp->pt, i);
}

static bool restorable(const struct lp *lp, uint32_t index, uint64_t value)
{
    const struct msr *msr = msr_find(index);

    if (!msr->exists(lp->profile))
        return value == 0;
    return msr_allows(msr, lp->profile, value) && ipt_wrmsr_allowed(&lp->pt, index, value);
}

struct arch_fault lp_xrstors_pt(struct lp *lp, const uint64_t words[XSTATE_PT_WORDS],
                                const struct ptsim_event *event)
{
    struct ptsim_event quiet = *event;

    if (lp->pt.ctl & MSR_MASK(IA32_RTIT_CTL, TraceEn))
        return arch_fault_error(ARCH_GP, 0);
    for (unsigned i = 0; i < XSTATE_PT_WORDS; i++)
        if (!restorable(lp, layout[i], words[i]))
            return arch_fault_error(ARCH_GP, 0);
    quiet.cycles = 0;
    quiet.insns = 0;
    for (unsigned i = XSTATE_PT_WORDS - 1; i > 0; i--)
        (void)lp_wrmsr(lp, layout[i], words[i], &quiet);
    return lp_wrmsr(lp, layout[0], words[0], event);
}
