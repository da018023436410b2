/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../models/profile.h"

#include <string.h>

#include "suite.h"

static const char *const names[] = { "max",      "skylake", "broadwell", "icelake", "flat",
                                     "deferred", "ia32",    "atom32",    "nopt" };

START_TEST(find_by_name)
{
    const struct cpu_profile *profile = cpu_profile_find(names[_i]);

    ck_assert_ptr_nonnull(profile);
    ck_assert_str_eq(profile->name, names[_i]);
    ck_assert_ptr_eq(cpu_profile_at((unsigned)_i), profile);
}
END_TEST

START_TEST(find_nothing)
{
    ck_assert_ptr_null(cpu_profile_find("pentium"));
    ck_assert_ptr_null(cpu_profile_find(""));
    ck_assert_ptr_null(cpu_profile_at(TEST_COUNT(names)));
    ck_assert_ptr_null(cpu_profile_at(~0u));
}
END_TEST

/* What the models take for granted of every profile. */
START_TEST(is_sound)
{
    const struct cpu_profile *p = cpu_profile_find(names[_i]);

    ck_assert_str_ne(p->title, "");
    ck_assert_uint_ge(p->maxphyaddr, 36);
    ck_assert_uint_le(p->maxphyaddr, 52);
    ck_assert(p->linear_width == 48 || p->linear_width == 57);
    ck_assert_uint_le(p->pt_ranges, 4);
    ck_assert_int_eq(p->pt_ip_filter, p->pt_ranges > 0);
    ck_assert(!p->pt_topa_multi || p->pt_topa);
    /* Encoding 0 is what the registers reset to. */
    ck_assert(!p->pt_mtc || (p->pt_mtc_freqs & 1));
    ck_assert(!p->pt_psb_cyc || (p->pt_cyc_thresholds & p->pt_psb_freqs & 1));
    /* The TSC counts as fast by the crystal clock as by the 100 MHz bus clock. */
    ck_assert_uint_ne(p->core_ratio, 0);
    ck_assert_uint_eq((uint64_t)p->crystal_hz * p->tsc_ratio_num,
                      (uint64_t)p->max_non_turbo_ratio * 100000000 * p->tsc_ratio_den);
}
END_TEST

/* A profile keeps what it does not change, and what it changes it keeps to itself. */
START_TEST(changes_only_its_own)
{
    const struct cpu_profile *max = cpu_profile_find("max");
    const struct cpu_profile *nopt = cpu_profile_find("nopt");

    ck_assert(max->pt);
    ck_assert(!nopt->pt);
    ck_assert_uint_eq(nopt->signature, max->signature);
    ck_assert_uint_eq(nopt->pt_psb_freqs, 0xffff);
    ck_assert(!cpu_profile_find("broadwell")->pt_topa_multi);
    ck_assert(cpu_profile_find("skylake")->pt_topa_multi);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile");
    TCase *tcase = tcase_create("profile");

    tcase_add_loop_test(tcase, find_by_name, 0, TEST_COUNT(names));
    tcase_add_test(tcase, find_nothing);
    tcase_add_loop_test(tcase, is_sound, 0, TEST_COUNT(names));
    tcase_add_test(tcase, changes_only_its_own);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
