/* SPDX-License-Identifier: MIT */
#include "rtit_msr.h"

void ipt_msrs_reset(struct ipt *ipt)
{
#define RTIT(member)                                 member
#define MSR(index, name, at, exists, reset, section) ipt->at = (reset);
#define FIELD(msr, name, hi, lo, access, exists, allows, meaning)
#include "rtit_msrs.def"
#undef MSR
#undef FIELD
#undef RTIT
}

static bool output_scheme_exists(const struct cpu_profile *profile, uint64_t ctl)
{
    bool single_range =
        !(ctl & (MSR_MASK(IA32_RTIT_CTL, ToPA) | MSR_MASK(IA32_RTIT_CTL, FabricEn)));

    return !single_range || profile->pt_single_range;
}

static bool ctl_allowed(const struct ipt *ipt, uint64_t value)
{
    const uint64_t trace_en = MSR_MASK(IA32_RTIT_CTL, TraceEn);

    if (!(value & trace_en))
        return true;
    if (ipt->ctl & trace_en)
        return value == ipt->ctl;
    return output_scheme_exists(ipt->profile, value);
}

bool ipt_wrmsr_allowed(const struct ipt *ipt, uint32_t index, uint64_t value)
{
    if (index == IA32_RTIT_CTL)
        return ctl_allowed(ipt, value);
    return !(ipt->ctl & MSR_MASK(IA32_RTIT_CTL, TraceEn));
}
