/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../models/pt/filter.h"

#include "pt_rig.h"

START_TEST(configuration)
{
    static const struct {
        uint64_t ctl;
        uint8_t filter, stop;
    } rows[] = {
        { 0, 0, 0 },
        { ~UINT64_C(0xffff00000000), 0, 0 },
        { UINT64_C(0x1) << 32, 1, 0 },
        { UINT64_C(0x2) << 32, 0, 1 },
        { UINT64_C(0x1212) << 32, 0xa, 0x5 },
        { UINT64_C(0x2001) << 32, 0x1, 0x8 },
        { UINT64_C(0x0120) << 32, 0x4, 0x2 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ipt_filter filter = ipt_filter_of_ctl(rows[i].ctl);

        ck_assert_uint_eq(filter.filter, rows[i].filter);
        ck_assert_uint_eq(filter.stop, rows[i].stop);
    }
}
END_TEST

static const uint64_t addr[IPT_RANGES_MAX][2] = {
    { 0x1000, 0x1fff },
    { UINT64_C(0xffff800000000000), ~UINT64_C(0) },
    { 0x3000, 0x3000 },
    { 0x5000, 0x4fff }, /* the limit below the base: an empty range */
};

static const struct {
    uint8_t ranges;
    uint64_t ip;
    bool hit;
} hits[] = {
    { 0xf, 0xfff, false },
    { 0xf, 0x1000, true },
    { 0xf, 0x1fff, true },
    { 0xf, 0x2000, false },
    { 0xe, 0x1800, false },
    { 0xf, UINT64_C(0x7fffffffffff), false },
    { 0x2, UINT64_C(0xffff800000000000), true },
    { 0x2, ~UINT64_C(0), true },
    { 0xd, ~UINT64_C(0), false },
    { 0x4, 0x2fff, false },
    { 0x4, 0x3000, true },
    { 0x4, 0x3001, false },
    { 0x8, 0x5000, false },
    { 0x8, 0x4fff, false },
    { 0x0, 0x1000, false },
};

START_TEST(hit)
{
    ck_assert_int_eq(ipt_filter_hit(addr, hits[_i].ranges, hits[_i].ip), hits[_i].hit);
}
END_TEST

/* Several ranges filter together: from one into the other tracing goes on. */
START_TEST(several)
{
    struct rig *rig = rig_new("max");
    const struct ev_context start = CONTEXT_64(0, 0x5000);
    const struct ptsim_event events[] = {
        NEAR(JMP_DIRECT, 0x100, 2, 0x1000),
        NEAR(JMP_DIRECT, 0x1000, 2, 0x3000),
        COND(false, 0x3000, 0x100),
        NEAR(JMP_INDIRECT, 0x3002, 2, 0x1fff),
        NEAR(JMP_INDIRECT, 0x1fff, 2, 0x2000),
        { .from_ip = 0 },
    };

    memcpy(rig->ipt.addr, addr, sizeof(addr));
    rig_ctl(rig, CTL_BRANCHES | CTL_(ADDR0_CFG, 1) | CTL_(ADDR2_CFG, 1), 0xfe, &start);
    rig_take(rig);
    rig_events(rig, events, 1);
    ck_assert_str_eq(rig_take(rig), "MODE.Exec(64) TIP.PGE(1,0x1000) TNT(0) TIP(1,0x1fff) "
                                    "TIP.PGD(1,0x2000)");
    free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("filter");
    TCase *tcase = tcase_create("filter");

    tcase_add_test(tcase, configuration);
    tcase_add_loop_test(tcase, hit, 0, TEST_COUNT(hits));
    tcase_add_test(tcase, several);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
