/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../sim/perf_terms.h"

#include <string.h>

#include "suite.h"

/* IA32_RTIT_CTL as SDM table 33-6 lays it out, spelt out here once more on purpose. */
#define USER     (1ull << 3)
#define DEFAULTS (USER | 1ull << 10 | 1ull << 13 | 1ull << 9 | 3ull << 14 | 3ull << 24)

static const struct {
    const char *event;
    const char *profile;
    uint64_t ctl;
} good[] = {
    { "intel_pt//u", "max", DEFAULTS },
    { "intel_pt/branch/u", "max", DEFAULTS },
    { "intel_pt/branch=0/u", "max", DEFAULTS & ~(1ull << 13) },
    { "intel_pt/tsc=0,mtc=0/u", "max", DEFAULTS & ~(1ull << 10 | 1ull << 9) },
    { "intel_pt/cyc/u", "max", DEFAULTS | 1ull << 1 },
    { "intel_pt/cyc=1,cyc_thresh=15/u", "max", DEFAULTS | 1ull << 1 | 15ull << 19 },
    { "intel_pt/pwr_evt/u", "max", DEFAULTS | 1ull << 4 },
    { "intel_pt/ptw,fup_on_ptw/u", "max", DEFAULTS | 1ull << 12 | 1ull << 5 },
    { "intel_pt/noretcomp/u", "max", DEFAULTS | 1ull << 11 },
    { "intel_pt/mtc_period=0x9/u", "max", DEFAULTS ^ (3ull ^ 9ull) << 14 },
    { "intel_pt/psb_period=0/u", "max", DEFAULTS & ~(15ull << 24) },
    { "intel_pt/psb_period=0,psb_period=5/u", "max", DEFAULTS ^ (3ull ^ 5ull) << 24 },
    { "intel_pt/event,notnt/u", "max", DEFAULTS | 1ull << 31 | 1ull << 55 },
    { "intel_pt/pt=0/u", "max", DEFAULTS },
    { "intel_pt//u", "skylake", DEFAULTS },
    { "intel_pt/mtc_period=6/u", "skylake", DEFAULTS ^ (3ull ^ 6ull) << 14 },
    { "intel_pt//u", "broadwell", USER | 1ull << 10 | 1ull << 13 },
};

static const struct {
    const char *event;
    const char *profile;
    const char *error; /* how the line starts */
} bad[] = {
    { "", "max", "expected intel_pt/TERMS/u" },
    { "cycles:u", "max", "expected intel_pt/TERMS/u" },
    { "intel_pt", "max", "expected intel_pt/TERMS/u" },
    { "intel_pt/tsc", "max", "expected a second '/' after the terms" },
    { "intel_pt//", "max", "only user mode can be recorded" },
    { "intel_pt//k", "max", "only user mode can be recorded" },
    { "intel_pt//uk", "max", "only user mode can be recorded" },
    { "intel_pt/speed/u", "max", "unknown term 'speed'; expected one of pt cyc " },
    { "intel_pt/mt/u", "max", "unknown term 'mt'" },
    { "intel_pt/,tsc/u", "max", "unknown term ''" },
    { "intel_pt/=1/u", "max", "unknown term ''" },
    { "intel_pt/tsc=/u", "max", "'tsc=': expected a number" },
    { "intel_pt/tsc=-1/u", "max", "'tsc=-1': expected a number" },
    { "intel_pt/tsc=1x/u", "max", "'tsc=1x': expected a number" },
    { "intel_pt/tsc= 1/u", "max", "'tsc= 1': expected a number" },
    { "intel_pt/tsc=2/u", "max", "'tsc=2' is out of range: at most 1" },
    { "intel_pt/psb_period=16/u", "max", "'psb_period=16' is out of range: at most 15" },
    { "intel_pt/psb_period=99999999999999999999/u", "max", "'psb_period=99999999999999999999' is" },
    { "intel_pt/psb_period/u", "max", "term 'psb_period' needs a value" },
    { "intel_pt/fup_on_ptw/u", "max", "fup_on_ptw without ptw" },
    { "intel_pt/mtc_period=1/u", "skylake",
      "'mtc_period=1' is not supported by the profile skylake" },
    { "intel_pt/ptw/u", "skylake", "'ptw' is not supported by the profile skylake" },
    { "intel_pt/cyc/u", "broadwell", "'cyc' is not supported by the profile broadwell" },
};

START_TEST(good_event)
{
    const struct cpu_profile *profile = cpu_profile_find(good[_i].profile);
    char error[256] = "none";
    uint64_t ctl = 0;

    ck_assert_ptr_nonnull(profile);
    ck_assert_msg(perf_terms_parse(good[_i].event, profile, &ctl, error, sizeof(error)), "%s: %s",
                  good[_i].event, error);
    ck_assert_msg(ctl == good[_i].ctl, "%s: %#llx, expected %#llx", good[_i].event,
                  (unsigned long long)ctl, (unsigned long long)good[_i].ctl);
}
END_TEST

START_TEST(bad_event)
{
    const struct cpu_profile *profile = cpu_profile_find(bad[_i].profile);
    char error[256] = "";
    uint64_t ctl = 0x5a;

    ck_assert_ptr_nonnull(profile);
    ck_assert(!perf_terms_parse(bad[_i].event, profile, &ctl, error, sizeof(error)));
    ck_assert_msg(!strncmp(error, bad[_i].error, strlen(bad[_i].error)), "%s: %s", bad[_i].event,
                  error);
    ck_assert_ptr_null(strchr(error, '\n'));
    ck_assert_uint_eq(ctl, 0x5a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("perf_terms");
    TCase *tcase = tcase_create("parse");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, good_event, 0, TEST_COUNT(good));
    tcase_add_loop_test(tcase, bad_event, 0, TEST_COUNT(bad));
    return suite_run(suite);
}
