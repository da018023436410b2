/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event names of Linux perf for Intel PT: intel_pt/TERMS/u. */
#ifndef PTSIM_SIM_PERF_TERMS_H
#define PTSIM_SIM_PERF_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../models/profile.h"

/* What EVENT asks for, as bits of IA32_RTIT_CTL (SDM 33.2.8.2), TraceEn and the output bits clear.
 * As with perf, the terms change a default of tsc, branch, mtc with mtc_period=3 and psb_period=3,
 * as far as PROFILE has them; a term without a value is 1. The modifier must be u: user mode alone
 * is traced.
 *
 * False where EVENT is malformed, names an unknown term or asks for what PROFILE does not support;
 * ERROR then holds one line of what was wrong and what was expected, and *CTL is unchanged. */
bool perf_terms_parse(const char *event, const struct cpu_profile *profile, uint64_t *ctl,
                      char *error, size_t error_size);

#endif
