/* SPDX-License-Identifier: MIT */
#include "clock.h"

/* The TSC counts at max_non_turbo_ratio times the bus clock, the core at core_ratio times it. */
static uint64_t tsc_ticks(const struct clock *clock, uint64_t core)
{
    const struct cpu_profile *p = clock->profile;

    return core * p->max_non_turbo_ratio / p->core_ratio;
}

void clock_init(struct clock *clock, const struct cpu_profile *profile)
{
    *clock = (struct clock){ .profile = profile };
}

uint64_t clock_tsc_at(const struct clock *clock, uint64_t core)
{
    return tsc_ticks(clock, core) + clock->tsc_offset;
}

/* VALUE * NUM / DEN, rounded down or up, where the result fits but the product need not. */
static uint64_t scale_down(uint64_t value, uint32_t num, uint32_t den)
{
    return value / den * num + value % den * num / den;
}

static uint64_t scale_up(uint64_t value, uint32_t num, uint32_t den)
{
    return value / den * num + (value % den * num + den - 1) / den;
}

uint64_t clock_art_at(const struct clock *clock, uint64_t core)
{
    const struct cpu_profile *p = clock->profile;

    return scale_down(tsc_ticks(clock, core), p->tsc_ratio_den, p->tsc_ratio_num);
}

uint64_t clock_core_at_art(const struct clock *clock, uint64_t art)
{
    const struct cpu_profile *p = clock->profile;
    uint64_t tsc = scale_up(art, p->tsc_ratio_num, p->tsc_ratio_den);

    return scale_up(tsc, p->core_ratio, p->max_non_turbo_ratio);
}

uint64_t clock_fast_counter_at(const struct clock *clock, uint64_t core)
{
    const struct cpu_profile *p = clock->profile;
    uint64_t edge = scale_up(clock_art_at(clock, core), p->tsc_ratio_num, p->tsc_ratio_den);

    return tsc_ticks(clock, core) - edge;
}

void clock_set_tsc(struct clock *clock, uint64_t value)
{
    clock->tsc_offset = value - tsc_ticks(clock, clock->core);
}
