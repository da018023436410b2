/* SPDX-License-Identifier: MIT */
/* The IA32_RTIT_* MSRs: their addresses, the names of their bits, and the rules that go beyond
 * one field (SDM 33.2.8). The rules of single fields are rows of rtit_msrs.def.
 *
 * MSR_MASK(IA32_RTIT_CTL, TraceEn) is a bit as a mask, MSR_GET(ctl, IA32_RTIT_CTL, MTCFreq) the
 * value of a field. */
#ifndef PTSIM_PT_RTIT_MSR_H
#define PTSIM_PT_RTIT_MSR_H

#include <stdbool.h>
#include <stdint.h>

#include "../msr.h"
#include "ipt.h"

enum rtit_msr {
#define MSR(index, name, at, exists, reset, section) name = (index),
#define FIELD(msr, name, hi, lo, access, exists, allows, meaning)
#include "rtit_msrs.def"
#undef MSR
#undef FIELD
};

enum rtit_field {
#define MSR(index, name, at, exists, reset, section)
#define FIELD(msr, name, hi, lo, access, exists, allows, meaning)                                  \
    msr##_##name##_HI = (hi), msr##_##name##_LO = (lo),
#include "rtit_msrs.def"
#undef MSR
#undef FIELD
};

/* Every MSR to its value after a cold reset (33.2.8.1). */
void ipt_msrs_reset(struct ipt *ipt);

/* Whether a write of VALUE to the IA32_RTIT_* MSR at INDEX is allowed in the present state, else
 * it is #GP(0). VALUE has no reserved bit and no reserved encoding. What is checked:
 * - With TraceEn set nothing can be written but IA32_RTIT_CTL, and that only with the value it
 *   has or with one that clears TraceEn (33.2.8.1, 33.2.8.3).
 * - TraceEn cannot be set without an output scheme that the processor has (table 33-6, ToPA). */
bool ipt_wrmsr_allowed(const struct ipt *ipt, uint32_t index, uint64_t value);

#endif
