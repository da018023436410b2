/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PTSIM_SIM_LIST_SCENARIOS_H
#define PTSIM_SIM_LIST_SCENARIOS_H

#include <stdbool.h>

/* Prints the scenarios at or below the COUNT paths in PATHS, or those of the default tree, with
 * title and citation. Returns ptsim's exit status. */
int list_scenarios(int count, char *const *paths, bool json);

#endif
