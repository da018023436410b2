/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RDMSR and WRMSR of every bit and every encoding of IA32_RTIT_*, on every profile. What is
 * expected is spelt out here from tables 33-6 to 33-9 and CPUID leaf 14H, not taken from the
 * model. */
#include "../models/pt/rtit_msr.h"

#include "lp_rig.h"

/* What each profile takes. Fields of four bits are by the set of their encodings: bit N set where
 * value N can be written; single bits are a mask. */
static const struct {
    const char *profile;
    uint64_t ctl_bits; /* TraceEn not among them */
    uint16_t mtc_freq, cyc_thresh, psb_freq;
    uint16_t addr_cfg[4];
    bool single_range, topa, fabric;
    uint64_t status_bits; /* that can be set */
    uint64_t output_base;
} takes[] = {
    { "max",
      0x0180000080003ffe,
      0xffff,
      0xffff,
      0xffff,
      { 7, 7, 7, 7 },
      true,
      true,
      true,
      0x0001ffff000000f0,
      0x000fffffffffff80 },
    { "skylake",
      0x2f8e,
      0x0249,
      0x3fff,
      0x003f,
      { 7, 7, 1, 1 },
      true,
      true,
      false,
      0x0001ffff00000030,
      0x00003fffffffff80 },
    { "broadwell", 0x2d8c, 1, 1, 1, { 1, 1, 1, 1 }, false, true, false, 0x30, 0x00003fffffffff80 },
    { "icelake",
      0x2f8e,
      0x0249,
      0x1fff,
      0x003f,
      { 7, 7, 1, 1 },
      true,
      true,
      false,
      0x0001ffff00000030,
      0x000fffffffffff80 },
};

static const uint64_t ctl_fields = 0x0000ffff0f7bc000; /* the fields of four bits */

START_TEST(ctl_bits)
{
    struct lp *lp = processor(takes[_i].profile);

    for (unsigned bit = 1; bit < 64; bit++)
        if (!(BIT(bit) & ctl_fields))
            check_write(lp, 0x570, BIT(bit), takes[_i].ctl_bits & BIT(bit), BIT(bit));
    check_write(lp, 0x570, takes[_i].ctl_bits, true, takes[_i].ctl_bits);
}
END_TEST

START_TEST(ctl_encodings)
{
    const struct {
        unsigned lo;
        uint16_t set;
    } fields[] = {
        { 14, takes[_i].mtc_freq },    { 19, takes[_i].cyc_thresh },  { 24, takes[_i].psb_freq },
        { 32, takes[_i].addr_cfg[0] }, { 36, takes[_i].addr_cfg[1] }, { 40, takes[_i].addr_cfg[2] },
        { 44, takes[_i].addr_cfg[3] },
    };
    struct lp *lp = processor(takes[_i].profile);

    for (int i = 0; i < TEST_COUNT(fields); i++)
        for (uint64_t v = 0; v < 16; v++)
            check_write(lp, 0x570, v << fields[i].lo, fields[i].set >> v & 1, v << fields[i].lo);
}
END_TEST

/* TraceEn needs an output scheme the processor has; where it is set the output is valid. */
START_TEST(ctl_output_scheme)
{
    static const struct {
        uint64_t ctl;
        bool needs_single, needs_topa, needs_fabric;
    } schemes[] = {
        { 0x001, true, false, false },
        { 0x101, false, true, false },
        { 0x041, false, false, true },
        { 0x141, false, true, true },
        /* Not enabled, so not wanted yet. */
        { 0x000, false, false, false },
        { 0x100, false, true, false },
        { 0x040, false, false, true },
    };

    for (int i = 0; i < TEST_COUNT(schemes); i++) {
        struct lp *lp = processor(takes[_i].profile);
        bool ok = (!schemes[i].needs_single || takes[_i].single_range) &&
                  (!schemes[i].needs_topa || takes[_i].topa) &&
                  (!schemes[i].needs_fabric || takes[_i].fabric);

        check_write(lp, 0x560, 0x1000, true, 0x1000);
        check_write(lp, 0x570, schemes[i].ctl, ok, schemes[i].ctl);
    }
}
END_TEST

/* FilterEn, ContextEn and TriggerEn keep what the processor has there. */
START_TEST(status_bits)
{
    struct lp *lp = processor(takes[_i].profile);

    for (unsigned bit = 0; bit < 64; bit++) {
        bool set = takes[_i].status_bits & BIT(bit);

        check_write(lp, 0x571, BIT(bit), set || bit < 3, set ? BIT(bit) : 0);
    }
    lp->pt.status = 5;
    check_write(lp, 0x571, 0x32, true, 0x35);
    check_write(lp, 0x571, 0, true, 5);
}
END_TEST

START_TEST(output_msrs)
{
    struct lp *lp = processor(takes[_i].profile);

    for (unsigned bit = 0; bit < 64; bit++) {
        check_write(lp, 0x560, BIT(bit), takes[_i].output_base & BIT(bit), BIT(bit));
        check_write(lp, 0x561, BIT(bit), true, BIT(bit) | 0x7f);
    }
    check_write(lp, 0x561, 0, true, 0x7f);
    check_write(lp, 0x561, ~UINT64_C(0), true, ~UINT64_C(0));
}
END_TEST

START_TEST(cr3_match)
{
    struct lp *lp = processor(takes[_i].profile);

    for (unsigned bit = 0; bit < 64; bit++)
        check_write(lp, 0x572, BIT(bit), bit >= 5, BIT(bit));
}
END_TEST

/* Canonical in 48 bits. */
START_TEST(addr)
{
    static const struct {
        uint64_t value;
        bool ok;
    } values[] = {
        { 0, true },
        { 0x00007fffffffffff, true },
        { 0x0000800000000000, false },
        { 0xffff7fffffffffff, false },
        { 0xffff800000000000, true },
        { 0xffffffffffffffff, true },
        { 0x8000000000000000, false },
    };
    struct lp *lp = processor("max");

    for (uint32_t index = 0x580; index <= 0x587; index++) {
        for (int i = 0; i < TEST_COUNT(values); i++)
            check_write(lp, index, values[i].value, values[i].ok, values[i].value);
        for (unsigned bit = 0; bit < 64; bit++)
            check_write(lp, index, BIT(bit), bit < 47, BIT(bit));
    }
}
END_TEST

/* A capability that is missing makes its bits reserved, and no others. */
START_TEST(capability_absent)
{
    static const struct {
        size_t offset; /* of a bool in struct cpu_profile */
        uint64_t ctl;  /* bits and fields that are then reserved */
        uint64_t status;
        uint32_t msrs[8]; /* that are then not there */
    } without[] = {
#define CAPABILITY(field) offsetof(struct cpu_profile, field)
        { CAPABILITY(pt_cr3_filter), 0x80, 0, { 0x572 } },
        { CAPABILITY(pt_psb_cyc), 0x0f780002, 0x0001ffff00000000, { 0 } },
        { CAPABILITY(pt_ip_filter),
          0x0000ffff00000000,
          0,
          { 0x580, 0x581, 0x582, 0x583, 0x584, 0x585, 0x586, 0x587 } },
        { CAPABILITY(pt_mtc), 0x3c200, 0, { 0 } },
        { CAPABILITY(pt_ptwrite), 0x1020, 0, { 0 } },
        { CAPABILITY(pt_power_event), 0x10, 0, { 0 } },
        { CAPABILITY(pt_pmi_preservation), 0x0100000000000000, 0xc0, { 0 } },
        { CAPABILITY(pt_event_trace), 0x80000000, 0, { 0 } },
        { CAPABILITY(pt_tnt_disable), 0x0080000000000000, 0, { 0 } },
        { CAPABILITY(pt_topa), 0x100, 0, { 0 } },
        { CAPABILITY(pt_single_range), 0, 0, { 0 } },
        { CAPABILITY(pt_fabric), 0x40, 0, { 0 } },
    };
    /* A one in each bit and each field of IA32_RTIT_CTL. */
    static const uint64_t ones = 0x0180111181087ffe;

    for (int i = 0; i < TEST_COUNT(without); i++) {
        struct cpu_profile profile = *cpu_profile_find("max");

        *(bool *)((char *)&profile + without[i].offset) = false;
        power_on(&lp_rig, &profile);
        struct lp *lp = &lp_rig.lp;

        for (unsigned bit = 1; bit < 64; bit++)
            if (ones & BIT(bit))
                check_write(lp, 0x570, BIT(bit), !(without[i].ctl & BIT(bit)), BIT(bit));
        for (unsigned bit = 3; bit < 64; bit++)
            if (UINT64_C(0x0001ffff000000f0) & BIT(bit))
                check_write(lp, 0x571, BIT(bit), !(without[i].status & BIT(bit)), BIT(bit));
        for (uint32_t index = 0x560; index < 0x588; index++) {
            bool gone = false;
            uint64_t value;

            for (int j = 0; j < 8; j++)
                gone = gone || without[i].msrs[j] == index;
            if (msr_find(index))
                ck_assert_msg(is_gp(lp_rdmsr(lp, index, &value)) == gone, "%d: %x", i, index);
        }
    }
}
END_TEST

/* As many ADDRn_CFG fields and register pairs as CPUID.14H.1:EAX[2:0] counts. */
START_TEST(address_ranges)
{
    struct cpu_profile profile = *cpu_profile_find("max");
    uint64_t value;

    profile.pt_ranges = (uint8_t)_i;
    power_on(&lp_rig, &profile);
    for (unsigned n = 0; n < 4; n++) {
        bool there = n < (unsigned)_i;

        for (uint64_t v = 1; v < 16; v++)
            check_write(&lp_rig.lp, 0x570, v << (32 + 4 * n), there && v < 3, v << (32 + 4 * n));
        for (uint32_t index = 0x580 + 2 * n; index < 0x582 + 2 * n; index++) {
            ck_assert_int_eq(is_gp(lp_rdmsr(&lp_rig.lp, index, &value)), !there);
            ck_assert_int_eq(write_ok(&lp_rig.lp, index, 0), there);
        }
    }
}
END_TEST

/* Output to memory, by one scheme or the other, has its two MSRs. */
START_TEST(no_memory_output)
{
    struct cpu_profile profile = *cpu_profile_find("max");
    uint64_t value;

    profile.pt_topa = profile.pt_topa_multi = profile.pt_single_range = false;
    power_on(&lp_rig, &profile);
    ck_assert(is_gp(lp_rdmsr(&lp_rig.lp, 0x560, &value)));
    ck_assert(is_gp(lp_rdmsr(&lp_rig.lp, 0x561, &value)));
    ck_assert(!write_ok(&lp_rig.lp, 0x560, 0));
    ck_assert(!write_ok(&lp_rig.lp, 0x561, 0x7f));
    check_write(&lp_rig.lp, 0x570, 0x41, true, 0x41);
    check_write(&lp_rig.lp, 0x570, 0x40, true, 0x40);
    check_write(&lp_rig.lp, 0x570, 0x01, false, 0);
}
END_TEST

/* ---- with TraceEn set ---- */

static const uint64_t tracing = 0x010d; /* TraceEn, OS, User, ToPA */

static struct lp *traced_processor(const char *profile)
{
    struct lp *lp = processor(profile);

    ck_assert(write_ok(lp, 0x560, 0x1000));
    ck_assert(write_ok(lp, 0x561, 0));
    ck_assert(write_ok(lp, 0x570, tracing));
    ck_assert_uint_eq(read_back(lp, 0x570), tracing);
    return lp;
}

/* No other MSR can be written, not even with what it holds. */
START_TEST(others_while_tracing)
{
    struct lp *lp = traced_processor(takes[_i].profile);

    for (uint32_t index = 0x560; index < 0x588; index++) {
        const struct msr *msr = msr_find(index);

        if (!msr || !msr->exists(lp->profile) || index == 0x570)
            continue;
        ck_assert_msg(!write_ok(lp, index, read_back(lp, index)), "%x", index);
        ck_assert_msg(!write_ok(lp, index, 0), "%x", index);
    }
    check_write(lp, 0x570, 0, true, 0);
    ck_assert(write_ok(lp, 0x571, 0));
    ck_assert(write_ok(lp, 0x560, 0x3000));
}
END_TEST

/* IA32_RTIT_CTL can: with what it holds, or with anything legal that clears TraceEn. */
START_TEST(ctl_while_tracing)
{
    struct lp *lp;

    for (unsigned bit = 1; bit < 64; bit++) {
        lp = traced_processor(takes[_i].profile);
        check_write(lp, 0x570, tracing ^ BIT(bit), false, 0);
    }
    check_write(lp, 0x570, tracing, true, tracing);
    check_write(lp, 0x570, (tracing & ~UINT64_C(1)) | BIT(18), false, 0);
    check_write(lp, 0x570, (tracing & ~UINT64_C(1)) | BIT(10), true, 0x050c);
    check_write(lp, 0x570, 0x0509, true, 0x0509);
}
END_TEST

/* ---- resets ---- */

static void fill(struct lp *lp)
{
    ck_assert(write_ok(lp, 0x560, 0x1000));
    ck_assert(write_ok(lp, 0x561, 0));
    ck_assert(write_ok(lp, 0x572, 0x1234000));
    if (lp->profile->pt_ip_filter)
        ck_assert(write_ok(lp, 0x580, 0x4000));
    ck_assert(write_ok(lp, 0x570, tracing));
}

START_TEST(cold_reset)
{
    struct lp *lp = processor(takes[_i].profile);

    fill(lp);
    power_on(&lp_rig, lp->profile);
    for (uint32_t index = 0x560; index < 0x588; index++)
        if (msr_find(index) && msr_find(index)->exists(lp->profile))
            ck_assert_msg(read_back(lp, index) == (index == 0x561 ? 0x7f : 0), "%x", index);
}
END_TEST

/* With IP filtering only TraceEn is cleared, else all (33.2.8.1). */
START_TEST(warm_reset)
{
    struct lp *lp = processor(takes[_i].profile);
    bool kept = strcmp(takes[_i].profile, "broadwell") != 0;

    fill(lp);
    ipt_warm_reset(&lp->pt);
    ck_assert_uint_eq(read_back(lp, 0x570), kept ? tracing - 1 : 0);
    ck_assert_uint_eq(read_back(lp, 0x560), kept ? 0x1000 : 0);
    ck_assert_uint_eq(read_back(lp, 0x561) & 0xffffffff, 0x7f);
    ck_assert_uint_eq(read_back(lp, 0x572), kept ? 0x1234000 : 0);
    ck_assert_uint_eq(read_back(lp, 0x571) & 4, 0);
    if (kept)
        ck_assert_uint_eq(read_back(lp, 0x580), 0x4000);
    else
        ck_assert_uint_eq(read_back(lp, 0x561), 0x7f);
}
END_TEST

static TCase *rtit_tests(void)
{
    TCase *tcase = tcase_create("rtit");

    tcase_add_loop_test(tcase, ctl_bits, 0, TEST_COUNT(takes));
    tcase_add_loop_test(tcase, ctl_encodings, 0, TEST_COUNT(takes));
    tcase_add_loop_test(tcase, ctl_output_scheme, 0, TEST_COUNT(takes));
    tcase_add_loop_test(tcase, status_bits, 0, TEST_COUNT(takes));
    tcase_add_loop_test(tcase, output_msrs, 0, TEST_COUNT(takes));
    tcase_add_loop_test(tcase, cr3_match, 0, TEST_COUNT(takes));
    tcase_add_test(tcase, addr);
    tcase_add_test(tcase, capability_absent);
    tcase_add_loop_test(tcase, address_ranges, 0, 5);
    tcase_add_test(tcase, no_memory_output);
    tcase_add_loop_test(tcase, others_while_tracing, 0, TEST_COUNT(takes));
    tcase_add_loop_test(tcase, ctl_while_tracing, 0, TEST_COUNT(takes));
    tcase_add_loop_test(tcase, cold_reset, 0, TEST_COUNT(takes));
    tcase_add_loop_test(tcase, warm_reset, 0, TEST_COUNT(takes));
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("rtit_msr");

    suite_add_tcase(suite, rtit_tests());
    return suite_run(suite);
}
