/* SPDX-License-Identifier: MIT */
/* The clocks of a logical processor: core clock, TSC and ART (SDM 33.8.3), all derived from the
 * core clocks that events charge. No host clock. */
#ifndef PTSIM_CLOCK_H
#define PTSIM_CLOCK_H

#include <stdint.h>

#include "profile.h"

struct clock {
    const struct cpu_profile *profile;
    uint64_t core; /* core clocks since reset */
};

void clock_init(struct clock *clock, const struct cpu_profile *profile);
/* TSC and ART at core clock CORE, which is not before the last change of ratio. */
uint64_t clock_tsc_at(const struct clock *clock, uint64_t core);
uint64_t clock_art_at(const struct clock *clock, uint64_t core);

#endif
