/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where scenarios and their golden files lie: scenarios/PATH.yaml and golden/sdm/PATH.golden side
 * by side. */
#ifndef PTSIM_SIM_SCENARIO_TREE_H
#define PTSIM_SIM_SCENARIO_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "mistake.h"

struct path_list {
    char **path;
    size_t count;
};

/* All scenarios at or below the ARGC paths in ARGV, in order, those of a directory by name; with no
 * argument those of ./scenarios, or where there is none of the installed ones. False on a mistake:
 * a path that is not there, or nothing found. LIST then needs no path_list_free(). */
bool scenario_tree_list(struct path_list *list, int argc, char *const *argv,
                        struct mistake *mistake);
void path_list_free(struct path_list *list);

/* The golden file of the scenario at PATH, to be freed. NULL, and a mistake, where PATH is not
 * below a directory named scenarios. */
char *scenario_tree_golden(const char *path, struct mistake *mistake);

#endif
