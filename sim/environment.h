/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The standard environment of scenarios (docs/scenarios.md) with what a scenario adds to it: all
 * that is in memory and in the registers when the first instruction is about to run, but for the
 * MSRs of its key `msrs`, which scenario_msrs.h writes. */
#ifndef PTSIM_SIM_ENVIRONMENT_H
#define PTSIM_SIM_ENVIRONMENT_H

#include "../models/core/lp.h"
#include "assemble.h"
#include "scenario.h"

/* Assembles the scenario's code, and adds its labels to scenario->symbols. With LISTING, the
 * assembly has lines. */
bool scenario_assemble(struct scenario *scenario, bool listing, struct assembly *code);

/* Sets up LP, which is in its state after power-on, and its zeroed memory. False on a mistake. */
bool environment_build(const struct scenario *scenario, const struct assembly *code, struct lp *lp);

/* The physical address of LINEAR in the page tables of ROOT, as environment_build() left them.
 * False where there is no memory. */
bool environment_find(const struct scenario *scenario, const struct lp *lp, uint64_t root,
                      uint64_t linear, uint64_t *phys);

#endif
