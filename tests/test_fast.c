/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The near branches of fast.h give the bytes that ipt_event() gives, whatever is enabled. */
#include "pt_rig.h"

#define EVENTS 20000

static const struct ev_context kernel = CONTEXT_64(0, 0x5000), user = CONTEXT_64(3, 0x5000);

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static const struct {
    const char *profile;
    uint64_t ctl;
} configurations[] = {
    { "max", CTL_BRANCHES },
    { "skylake", CTL_BRANCHES },
    { "max", CTL_BRANCHES | CTL(DisRETC) },
    { "max", CTL_BRANCHES | CTL(MTCEn) | CTL(TSCEn) },
    { "max", CTL_BRANCHES | CTL(CYCEn) },
    { "max", CTL_BRANCHES | CTL(CYCEn) | CTL_(CycThresh, 4) },
    { "skylake", CTL_BRANCHES | CTL(CYCEn) | CTL(MTCEn) | CTL(TSCEn) },
    { "max", CTL_BRANCHES | CTL(CYCEn) | CTL(MTCEn) | CTL_(CycThresh, 6) },
    { "max", CTL_BRANCHES & ~CTL(OS) },
    { "max", (CTL_BRANCHES | CTL(CYCEn) | CTL(MTCEn)) & ~CTL(User) },
    { "max", CTL_BRANCHES & ~CTL(BranchEn) },
    { "max", CTL_BRANCHES | CTL_(ADDR0_CFG, 1) },
    { "max", CTL_BRANCHES | CTL(CYCEn) | CTL_(ADDR0_CFG, 1) },
    { "max", CTL_BRANCHES | CTL_(ADDR1_CFG, 2) },
    { "max", CTL_BRANCHES | CTL(ToPA) },
    { "max", CTL_BRANCHES | CTL(ToPA) | CTL(CYCEn) | CTL(MTCEn) },
    { "broadwell", CTL_BRANCHES | CTL(ToPA) },
};

static void fast_branch(struct rig *rig, const struct ptsim_event *e)
{
    struct ipt *ipt = &rig->ipt;
    uint64_t core = rig->clock.core += e->cycles;

    switch (e->kind) {
    case EV_COND_BRANCH:
        ipt_cond_branch(ipt, core, e->taken, e->from_ip, e->next_ip, e->to_ip);
        break;
    case EV_JMP_DIRECT:
        ipt_jmp_direct(ipt, core, e->from_ip, e->next_ip, e->to_ip);
        break;
    case EV_CALL_DIRECT:
        ipt_call_direct(ipt, core, e->from_ip, e->next_ip, e->to_ip);
        break;
    case EV_JMP_INDIRECT:
        ipt_jmp_indirect(ipt, core, e->from_ip, e->next_ip, e->to_ip);
        break;
    case EV_CALL_INDIRECT:
        ipt_call_indirect(ipt, core, e->from_ip, e->next_ip, e->to_ip);
        break;
    case EV_RET:
        ipt_ret(ipt, core, e->from_ip, e->next_ip, e->to_ip);
        break;
    default:
        ipt_event(ipt, e);
    }
}

/* A program that is nowhere in particular: its IP, and its own stack of return addresses. */
struct program {
    uint32_t random;
    uint64_t ip;
    bool user;
    uint64_t stack[16];
    unsigned calls;
};

static struct ptsim_event next_event(struct program *p)
{
    uint32_t r = next_random(&p->random);
    struct ptsim_event e = { .from_ip = p->ip,
                             .next_ip = p->ip + 5,
                             .cycles = next_random(&p->random) % 8 };

    e.to_ip = 0x1000 + next_random(&p->random) % 0x3000;
    e.kind = r % 100 < 60   ? EV_COND_BRANCH
             : r % 100 < 70 ? EV_JMP_DIRECT
             : r % 100 < 78 ? EV_CALL_DIRECT
             : r % 100 < 80 ? EV_CALL_INDIRECT
             : r % 100 < 85 ? EV_JMP_INDIRECT
             : r % 100 < 97 ? EV_RET
             : r % 100 < 98 ? EV_INTERRUPT
             : r % 100 < 99 ? EV_FAR_BRANCH
                            : EV_MOV_CR3;
    if (e.kind == EV_COND_BRANCH) {
        e.taken = r & 0x1000;
        e.to_ip = e.taken ? e.to_ip : e.next_ip;
    }
    if ((e.kind == EV_CALL_DIRECT || e.kind == EV_CALL_INDIRECT) && !(r & 0x7000))
        e.to_ip = e.next_ip;
    if (e.kind == EV_CALL_DIRECT || e.kind == EV_CALL_INDIRECT)
        p->stack[++p->calls % 16] = e.next_ip;
    if (e.kind == EV_RET && (r & 0x7000))
        e.to_ip = p->stack[p->calls-- % 16];
    e.before = p->user ? user : kernel;
    if (e.kind == EV_FAR_BRANCH || e.kind == EV_INTERRUPT)
        p->user = e.kind == EV_FAR_BRANCH;
    e.after = p->user ? user : kernel;
    if (e.kind == EV_MOV_CR3)
        e.to_ip = e.next_ip;
    p->ip = e.to_ip;
    return e;
}

static struct rig *new_rig(size_t configuration)
{
    struct rig *rig = rig_new(configurations[configuration].profile);

    rig->profile.pt_cycle_counter_bits = 10;
    memcpy(rig->ipt.addr,
           (uint64_t[4][2]){ { 0x1800, 0x27ff }, { 0x3f00, 0x3f0f }, { 0, 0 }, { 0, 0 } },
           sizeof(rig->ipt.addr));
    if (configurations[configuration].ctl & CTL(ToPA)) {
        le_store(rig->memory + 0x8000, 0x10000 | BIT(2), 8);
        le_store(rig->memory + 0x8008, 0x8000 | BIT(0), 8);
        rig->ipt.output_base = 0x8000;
        rig->ipt.output_mask_ptrs = 0x7f;
    }
    rig_ctl(rig, configurations[configuration].ctl, 0xffe, &kernel);
    return rig;
}

START_TEST(same_bytes)
{
    size_t configuration = (size_t)_i % (size_t)TEST_COUNT(configurations);
    struct rig *fast = new_rig(configuration), *general = new_rig(configuration);
    struct program program = { .random = (uint32_t)_i, .ip = 0x1000 };

    for (int i = 0; i < EVENTS; i++) {
        struct ptsim_event event = next_event(&program);

        fast_branch(fast, &event);
        rig_event(general, &event);
        ck_assert_uint_eq(ipt_output_total(&fast->ipt), ipt_output_total(&general->ipt));
        ck_assert_int_eq(fast->ipt.topa_pmi, general->ipt.topa_pmi);
        if (i % 1000 == 999) {
            ipt_flush(&fast->ipt);
            ipt_flush(&general->ipt);
            ck_assert_uint_eq(fast->ipt.output_mask_ptrs, general->ipt.output_mask_ptrs);
            ck_assert_uint_eq(fast->ipt.status, general->ipt.status);
            fast->ipt.topa_pmi = general->ipt.topa_pmi = false;
        }
    }
    ipt_flush(&fast->ipt);
    ipt_flush(&general->ipt);
    ck_assert_uint_eq(fast->stored, general->stored);
    ck_assert(!memcmp(fast->stream, general->stream, fast->stored));
    /* Where there is something to see there is enough of it. */
    if (!(configurations[configuration].ctl & CTL_(ADDR1_CFG, 2)))
        ck_assert_uint_gt(fast->stored, 1000);
    free(fast);
    free(general);
}
END_TEST

/* The usual case does not fall back on the general path: it leaves alone what that would step. With
 * CYCs the first outcome of a TNT is a step longer, but no more than that. */
START_TEST(is_taken)
{
    struct rig *rig = new_rig(0);

    ck_assert_uint_eq(ipt_quiet_until(&rig->ipt), IPT_NEVER);
    for (unsigned i = 0; i < IPT_TNT_AHEAD - 1; i++)
        ck_assert(ipt_quiet_outcome(&rig->ipt, i & 1));
    ck_assert(!ipt_quiet_outcome(&rig->ipt, true));
    free(rig);

    rig = new_rig(4);
    ck_assert_uint_gt(ipt_quiet_until(&rig->ipt), rig->clock.core);
    ck_assert(!ipt_quiet_outcome(&rig->ipt, true));
    ipt_cond_branch(&rig->ipt, rig->clock.core, true, 0x1000, 0x1002, 0x1000);
    ck_assert_uint_gt(ipt_quiet_until(&rig->ipt), rig->clock.core);
    ck_assert(ipt_quiet_outcome(&rig->ipt, true));
    free(rig);
}
END_TEST

/* Outcomes that wait for their packets are packets already to who asks (33.3.3). */
START_TEST(flush_of_outcomes)
{
    struct rig *rig = new_rig(0);
    uint64_t total = ipt_output_total(&rig->ipt);

    rig_take(rig);
    for (int i = 0; i < 6 * 3 + 2; i++)
        ipt_cond_branch(&rig->ipt, rig->clock.core, i >= 6, 0x1000, 0x1002, 0x1002);
    ck_assert_uint_eq(ipt_output_total(&rig->ipt), total + 3);
    ck_assert_str_eq(rig_take(rig), "TNT(000000) TNT(111111) TNT(111111)");
    ipt_jmp_indirect(&rig->ipt, rig->clock.core, 0x1002, 0x1004, 0x1004);
    ck_assert_str_eq(rig_take(rig), "TNT(11) TIP(1,0x1004)");
    free(rig);
}
END_TEST

/* Every six outcomes give the packet that holds them, with CYC and without. */
START_TEST(every_six_outcomes)
{
    struct rig *rig = new_rig(_i ? 4 : 0);

    rig_take(rig);
    for (unsigned bits = 0; bits < 64; bits++) {
        char expected[16] = "TNT(000000)";
        const char *got;

        for (unsigned i = 0; i < 6; i++) {
            bool taken = bits >> (5 - i) & 1;

            expected[4 + i] = taken ? '1' : '0';
            ipt_cond_branch(&rig->ipt, ++rig->clock.core, taken, 0x1000, 0x1002, 0x1002);
        }
        got = strstr(rig_take(rig), "TNT");
        ck_assert_ptr_nonnull(got);
        ck_assert_str_eq(got, expected);
    }
    free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fast");
    TCase *tcase = tcase_create("fast");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, same_bytes, 0, 2 * TEST_COUNT(configurations));
    tcase_add_test(tcase, is_taken);
    tcase_add_test(tcase, flush_of_outcomes);
    tcase_add_loop_test(tcase, every_six_outcomes, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
