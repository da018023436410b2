/* SPDX-License-Identifier: MIT */
/* The clocks of a logical processor: core clock, TSC and ART (SDM 33.8.3), all derived from the
 * core clocks that events charge. No host clock.
 *
 * The core clock can stop, while TSC and ART go on, and it can change its frequency. */
#ifndef PTSIM_CLOCK_H
#define PTSIM_CLOCK_H

#include <stdint.h>

#include "profile.h"

struct clock {
    const struct cpu_profile *profile;
    uint64_t core;      /* core clocks since reset; below 2^56, which is years */
    uint8_t core_ratio; /* core frequency over the bus clock, since core clock SINCE_CORE; not 0 */
    uint64_t since_core;
    uint64_t since_tsc; /* TSC ticks from reset to there */
    uint64_t
        tsc_offset; /* added to the TSC: what a write of IA32_TSC left; ART has no part in it */
};

void clock_init(struct clock *clock, const struct cpu_profile *profile);
/* TSC and ART at core clock CORE, which is not before SINCE_CORE. */
uint64_t clock_tsc_at(const struct clock *clock, uint64_t core);
uint64_t clock_art_at(const struct clock *clock, uint64_t core);
/* The first core clock, from SINCE_CORE on, at which ART is at least ART; ART as clock_art_at()
 * could ever give it. */
uint64_t clock_core_at_art(const struct clock *clock, uint64_t art);
/* The same for the TSC. */
uint64_t clock_core_at_tsc(const struct clock *clock, uint64_t tsc);
/* TSC ticks at core clock CORE since ART last moved on: the FastCounter of TMA (33.8.3.2). */
uint64_t clock_fast_counter_at(const struct clock *clock, uint64_t core);
/* Makes the TSC VALUE at the present core clock. */
void clock_set_tsc(struct clock *clock, uint64_t value);
/* The core clock stands still while the TSC counts TICKS. */
void clock_stand_still(struct clock *clock, uint64_t ticks);
/* From now on the core has RATIO times the frequency of the bus clock; not 0. What there is of a
 * TSC tick is dropped. */
void clock_set_core_ratio(struct clock *clock, uint8_t ratio);

#endif
