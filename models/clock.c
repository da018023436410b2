/* SPDX-License-Identifier: MIT */
#include "clock.h"

/* The TSC counts at max_non_turbo_ratio times the bus clock, the core at core_ratio times it. */
static uint64_t tsc_ticks(const struct clock *clock, uint64_t core)
{
    uint64_t since = core - clock->since_core;

    return clock->since_tsc + since * clock->profile->max_non_turbo_ratio / clock->core_ratio;
}

void clock_init(struct clock *clock, const struct cpu_profile *profile)
{
    *clock = (struct clock){ .profile = profile, .core_ratio = profile->core_ratio };
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

static uint64_t core_at_ticks(const struct clock *clock, uint64_t ticks)
{
    if (ticks <= clock->since_tsc)
        return clock->since_core;
    return clock->since_core + scale_up(ticks - clock->since_tsc, clock->core_ratio,
                                        clock->profile->max_non_turbo_ratio);
}

uint64_t clock_core_at_art(const struct clock *clock, uint64_t art)
{
    const struct cpu_profile *p = clock->profile;

    return core_at_ticks(clock, scale_up(art, p->tsc_ratio_num, p->tsc_ratio_den));
}

uint64_t clock_core_at_tsc(const struct clock *clock, uint64_t tsc)
{
    return core_at_ticks(clock, tsc - clock->tsc_offset);
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

void clock_stand_still(struct clock *clock, uint64_t ticks)
{
    clock->since_tsc = tsc_ticks(clock, clock->core) + ticks;
    clock->since_core = clock->core;
}

void clock_set_core_ratio(struct clock *clock, uint8_t ratio)
{
    clock_stand_still(clock, 0);
    clock->core_ratio = ratio;
}
