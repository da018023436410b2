/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../models/clock.h"

#include "suite.h"

/* Core clocks, and what the TSC and ART then show, worked out by hand. */
static const struct {
    uint8_t core_ratio, tsc_ratio; /* over the bus clock */
    uint32_t num, den;             /* TSC over ART */
    uint64_t core, tsc, art;
} rows[] = {
    { 21, 21, 84, 1, 0, 0, 0 },
    { 21, 21, 84, 1, 83, 83, 0 },
    { 21, 21, 84, 1, 84, 84, 1 },
    { 21, 21, 168, 2, 83, 83, 0 },
    { 21, 21, 168, 2, 84, 84, 1 },
    { 42, 21, 84, 1, 167, 83, 0 }, /* the core twice as fast as the TSC */
    { 42, 21, 84, 1, 168, 84, 1 },
    { 7, 21, 84, 1, 28, 84, 1 }, /* and a third */
    { 8, 21, 84, 1, 8, 21, 0 },
    { 8, 21, 84, 1, 9, 23, 0 },
    { 21, 21, 84, 1, UINT64_C(84) << 49, UINT64_C(84) << 49, UINT64_C(1) << 49 },
    { 10, 20, 200, 3, 100, 200, 3 },
    { 10, 20, 200, 3, 99, 198, 2 },
};

START_TEST(ticks)
{
    struct cpu_profile profile = { .core_ratio = rows[_i].core_ratio,
                                   .max_non_turbo_ratio = rows[_i].tsc_ratio,
                                   .tsc_ratio_num = rows[_i].num,
                                   .tsc_ratio_den = rows[_i].den };
    struct clock clock;

    clock_init(&clock, &profile);
    ck_assert_uint_eq(clock.core, 0);
    ck_assert_uint_eq(clock_tsc_at(&clock, rows[_i].core), rows[_i].tsc);
    ck_assert_uint_eq(clock_art_at(&clock, rows[_i].core), rows[_i].art);
}
END_TEST

/* When ART moves on, and the FastCounter from there: by counting, from a clock near 0 and from one
 * after years. */
START_TEST(art_edges)
{
    static const uint64_t origins[] = { 0, (UINT64_C(1) << 56) - 100000 };
    struct cpu_profile profile = { .core_ratio = rows[_i].core_ratio,
                                   .max_non_turbo_ratio = rows[_i].tsc_ratio,
                                   .tsc_ratio_num = rows[_i].num,
                                   .tsc_ratio_den = rows[_i].den };
    struct clock clock;

    clock_init(&clock, &profile);
    for (int i = 0; i < 2; i++) {
        uint64_t art = clock_art_at(&clock, origins[i]), edge = 0;

        for (uint64_t core = origins[i] + 1; core < origins[i] + 3000; core++) {
            uint64_t now = clock_art_at(&clock, core);

            ck_assert_uint_ge(now, art);
            for (uint64_t next = art + 1; next <= now; next++)
                ck_assert_uint_eq(clock_core_at_art(&clock, next), core);
            if (now != art)
                edge = core;
            art = now;
            /* With one core clock a TSC tick, it counts from the edge. */
            if (edge && rows[_i].core_ratio == rows[_i].tsc_ratio)
                ck_assert_uint_eq(clock_fast_counter_at(&clock, core), core - edge);
            ck_assert_uint_lt(clock_fast_counter_at(&clock, core) * rows[_i].den, rows[_i].num);
        }
    }
}
END_TEST

/* A write moves the TSC, forth or back, and leaves ART. */
START_TEST(set_tsc)
{
    static const uint64_t values[] = { 0, 1, 1000, ~UINT64_C(0) };
    struct clock clock;

    clock_init(&clock, cpu_profile_find("max"));
    clock.core = 8400;
    clock_set_tsc(&clock, values[_i]);
    ck_assert_uint_eq(clock_tsc_at(&clock, 8400), values[_i]);
    ck_assert_uint_eq(clock_tsc_at(&clock, 8410), values[_i] + 10);
    ck_assert_uint_eq(clock_art_at(&clock, 8400), 100);
}
END_TEST

/* The core clock stops while the others go on, and goes on faster or slower. */
START_TEST(stop_and_ratio)
{
    struct cpu_profile profile = {
        .core_ratio = 21, .max_non_turbo_ratio = 21, .tsc_ratio_num = 84, .tsc_ratio_den = 1
    };
    struct clock clock;

    clock_init(&clock, &profile);
    clock.core = 100;
    clock_stand_still(&clock, 1000);
    ck_assert_uint_eq(clock.core, 100);
    ck_assert_uint_eq(clock_tsc_at(&clock, 100), 1100);
    ck_assert_uint_eq(clock_art_at(&clock, 100), 13);
    ck_assert_uint_eq(clock_fast_counter_at(&clock, 100), 8);
    /* ART was 5 while the clock stood still: it is at 100 that it is seen. */
    ck_assert_uint_eq(clock_core_at_art(&clock, 5), 100);
    ck_assert_uint_eq(clock_core_at_art(&clock, 14), 176);
    clock_set_core_ratio(&clock, 7);
    ck_assert_uint_eq(clock_tsc_at(&clock, 110), 1130);
    ck_assert_uint_eq(clock_core_at_tsc(&clock, 1130), 110);
    ck_assert_uint_eq(clock_core_at_tsc(&clock, 1131), 111);
    clock.core = 110;
    clock_set_core_ratio(&clock, 63);
    ck_assert_uint_eq(clock_tsc_at(&clock, 110), 1130);
    ck_assert_uint_eq(clock_tsc_at(&clock, 112), 1130);
    ck_assert_uint_eq(clock_tsc_at(&clock, 113), 1131);
    clock_set_tsc(&clock, 5000);
    ck_assert_uint_eq(clock_core_at_tsc(&clock, 5001), 113);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock");
    TCase *tcase = tcase_create("clock");

    tcase_add_loop_test(tcase, ticks, 0, TEST_COUNT(rows));
    tcase_add_loop_test(tcase, art_edges, 0, TEST_COUNT(rows));
    tcase_add_loop_test(tcase, set_tsc, 0, 4);
    tcase_add_test(tcase, stop_and_ratio);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
