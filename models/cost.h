/* SPDX-License-Identifier: MIT */
/* The classes of the cost model (cost.def), for whoever counts the cycles that events carry. */
#ifndef PTSIM_COST_H
#define PTSIM_COST_H

#include "profile.h"

enum cost_class {
#define COST(id, name, cycles, meaning) COST_##id,
#include "cost.def"
#undef COST
    COST_CLASSES
};

/* The core clocks that an instruction of CLASS takes on a processor of PROFILE: 1 or more. */
static inline uint32_t cost_cycles(const struct cpu_profile *profile, enum cost_class cost)
{
    const uint16_t cycles[] = {
#define COST(id, name, cycles, meaning) profile->cost_##name,
#include "cost.def"
#undef COST
    };

    return cycles[cost] ? cycles[cost] : 1;
}

#endif
