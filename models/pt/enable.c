/* SPDX-License-Identifier: MIT */
#include "enable.h"

#include "rtit_msr.h"

/* CR3 matches in bits 63:12, with PAE paging in bits 63:5 (33.2.5.2). */
static bool cr3_matches(const struct ipt *ipt, const struct ev_context *context)
{
    uint64_t compared = BITS(63, context->pae ? 5 : 12);

    return !((context->cr3 ^ ipt->cr3_match) & compared);
}

/* 33.2.6.3 */
static bool context_en(const struct ipt *ipt, const struct ev_context *context)
{
    uint64_t cpl_traced =
        context->cpl ? MSR_MASK(IA32_RTIT_CTL, User) : MSR_MASK(IA32_RTIT_CTL, OS);

    if (!(ipt->ctl & cpl_traced))
        return false;
    return !(ipt->ctl & MSR_MASK(IA32_RTIT_CTL, CR3Filter)) || cr3_matches(ipt, context);
}

struct ipt_enables ipt_enables_after(const struct ipt *ipt, const struct ev_context *context,
                                     bool lands, uint64_t ip)
{
    struct ipt_enables after = ipt->enables;

    after.context = context_en(ipt, context);
    /* FilterEn stands still while ContextEn is clear (33.2.6.5), so it is looked at when ContextEn
     * comes, however it came. */
    if (!after.context || !(lands || !ipt->enables.context))
        return after;
    after.filter = !ipt->filter.filter || ipt_filter_hit(ipt->addr, ipt->filter.filter, ip);
    if (ipt_filter_hit(ipt->addr, ipt->filter.stop, ip))
        after.trigger = after.filter = false; /* 33.4.2.9 */
    return after;
}
