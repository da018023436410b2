/* SPDX-License-Identifier: MIT */
/* The clocks of a logical processor: core clock, TSC and ART (SDM 33.8.3), all derived from the
 * core clocks that events charge. No host clock. */
#ifndef PTSIM_CLOCK_H
#define PTSIM_CLOCK_H

#include <stdint.h>

#include "profile.h"

struct clock {
    const struct cpu_profile *profile;
    uint64_t core; /* core clocks since reset; below 2^56, which is years */
    uint64_t
        tsc_offset; /* added to the TSC: what a write of IA32_TSC left; ART has no part in it */
};

void clock_init(struct clock *clock, const struct cpu_profile *profile);
/* TSC and ART at core clock CORE. */
uint64_t clock_tsc_at(const struct clock *clock, uint64_t core);
uint64_t clock_art_at(const struct clock *clock, uint64_t core);
/* The first core clock at which ART is at least ART; ART as clock_art_at() could ever give it. */
uint64_t clock_core_at_art(const struct clock *clock, uint64_t art);
/* TSC ticks at core clock CORE since ART last moved on: the FastCounter of TMA (33.8.3.2). */
uint64_t clock_fast_counter_at(const struct clock *clock, uint64_t core);
/* Makes the TSC VALUE at the present core clock. */
void clock_set_tsc(struct clock *clock, uint64_t value);

#endif
