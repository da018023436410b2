/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a scenario writes just before its first instruction: the MSRs of its key `msrs`, and where
 * the trace goes. */
#ifndef PTSIM_SIM_SCENARIO_MSRS_H
#define PTSIM_SIM_SCENARIO_MSRS_H

#include "../models/core/lp.h"
#include "scenario.h"

/* Writes ToPA tables to memory, and the MSRs through the bus, IA32_RTIT_CTL last, as WRMSRs of the
 * instruction before LP's first would. False on a mistake: an unknown name, or a write that is
 * #GP(0). */
bool scenario_msrs_write(const struct scenario *scenario, struct lp *lp);

#endif
