/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt_rig.h"

#define K     CONTEXT_64(0, 0x5000)
#define U     CONTEXT_64(3, 0x5000)
#define K2    CONTEXT_64(0, 0x6000)
#define P2    CONTEXT_32(0, 0x6000)
#define CYC   (CTL_BRANCHES | CTL(CYCEn))
#define TIMED (CTL_BRANCHES | CTL(CYCEn) | CTL(MTCEn) | CTL(TSCEn))

#define JMP_AX NEAR(JMP_INDIRECT, 0x1000, 2, 0x1000)
#define MOVCR3 FAR(MOV_CR3, 0x1000, K, 0x1003, K)

/* An event, AT core clocks after reset. */
struct timed {
    uint64_t at;
    struct ptsim_event event;
};

/* Tracing from core clock 100 on, of CPL 0 or CPL 3 alone, with PacketByteCnt not 0, then EVENTS up
 * to the first with from_ip 0. */
static struct rig *run(uint64_t ctl, const struct timed *events)
{
    struct rig *rig = rig_new("max");
    const struct ev_context start = CONTEXT_64(ctl & CTL(OS) ? 0 : 3, 0x5000);

    rig->ipt.status = MSR_PUT(0, IA32_RTIT_STATUS, PacketByteCnt, 1);
    rig_ctl(rig, ctl, 0xffe, &start);
    rig_take(rig);
    for (; events->event.from_ip; events++) {
        rig->clock.core = events->at;
        ipt_event(&rig->ipt, &events->event);
    }
    return rig;
}

/* x of the examples of 33.3.6.2 is core clock 1000. */
static const struct {
    const char *title;
    const char *packets;
    uint64_t ctl;
    struct timed events[10];
} rows[] = {
    { "example 36-1",
      "CYC(900) TIP(1,0x2000) CYC(2) TIP(1,0x3000) CYC(6) TNT(011) CYC(8) TIP(1,0x4000) "
      "CYC(4095) CYC(8194) CYC(4027) PIP(0x6000)",
      CYC,
      { { 1000, NEAR(CALL_INDIRECT, 0x1000, 2, 0x2000) },
        { 1002, NEAR(CALL_INDIRECT, 0x2000, 2, 0x3000) },
        { 1008, COND(false, 0x3000, 0x1000) },
        { 1009, NEAR(RET, 0x3002, 1, 0x2002) },
        { 1012, COND(true, 0x2002, 0x2100) },
        { 1016, NEAR(RET, 0x2100, 1, 0x4000) },
        { 5111, NEAR(CYCLE_COUNTER_RESET, 0x4000, 1, 0) },
        { 13305, NEAR(CYCLE_COUNTER_RESET, 0x4000, 1, 0) },
        { 17332, FAR(MOV_CR3, 0x4000, K, 0x4003, K2) } } },
    { "example 36-2",
      "CYC(899) TIP(1,0x2000) CYC(1) TNT(011) CYC(9) TIP(1,0x3000) CYC(3) TNT(0) FUP(1,0x3002) "
      "CYC(10) PIP(0x6000) CYC(20) MODE.Exec(32) TIP(1,0x8000)",
      CYC,
      { { 999, NEAR(CALL_INDIRECT, 0x1000, 2, 0x2000) },
        { 1000, COND(false, 0x2000, 0x1000) },
        { 1002, NEAR(RET, 0x2002, 1, 0x1002) },
        { 1008, COND(true, 0x1002, 0x1010) },
        { 1009, NEAR(JMP_INDIRECT, 0x1010, 2, 0x3000) },
        { 1012, COND(false, 0x3000, 0x1000) },
        { 1042,
          { .kind = EV_SW_INTERRUPT,
            .from_ip = 0x3002,
            .to_ip = 0x8000,
            .cycles = 30,
            .cycles_after_cr3 = 20,
            .before = K,
            .after = P2 } } } },
    { "one CYC for all packets of a cycle",
      "CYC(900) TIP(1,0x1000) TIP(1,0x1000) PIP(0x5000)",
      CYC,
      { { 1000, JMP_AX }, { 1000, JMP_AX }, { 1000, MOVCR3 } } },
    { "the sixth outcome goes without",
      "CYC(900) TNT(111111) CYC(5) TNT(1) CYC(1) TIP(1,0x1000)",
      CYC,
      { { 1000, COND(true, 0x1000, 0x1000) },
        { 1001, COND(true, 0x1000, 0x1000) },
        { 1002, COND(true, 0x1000, 0x1000) },
        { 1003, COND(true, 0x1000, 0x1000) },
        { 1004, COND(true, 0x1000, 0x1000) },
        { 1005, COND(true, 0x1000, 0x1000) },
        { 1005, COND(true, 0x1000, 0x1000) },
        { 1006, JMP_AX } } },
    { "FUP is not eligible; CYC and MTC go on while PacketEn is clear",
      "FUP(1,0x1000) CYC(20) TIP.PGD() CYC(48) MTC(0x2) CYC(2) TIP.PGE(1,0x1000)",
      (CYC & ~CTL(OS)) | CTL(MTCEn),
      { { 120, FAR(INTERRUPT, 0x1000, U, 0x8000, K) },
        { 170, FAR(FAR_BRANCH, 0x8000, K, 0x1000, U) } } },
    { "MTC by ART[7:0], where 84 core clocks are a tick",
      "MTC(0x2) TIP(1,0x1000) MTC(0x3) MTC(0x4) TIP(1,0x1000)",
      CTL_BRANCHES | CTL(MTCEn),
      { { 168, JMP_AX }, { 400, JMP_AX } } },
    { "MTC and its CYC",
      "CYC(68) MTC(0x2) TIP(1,0x1000) CYC(84) MTC(0x3) CYC(84) MTC(0x4) CYC(64) TIP(1,0x1000)",
      CYC | CTL(MTCEn),
      { { 168, JMP_AX }, { 400, JMP_AX } } },
    { "MTC by ART[10:3]",
      "CYC(571) TNT(0) CYC(1) MTC(0x1) TIP(1,0x1000) CYC(672) MTC(0x2)",
      CYC | CTL(MTCEn) | CTL_(MTCFreq, 3),
      { { 671, COND(false, 0x1000, 0x2000) },
        { 672, JMP_AX },
        { 1345, NEAR(TIME, 0x1000, 0, 0x1000) } } },
    { "MTC and the first outcome in one cycle: the CYC is before both",
      "CYC(68) MTC(0x2) TNT(11) CYC(1) TIP(1,0x1000)",
      CYC | CTL(MTCEn),
      { { 168, COND(true, 0x1000, 0x1000) },
        { 168, COND(true, 0x1000, 0x1000) },
        { 169, JMP_AX } } },
    { "outcomes are older than an MTC after them",
      "CYC(60) TNT(1) CYC(8) MTC(0x2) CYC(2) TNT(0) "
      "CYC(1) TIP(1,0x1002)",
      CYC | CTL(MTCEn),
      { { 160, COND(true, 0x1000, 0x1000) },
        { 170, COND(false, 0x1000, 0x1000) },
        { 171, NEAR(JMP_INDIRECT, 0x1002, 2, 0x1002) } } },
};

START_TEST(rows_)
{
    struct rig *rig = run(rows[_i].ctl, rows[_i].events);

    ck_assert_msg(!strcmp(rig_take(rig), rows[_i].packets), "%s:\n  %s\nis not\n  %s",
                  rows[_i].title, rig->text.text, rows[_i].packets);
    free(rig);
}
END_TEST

/* The threshold table of 33.3.6.3. */
static const struct timed threshold_events[] = {
    { 1000, JMP_AX }, { 1009, JMP_AX }, { 1015, JMP_AX }, { 1030, JMP_AX },        { 1038, MOVCR3 },
    { 1046, JMP_AX }, { 1064, JMP_AX }, { 1071, JMP_AX }, { 0, { .from_ip = 0 } },
};
static const struct {
    unsigned encoding;
    const char *packets;
} thresholds[] = {
    { 0, "CYC(900) TIP CYC(9) TIP CYC(6) TIP CYC(15) TIP CYC(8) PIP CYC(8) TIP CYC(18) TIP CYC(7) "
         "TIP" },
    { 5, "CYC(900) TIP TIP TIP CYC(30) TIP PIP CYC(16) TIP CYC(18) TIP TIP" },
    { 6, "CYC(900) TIP TIP TIP TIP CYC(38) PIP TIP TIP CYC(33) TIP" },
    { 7, "CYC(900) TIP TIP TIP TIP PIP TIP CYC(64) TIP TIP" },
};

/* TEXT without the payloads of packets other than CYC. */
static void drop_payloads(char *text)
{
    char *to = text;
    bool in_payload = false;

    for (const char *from = text; *from; from++) {
        if (*from == '(' && (to - text < 3 || strncmp(to - 3, "CYC", 3)))
            in_payload = true;
        if (!in_payload)
            *to++ = *from;
        if (*from == ')')
            in_payload = false;
    }
    *to = '\0';
}

START_TEST(threshold)
{
    struct rig *rig = run(CYC | CTL_(CycThresh, thresholds[_i].encoding), threshold_events);

    rig_take(rig);
    drop_payloads(rig->text.text);
    /* At the start of tracing no time has passed since it began: the first CYC counts from there.
     */
    ck_assert_str_eq(rig->text.text, thresholds[_i].packets);
    free(rig);
}
END_TEST

/* Stand-alone CYCs before the counter wraps: 31 at most in 5 bits (33.3.6.1, 33.4.2.14). */
static const struct {
    const char *title;
    const char *packets;
    unsigned threshold;
    struct timed events[5];
} wraps[] = {
    { "alone, and after it", "CYC(31) CYC(31) CYC(8) TIP(1,0x1000)", 0, { { 170, JMP_AX } } },
    { "in the cycle of a packet it is that packet's",
      "CYC(31) TIP(1,0x1000) CYC(1) TIP(1,0x1000)",
      0,
      { { 131, JMP_AX }, { 132, JMP_AX } } },
    { "outcomes go before it",
      "CYC(20) TNT(11) CYC(31) CYC(9) TNT(0) CYC(1) TIP(1,0x1002)",
      0,
      { { 120, COND(true, 0x1000, 0x1000) },
        { 121, COND(true, 0x1000, 0x1000) },
        { 160, COND(false, 0x1000, 0x1000) },
        { 161, NEAR(JMP_INDIRECT, 0x1002, 2, 0x1002) } } },
    { "below the threshold there is one after it all the same",
      "CYC(31) CYC(9) TIP(1,0x1000) TIP(1,0x1000) CYC(20) TIP(1,0x1000)",
      5,
      { { 140, JMP_AX }, { 150, JMP_AX }, { 160, JMP_AX } } },
};

START_TEST(wrap)
{
    struct rig *rig = rig_new("max");
    const struct ev_context k = K;

    rig->profile.pt_cycle_counter_bits = 5;
    rig_ctl(rig, CYC | CTL_(CycThresh, wraps[_i].threshold), 0xffe, &k);
    rig_take(rig);
    for (const struct timed *t = wraps[_i].events; t->event.from_ip; t++) {
        rig->clock.core = t->at;
        ipt_event(&rig->ipt, &t->event);
    }
    ck_assert_msg(!strcmp(rig_take(rig), wraps[_i].packets), "%s:\n  %s\nis not\n  %s",
                  wraps[_i].title, rig->text.text, wraps[_i].packets);
    free(rig);
}
END_TEST

/* The first CYC tells that no time has passed; what passes with TriggerEn clear is not counted
 * (33.3.6.1), and the TSC after it tells of it. */
START_TEST(restart)
{
    struct rig *rig = rig_new("max");
    const struct ev_context k = K;

    rig_ctl(rig, TIMED, 0xffe, &k);
    ck_assert_str_eq(rig_take(rig), "PSB CYC(0) TSC(0x64) TMA(0x1,0x10) PIP(0x5000) CBR(0x15) "
                                    "MODE.TSX(0,0) PSBEND MODE.Exec(64) TIP.PGE(1,0x1000)");
    rig->clock.core = 150;
    rig_ctl(rig, 0, 0x1000, &k);
    ck_assert_str_eq(rig_take(rig), "FUP(1,0x1000) CYC(50) TIP.PGD()");
    rig->clock.core = 100000;
    rig_ctl(rig, TIMED, 0x1002, &k);
    ck_assert_str_eq(rig_take(rig), "CYC(0) TSC(0x186a0) TMA(0x4a6,0x28) CBR(0x15) MODE.Exec(64) "
                                    "TIP.PGE(3,0x1004)");
    rig->clock.core = 100003;
    rig_ctl(rig, 0, 0x1004, &k);
    ck_assert_str_eq(rig_take(rig), "FUP(1,0x1004) CYC(3) TIP.PGD()");
    free(rig);
}
END_TEST

/* TSC is what RDTSC reads, MTC and TMA know nothing of a write to it. */
START_TEST(tsc_offset)
{
    struct rig *rig = rig_new("max");
    const struct ev_context k = K;

    clock_set_tsc(&rig->clock, UINT64_C(0x0112345678abcdef));
    rig_ctl(rig, CTL_BRANCHES | CTL(TSCEn) | CTL(MTCEn), 0xffe, &k);
    ck_assert_str_eq(rig_take(rig), "PSB TSC(0x12345678abcdef) TMA(0x1,0x10) PIP(0x5000) CBR(0x15) "
                                    "MODE.TSX(0,0) PSBEND MODE.Exec(64) TIP.PGE(1,0x1000)");
    free(rig);
}
END_TEST

/* CBR and MTC where the core is twice as fast as the TSC: an ART tick is 168 core clocks. */
START_TEST(turbo)
{
    struct rig *rig = rig_new("max");
    const struct ev_context k = K;
    const struct ptsim_event jump = JMP_AX;

    rig->clock.core_ratio = 42;
    rig_ctl(rig, TIMED, 0xffe, &k);
    ck_assert_str_eq(rig_take(rig), "PSB CYC(0) TSC(0x32) TMA(0,0x32) PIP(0x5000) CBR(0x2a) "
                                    "MODE.TSX(0,0) PSBEND MODE.Exec(64) TIP.PGE(1,0x1000)");
    rig->clock.core = 350;
    ipt_event(&rig->ipt, &jump);
    ck_assert_str_eq(rig_take(rig), "CYC(68) MTC(0x1) CYC(168) MTC(0x2) CYC(14) TIP(1,0x1000)");
    free(rig);
}
END_TEST

/* 33.8.3: whoever adds up CYCs knows the core clock of every MTC and of every TSC, and so the TSC,
 * whatever happens in between. MTC payloads wrap here, ten times and more. */
START_TEST(rebuild)
{
    struct rig *rig = rig_new("max");
    struct ipt_decode_state state = { 0 };
    struct ipt_packet packet;
    const struct ev_context k = K;
    const struct ptsim_event jump = JMP_AX, taken = COND(true, 0x1000, 0x1000);
    uint32_t random = 1;
    uint64_t core = 100, art = 1;
    unsigned mtcs = 0, tscs = 0;

    rig->profile.tsc_ratio_num = 7 + (uint32_t)_i;
    rig->clock.core_ratio = (uint8_t)(20 + 3 * _i);
    rig->profile.pt_cycle_counter_bits = 8;
    art = clock_art_at(&rig->clock, core);
    rig_ctl(rig, TIMED, 0xffe, &k);
    for (int i = 0; i < 5000; i++) {
        random = random * 1664525 + 1013904223;
        rig->clock.core += random >> 27;
        ipt_event(&rig->ipt, random >> 20 & 3 ? &taken : &jump);
    }
    ipt_flush(&rig->ipt);
    for (size_t at = 0; at < rig->stored; at += packet.size) {
        ck_assert_int_eq(ipt_decode(&state, rig->stream + at, rig->stored - at, &packet), PTSIM_OK);
        if (packet.type == IPT_CYC)
            core += packet.cyc.cycles;
        if (packet.type == IPT_TSC) {
            ck_assert_uint_eq(packet.tsc.tsc, clock_tsc_at(&rig->clock, core));
            tscs++;
        }
        if (packet.type == IPT_MTC) {
            art++;
            ck_assert_uint_eq(packet.mtc.ctc, art & 0xff);
            ck_assert_uint_eq(core, clock_core_at_art(&rig->clock, art));
            mtcs++;
        }
    }
    ck_assert_uint_gt(mtcs, 10 * 256);
    ck_assert_uint_gt(tscs, 5);
    free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timing");
    TCase *tcase = tcase_create("timing");

    tcase_add_loop_test(tcase, rows_, 0, TEST_COUNT(rows));
    tcase_add_loop_test(tcase, threshold, 0, TEST_COUNT(thresholds));
    tcase_add_loop_test(tcase, wrap, 0, TEST_COUNT(wraps));
    tcase_add_test(tcase, restart);
    tcase_add_test(tcase, tsc_offset);
    tcase_add_test(tcase, turbo);
    tcase_add_loop_test(tcase, rebuild, 0, 8);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
