/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../models/pt/ret_stack.h"

#include "pt_rig.h"

#define K CONTEXT_64(0, 0x5000)
#define U CONTEXT_64(3, 0x5000)

/* Calls nest and return addresses come back youngest first; of more than 64 the oldest are gone. */
START_TEST(depth)
{
    static const unsigned calls[] = { 1, 2, 63, 64, 65, 100, 128, 129, 1000 };
    struct ipt_ret_stack stack = { .top = 0 };
    unsigned n = calls[_i], kept = n < 64 ? n : 64;

    ipt_ret_stack_clear(&stack);
    for (unsigned i = 1; i <= n; i++)
        ipt_ret_stack_push(&stack, i);
    for (unsigned i = n; i > n - kept; i--) {
        ck_assert(!ipt_ret_stack_matches(&stack, i + 1));
        ck_assert(ipt_ret_stack_matches(&stack, i));
        ipt_ret_stack_pop(&stack);
    }
    for (unsigned i = 0; i <= n; i++)
        ck_assert(!ipt_ret_stack_matches(&stack, i));
}
END_TEST

/* 33.2.1.2, 33.4.2.2: which RETs are compressed. */
static const struct {
    const char *title;
    const char *packets;
    uint64_t ctl;
    struct ptsim_event events[10];
} rows[] = {
    { "direct and indirect CALL",
      "TIP(1,0x3000) TNT(11) TIP(1,0x4000)",
      CTL_BRANCHES,
      { NEAR(CALL_DIRECT, 0x1000, 5, 0x2000), NEAR(CALL_INDIRECT, 0x2000, 2, 0x3000),
        NEAR(RET, 0x3000, 1, 0x2002), NEAR(RET, 0x2002, 1, 0x1005),
        NEAR(JMP_INDIRECT, 0x1005, 2, 0x4000) } },
    { "the return address was changed; no earlier CALL counts then",
      "TIP(1,0x4000) TIP(1,0x1005)",
      CTL_BRANCHES,
      { NEAR(CALL_DIRECT, 0x1000, 5, 0x2000), NEAR(CALL_DIRECT, 0x2000, 5, 0x3000),
        NEAR(RET, 0x3000, 1, 0x4000), NEAR(RET, 0x4000, 1, 0x1005) } },
    { "one RET too many",
      "TNT(1) TIP(1,0x3000)",
      CTL_BRANCHES,
      { NEAR(CALL_DIRECT, 0x1000, 5, 0x2000), NEAR(RET, 0x2000, 1, 0x1005),
        NEAR(RET, 0x1005, 1, 0x3000) } },
    { "a CALL to the next instruction is not pushed",
      "TIP(1,0x2005) TIP(1,0x1005)",
      CTL_BRANCHES,
      { NEAR(CALL_DIRECT, 0x1000, 5, 0x2000), NEAR(CALL_DIRECT, 0x2000, 5, 0x2005),
        NEAR(RET, 0x2005, 1, 0x2005), NEAR(RET, 0x2005, 1, 0x1005) } },
    { "nor does it disturb",
      "TNT(1) TIP(1,0x4000)",
      CTL_BRANCHES,
      { NEAR(CALL_DIRECT, 0x1000, 5, 0x2000), NEAR(CALL_DIRECT, 0x2000, 5, 0x2005),
        NEAR(RET, 0x2006, 1, 0x1005), NEAR(JMP_INDIRECT, 0x1005, 2, 0x4000) } },
    { "an indirect one is",
      "TIP(1,0x1002) TNT(1) TIP(1,0x4000)",
      CTL_BRANCHES,
      { NEAR(CALL_INDIRECT, 0x1000, 2, 0x1002), NEAR(RET, 0x1002, 1, 0x1002),
        NEAR(JMP_INDIRECT, 0x1005, 2, 0x4000) } },
    { "DisRETC",
      "TIP(1,0x1005)",
      CTL_BRANCHES | CTL(DisRETC),
      { NEAR(CALL_DIRECT, 0x1000, 5, 0x2000), NEAR(RET, 0x2000, 1, 0x1005) } },
    { "far transfers leave the stack alone",
      "FUP(1,0x2000) TIP(1,0x8000) TNT(1) TIP(1,0x2000) TNT(1) TIP(1,0x4000)",
      CTL_BRANCHES,
      { NEAR(CALL_DIRECT, 0x1000, 5, 0x2000), FAR(INTERRUPT, 0x2000, U, 0x8000, K),
        NEAR(CALL_DIRECT, 0x8000, 5, 0x9000), NEAR(RET, 0x9000, 1, 0x8005),
        FAR(FAR_BRANCH, 0x8005, K, 0x2000, U), NEAR(RET, 0x2000, 1, 0x1005),
        NEAR(JMP_INDIRECT, 0x1005, 2, 0x4000) } },
    { "PacketEn was clear in between",
      "FUP(1,0x2000) TIP.PGD() TIP.PGE(1,0x2000) TIP(1,0x1005)",
      CTL_BRANCHES & ~CTL(OS),
      { NEAR(CALL_DIRECT, 0x1000, 5, 0x2000), FAR(INTERRUPT, 0x2000, U, 0x8000, K),
        FAR(FAR_BRANCH, 0x8000, K, 0x2000, U), NEAR(RET, 0x2000, 1, 0x1005) } },
    { "the CALL was not traced, nor the one that set PacketEn",
      "MODE.Exec(64) TIP.PGE(1,0x2000) TIP(1,0x2010)",
      CTL_BRANCHES | CTL_(ADDR0_CFG, 1),
      { NEAR(CALL_DIRECT, 0x200b, 5, 0x1000), NEAR(CALL_DIRECT, 0x200b, 5, 0x2000),
        NEAR(RET, 0x2000, 1, 0x2010) } },
};

START_TEST(rows_)
{
    struct rig *rig = rig_new("max");
    const struct ev_context start = CONTEXT_64(rows[_i].ctl & CTL(OS) ? 0 : 3, 0x5000);

    rig->ipt.addr[0][0] = 0x2000;
    rig->ipt.addr[0][1] = 0x2fff;
    rig_ctl(rig, rows[_i].ctl, 0xffe, &start);
    rig_take(rig);
    rig_events(rig, rows[_i].events, 1);
    ck_assert_msg(!strcmp(rig_take(rig), rows[_i].packets), "%s:\n  %s\nis not\n  %s",
                  rows[_i].title, rig->text.text, rows[_i].packets);
    free(rig);
}
END_TEST

/* A PSB is in between: not compressed. */
START_TEST(across_psb)
{
    struct rig *rig = rig_new("max");
    const struct ev_context start = K;
    const struct ptsim_event events[] = { NEAR(RET, 0x2000, 1, 0x1005), { .from_ip = 0 } };
    const struct ptsim_event call = NEAR(CALL_DIRECT, 0x1000, 5, 0x2000),
                             jump = NEAR(JMP_INDIRECT, 0x2000, 2, 0x2000);
    uint64_t psb;

    rig_ctl(rig, CTL_BRANCHES, 0xffe, &start);
    rig_event(rig, &call);
    psb = rig->ipt.psb.last;
    while (rig->ipt.psb.last == psb)
        rig_event(rig, &jump);
    rig_take(rig);
    rig_events(rig, events, 1);
    ck_assert_str_eq(rig_take(rig), "TIP(1,0x1005)");
    free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ret_stack");
    TCase *tcase = tcase_create("ret_stack");

    tcase_add_loop_test(tcase, depth, 0, 9);
    tcase_add_loop_test(tcase, rows_, 0, TEST_COUNT(rows));
    tcase_add_test(tcase, across_psb);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
