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

uint64_t clock_art_at(const struct clock *clock, uint64_t core)
{
    const struct cpu_profile *p = clock->profile;

    /* Whole and rest apart, for the product not to overflow. */
    uint64_t tsc = tsc_ticks(clock, core);
    uint64_t whole = tsc / p->tsc_ratio_num, rest = tsc % p->tsc_ratio_num;

    return whole * p->tsc_ratio_den + rest * p->tsc_ratio_den / p->tsc_ratio_num;
}

void clock_set_tsc(struct clock *clock, uint64_t value)
{
    clock->tsc_offset = value - tsc_ticks(clock, clock->core);
}
