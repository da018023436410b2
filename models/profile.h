/* SPDX-License-Identifier: MIT */
/* CPU profiles: what CPUID says, and what the core chooses where the manual leaves it open.
 *
 * The fields are in profile.def, one row each with its default (that of profile `max`, which
 * has everything the manual describes), its meaning and its source; the profiles are in
 * profiles.def, each as what it changes. */
#ifndef PTSIM_PROFILE_H
#define PTSIM_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_profile {
    const char *name;
    const char *title;
#define FIELD(type, name, value, meaning) type name;
#include "profile.def"
#undef FIELD
};

/* The profile of that name, or NULL. */
const struct cpu_profile *cpu_profile_find(const char *name);
/* The profile at INDEX in the table's order, or NULL at its end. */
const struct cpu_profile *cpu_profile_at(unsigned index);

#endif
