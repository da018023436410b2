/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt_rig.h"

#define K     CONTEXT_64(0, 0x5000)
#define U     CONTEXT_64(3, 0x5000)
#define TIMED (CTL_BRANCHES | CTL(MTCEn) | CTL(TSCEn))

/* PSB+ of a PSB in the middle of tracing: 33.3.7. At core clock 1000, ART 11, 76 TSC ticks after.
 */
static const struct {
    const char *title;
    const char *profile;
    uint64_t ctl;
    struct ev_context context;
    const char *packets;
} rows[] = {
    { "all", "max", TIMED, K,
      "PSB TSC(0x3e8) TMA(0xb,0x4c) PIP(0x5000) CBR(0x15) MODE.TSX(0,0) MODE.Exec(64) "
      "FUP(1,0x1000) PSBEND" },
    { "no MTC", "max", CTL_BRANCHES | CTL(TSCEn), K,
      "PSB TSC(0x3e8) PIP(0x5000) CBR(0x15) MODE.TSX(0,0) MODE.Exec(64) FUP(1,0x1000) PSBEND" },
    { "no TSC", "max", CTL_BRANCHES | CTL(MTCEn), K,
      "PSB PIP(0x5000) CBR(0x15) MODE.TSX(0,0) MODE.Exec(64) FUP(1,0x1000) PSBEND" },
    { "no OS", "max", TIMED & ~CTL(OS), U,
      "PSB TSC(0x3e8) TMA(0xb,0x4c) CBR(0x15) MODE.TSX(0,0) MODE.Exec(64) FUP(1,0x1000) PSBEND" },
    { "no context", "max", TIMED & ~CTL(OS), K, "PSB TSC(0x3e8) TMA(0xb,0x4c) CBR(0x15) PSBEND" },
    { "out of the range", "max", TIMED | CTL_(ADDR0_CFG, 1), K,
      "PSB TSC(0x3e8) TMA(0xb,0x4c) PIP(0x5000) CBR(0x15) MODE.TSX(0,0) PSBEND" },
    { "no branches", "max", TIMED & ~CTL(BranchEn), K,
      "PSB TSC(0x3e8) TMA(0xb,0x4c) PIP(0x5000) CBR(0x15) PSBEND" },
    { "32-bit code", "max", CTL_BRANCHES, CONTEXT_32(3, 0x5000),
      "PSB PIP(0x5000) CBR(0x15) MODE.TSX(0,0) MODE.Exec(32) FUP(1,0x1000) PSBEND" },
    { "cycles", "max", CTL_BRANCHES | CTL(CYCEn) | CTL(TSCEn), K,
      "PSB CYC(900) TSC(0x3e8) PIP(0x5000) CBR(0x15) MODE.TSX(0,0) MODE.Exec(64) FUP(1,0x1000) "
      "PSBEND" },
    { "skylake", "skylake", TIMED, K,
      "PSB MODE.TSX(0,0) MODE.Exec(64) FUP(3,0x1000) PIP(0x5000) TSC(0x3e8) TMA(0xb,0x4c) "
      "CBR(0x15) PSBEND" },
    { "icelake", "icelake", TIMED, K,
      "PSB TSC(0x3e8) TMA(0xb,0x4c) MODE.TSX(0,0) MODE.Exec(64) FUP(6,0x1000) PIP(0x5000) "
      "CBR(0x15) PSBEND" },
    { "broadwell", "broadwell", CTL_BRANCHES & ~CTL(OS), U,
      "PSB CBR(0x15) MODE.TSX(0,0) MODE.Exec(64) FUP(3,0x1000) PSBEND" },
};

START_TEST(contents)
{
    struct rig *rig = rig_new(rows[_i].profile);
    const struct ptsim_event jump = NEAR(JMP_DIRECT, 0x1000, 2, 0x1000);

    rig->profile.tsc_ratio_num = 84;
    rig->profile.tsc_ratio_den = 1;
    /* The table of a processor that has no other output than ToPA. */
    le_store(rig->memory + 0x1000, 0x10000, 8);
    rig->ipt.output_base = 0x1000;
    rig->ipt.output_mask_ptrs = 0x7f;
    rig_ctl(rig, rows[_i].ctl | CTL(ToPA) | CTL_(MTCFreq, 8), 0xffe, &rows[_i].context);
    rig_take(rig);
    rig->ipt.psb.due = 0;
    rig->clock.core = 1000;
    rig_event(rig, &jump);
    ck_assert_msg(!strcmp(rig_take(rig), rows[_i].packets), "%s:\n  %s\nis not\n  %s",
                  rows[_i].title, rig->text.text, rows[_i].packets);
    free(rig);
}
END_TEST

/* The distances between PSBs, for each PSBFreq that does not take long, and PacketByteCnt. */
START_TEST(period)
{
    struct rig *rig = rig_new("max");
    const struct ev_context k = K;
    const uint64_t want = UINT64_C(2048) << _i;
    uint64_t last = 0;

    rig_ctl(rig, CTL_BRANCHES | CTL_(PSBFreq, _i), 0xffe, &k);
    ck_assert_uint_eq(rig->ipt.psb.last, 0);
    for (unsigned n = 0; n < 3;) {
        /* Interrupts of 3 + 3 bytes and jumps of 3. */
        const struct ptsim_event event = FAR(INTERRUPT, 0x1000, K, 0x2000, K),
                                 jump = NEAR(JMP_INDIRECT, 0x2000, 2, 0x1000);

        rig_event(rig, &event);
        if (rig->ipt.psb.last == last)
            rig_event(rig, &jump);
        if (rig->ipt.psb.last != last) {
            ck_assert_uint_ge(rig->ipt.psb.last - last, want);
            ck_assert_uint_lt(rig->ipt.psb.last - last, want + 6);
            last = rig->ipt.psb.last;
            n++;
        }
    }
    ipt_flush(&rig->ipt);
    ck_assert_uint_eq(MSR_GET(rig->ipt.status, IA32_RTIT_STATUS, PacketByteCnt),
                      _i > 5 ? (rig->stored - last + BIT(_i - 5) - 1) >> (_i - 5)
                             : rig->stored - last);
    ck_assert_int_eq(rig->stream[last], 0x02);
    ck_assert_int_eq(rig->stream[last + 15], 0x82);
    free(rig);
}
END_TEST

/* PacketByteCnt is taken up again when tracing goes on (table 33-7). */
START_TEST(goes_on)
{
    static const struct {
        unsigned freq;
        uint64_t count; /* the field */
        uint64_t bytes; /* to the next PSB */
    } counts[] = {
        { 0, 0, 0 },           { 0, 1, 2047 },   { 0, 2000, 48 },
        { 0, 2047, 1 },        { 0, 5000, 0 },   { 1, 2047, 2049 },
        { 6, 1, 0x20000 - 2 }, { 6, 0xffff, 2 }, { 10, 0xfff0, 16 * 32 },
    };
    struct rig *rig = rig_new("max");
    const struct ev_context k = K;

    rig->ipt.status = MSR_PUT(0, IA32_RTIT_STATUS, PacketByteCnt, counts[_i].count);
    rig_ctl(rig, CTL_BRANCHES | CTL_(PSBFreq, counts[_i].freq), 0xffe, &k);
    ipt_flush(&rig->ipt);
    if (counts[_i].count)
        ck_assert_uint_eq(rig->ipt.psb.due, counts[_i].bytes);
    ck_assert_int_eq(!strncmp(rig_take(rig), "PSB ", 4), counts[_i].count == 0);
    free(rig);
}
END_TEST

/* What was compressed against before a PSB is no more (33.3.7), and a partial TNT is before it. */
START_TEST(nothing_carries_over)
{
    struct rig *rig = rig_new("skylake");
    const struct ev_context k = K;
    const struct ptsim_event jump = NEAR(JMP_INDIRECT, 0x7f0012340000, 2, 0x7f0012345678);
    const struct ptsim_event taken = COND(true, 0x7f0012345678, 0x7f0012345678);

    rig_ctl(rig, CTL_BRANCHES, 0x7f001233fffe, &k);
    rig_event(rig, &jump);
    rig_take(rig);
    rig_event(rig, &jump);
    rig->ipt.psb.due = 0;
    rig_event(rig, &taken);
    rig_event(rig, &jump);
    rig_event(rig, &jump);
    ck_assert_str_eq(rig_take(rig),
                     "TIP(1,0x5678) TNT(1) PSB MODE.TSX(0,0) MODE.Exec(64) FUP(3,0x7f0012345678) "
                     "PIP(0x5000) CBR(0x15) PSBEND TIP(3,0x7f0012345678) TIP(1,0x5678)");
    free(rig);
}
END_TEST

/* A PSB while PacketEn is clear has no MODE.Exec: TIP.PGE then has one, changed or not. */
START_TEST(mode_exec_after)
{
    struct rig *rig = rig_new("max");
    const struct ev_context u = U;
    const struct ptsim_event in = FAR(FAR_BRANCH, 0x1000, U, 0x8000, K),
                             out = FAR(FAR_BRANCH, 0x8000, K, 0x1000, U);

    rig_ctl(rig, CTL_BRANCHES & ~CTL(OS), 0xffe, &u);
    rig_event(rig, &in);
    rig_take(rig);
    rig_event(rig, &out);
    rig->ipt.psb.due = 0;
    rig_event(rig, &in);
    rig_event(rig, &out);
    ck_assert_str_eq(rig_take(rig), "TIP.PGE(1,0x1000) TIP.PGD() PSB CBR(0x15) PSBEND "
                                    "MODE.Exec(64) TIP.PGE(1,0x1000)");
    free(rig);
}
END_TEST

/* With PacketEn set there is no PSB where the IP is not known. */
START_TEST(not_while_time_passes)
{
    struct rig *rig = rig_new("max");
    const struct ev_context k = K;
    const struct ptsim_event time = { .kind = EV_TIME, .from_ip = 1, .cycles = 84 };
    const struct ptsim_event branch = NEAR(JMP_DIRECT, 0x1000, 2, 0x1234);

    rig_ctl(rig, CTL_BRANCHES | CTL(MTCEn), 0xffe, &k);
    rig_take(rig);
    rig->ipt.psb.due = 0;
    rig_event(rig, &time);
    ck_assert_str_eq(rig_take(rig), "MTC(0x2)");
    rig_event(rig, &branch);
    ck_assert_str_eq(rig_take(rig), "PSB PIP(0x5000) CBR(0x15) MODE.TSX(0,0) MODE.Exec(64) "
                                    "FUP(1,0x1234) PSBEND");
    free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("psb");
    TCase *tcase = tcase_create("psb");

    tcase_add_loop_test(tcase, contents, 0, TEST_COUNT(rows));
    tcase_add_loop_test(tcase, period, 0, 9);
    tcase_add_loop_test(tcase, goes_on, 0, 9);
    tcase_add_test(tcase, nothing_carries_over);
    tcase_add_test(tcase, mode_exec_after);
    tcase_add_test(tcase, not_while_time_passes);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
