/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../models/bits.h"
#include "../models/core/lp.h"

#include <string.h>

#include "suite.h"

enum {
    EAX,
    EBX,
    ECX,
    EDX
};

/* What each profile answers, spelt out from tables 33-11 and 33-12 and the CPUID page. */
static const struct {
    const char *profile;
    uint32_t leaf, subleaf;
    uint32_t regs[4];
} rows[] = {
    { "max", 0x14, 0, { 1, 0x1ff, 0x8000000f, 0 } },
    { "max", 0x14, 1, { 0xffff0004, 0xffffffff, 0, 0 } },
    { "max", 0x14, 2, { 0, 0, 0, 0 } },
    { "max", 0x15, 0, { 1, 84, 25000000, 0 } },
    { "max", 0x16, 0, { 2100, 2100, 100, 0 } },
    { "max", 7, 0, { 0, 0x02100081, 0x20, 0 } },
    { "max", 7, 1, { 0, 0, 0, 0 } },
    { "skylake", 0x14, 0, { 1, 0xf, 7, 0 } },
    { "skylake", 0x14, 1, { 0x02490002, 0x003f3fff, 0, 0 } },
    { "skylake", 0x15, 0, { 2, 168, 0, 0 } },
    { "skylake", 0x80000008, 0, { 0x302e, 0, 0, 0 } },
    { "broadwell", 0, 0, { 0x14, 0x756e6547, 0x6c65746e, 0x49656e69 } },
    { "broadwell", 0x14, 0, { 0, 1, 1, 0 } },
    { "broadwell", 0x14, 1, { 0, 0, 0, 0 } },
    { "icelake", 0x14, 0, { 1, 0xf, 7, 0 } },
    { "icelake", 0x14, 1, { 0x02490002, 0x003f1fff, 0, 0 } },
    { "nopt", 0x14, 0, { 0, 0, 0, 0 } },
    { "nopt", 0x14, 1, { 0, 0, 0, 0 } },
    { "nopt", 7, 0, { 0, 0x00100081, 0x20, 0 } },
    /* The rest of what software looks at, on any profile. */
    { "max", 0, 0, { 0x16, 0x756e6547, 0x6c65746e, 0x49656e69 } },
    { "max", 1, 0, { 0xf06f0, 0x800, 0x06d8220b, 0x078bab7d } },
    { "max", 2, 0, { 0xff01, 0, 0, 0 } },
    { "max", 4, 0, { 0x121, 0x01c0003f, 63, 0 } },
    { "max", 4, 1, { 0x122, 0x01c0003f, 63, 0 } },
    { "max", 4, 2, { 0x143, 0x03c0003f, 1023, 0 } },
    { "max", 4, 3, { 0, 0, 0, 0 } },
    { "max", 5, 0, { 64, 64, 3, 0x01112120 } },
    { "max", 6, 0, { 0, 0, 0, 0 } },
    { "max", 0xa, 0, { 0, 0, 0, 0 } },
    { "max", 0xb, 0, { 0, 1, 0x100, 0 } },
    { "max", 0xb, 1, { 0, 1, 0x201, 0 } },
    { "max", 0xb, 2, { 0, 0, 2, 0 } },
    { "max", 0xd, 0, { 3, 576, 576, 0 } },
    { "max", 0xd, 1, { 1, 0, 0, 0 } },
    { "max", 0xd, 2, { 0, 0, 0, 0 } },
    { "max", 0x80000000, 0, { 0x80000008, 0, 0, 0 } },
    { "max", 0x80000001, 0, { 0, 0, 0x101, 0x2c100000 } },
    { "max", 0x80000006, 0, { 0, 0, 0x04008040, 0 } },
    { "max", 0x80000007, 0, { 0, 0, 0, 0x100 } },
    { "max", 0x80000008, 0, { 0x3034, 0, 0, 0 } },
    /* Beyond the last leaf: the highest basic leaf, at the same sub-leaf. */
    { "max", 0x17, 0, { 2100, 2100, 100, 0 } },
    { "max", 0x40000000, 0, { 2100, 2100, 100, 0 } },
    { "max", 0x7fffffff, 5, { 2100, 2100, 100, 0 } },
    { "max", 0x80000009, 0, { 2100, 2100, 100, 0 } },
    { "max", 0xffffffff, 0, { 2100, 2100, 100, 0 } },
    { "broadwell", 0x15, 0, { 0, 1, 1, 0 } },
    { "broadwell", 0x80000009, 1, { 0, 0, 0, 0 } },
};

static void check_regs(const struct lp *lp, uint32_t leaf, uint32_t subleaf,
                       const uint32_t expected[4])
{
    uint32_t regs[4] = { 0xdead, 0xdead, 0xdead, 0xdead };

    lp_cpuid(lp, leaf, subleaf, regs);
    for (int i = 0; i < 4; i++)
        ck_assert_msg(regs[i] == expected[i], "%s %x.%x %cX: %#x, expected %#x", lp->profile->name,
                      leaf, subleaf, "ABCD"[i], regs[i], expected[i]);
}

/* A processor as it is after reset, but for what a test changes. */
static struct lp processor(const struct cpu_profile *profile)
{
    return (struct lp){ .profile = profile, .apic_base = 0xfee00900, .misc_enable = 0x41801 };
}

START_TEST(leaf)
{
    struct lp lp = processor(cpu_profile_find(rows[_i].profile));

    check_regs(&lp, rows[_i].leaf, rows[_i].subleaf, rows[_i].regs);
}
END_TEST

/* A capability that is not there takes its bit, and what depends on it, out of leaf 14H. */
START_TEST(capability_absent)
{
    static const struct {
        size_t offset; /* of a bool in struct cpu_profile */
        uint32_t sub0[4], sub1[4];
    } without[] = {
#define FIELD(field) offsetof(struct cpu_profile, field)
        { FIELD(pt_cr3_filter), { 1, 0x1fe, 0x8000000f, 0 }, { 0xffff0004, 0xffffffff, 0, 0 } },
        { FIELD(pt_psb_cyc), { 1, 0x1fd, 0x8000000f, 0 }, { 0xffff0004, 0, 0, 0 } },
        { FIELD(pt_ip_filter), { 1, 0x1fb, 0x8000000f, 0 }, { 0xffff0000, 0xffffffff, 0, 0 } },
        { FIELD(pt_mtc), { 1, 0x1f7, 0x8000000f, 0 }, { 4, 0xffffffff, 0, 0 } },
        { FIELD(pt_ptwrite), { 1, 0x1ef, 0x8000000f, 0 }, { 0xffff0004, 0xffffffff, 0, 0 } },
        { FIELD(pt_power_event), { 1, 0x1df, 0x8000000f, 0 }, { 0xffff0004, 0xffffffff, 0, 0 } },
        { FIELD(pt_pmi_preservation),
          { 1, 0x1bf, 0x8000000f, 0 },
          { 0xffff0004, 0xffffffff, 0, 0 } },
        { FIELD(pt_event_trace), { 1, 0x17f, 0x8000000f, 0 }, { 0xffff0004, 0xffffffff, 0, 0 } },
        { FIELD(pt_tnt_disable), { 1, 0x0ff, 0x8000000f, 0 }, { 0xffff0004, 0xffffffff, 0, 0 } },
        { FIELD(pt_topa), { 1, 0x1ff, 0x8000000e, 0 }, { 0xffff0004, 0xffffffff, 0, 0 } },
        { FIELD(pt_topa_multi), { 1, 0x1ff, 0x8000000d, 0 }, { 0xffff0004, 0xffffffff, 0, 0 } },
        { FIELD(pt_single_range), { 1, 0x1ff, 0x8000000b, 0 }, { 0xffff0004, 0xffffffff, 0, 0 } },
        { FIELD(pt_fabric), { 1, 0x1ff, 0x80000007, 0 }, { 0xffff0004, 0xffffffff, 0, 0 } },
        { FIELD(pt_lip), { 1, 0x1ff, 0xf, 0 }, { 0xffff0004, 0xffffffff, 0, 0 } },
        { FIELD(pt), { 0, 0, 0, 0 }, { 0, 0, 0, 0 } },
#undef FIELD
    };

    for (int i = 0; i < TEST_COUNT(without); i++) {
        struct cpu_profile profile = *cpu_profile_find("max");
        struct lp lp = processor(&profile);

        *(bool *)((char *)&profile + without[i].offset) = false;
        check_regs(&lp, 0x14, 0, without[i].sub0);
        check_regs(&lp, 0x14, 1, without[i].sub1);
    }
}
END_TEST

/* The bits that follow the state of the processor. */
START_TEST(follows_state)
{
    struct lp lp = processor(cpu_profile_find("max"));

    lp.arch.cr4 = CR4_OSXSAVE;
    check_regs(&lp, 1, 0, (const uint32_t[]){ 0xf06f0, 0x800, 0x0ed8220b, 0x078bab7d });
    lp.apic_base = 0xfee00100;
    check_regs(&lp, 1, 0, (const uint32_t[]){ 0xf06f0, 0x800, 0x0ed8220b, 0x078ba97d });
    lp.arch.efer = EFER_LMA;
    lp.arch.sreg[ARCH_CS].ar = ARCH_AR_L;
    check_regs(&lp, 0x80000001, 0, (const uint32_t[]){ 0, 0, 0x101, 0x2c100800 });
}
END_TEST

/* SDM 33.3.5.2: state component 8, 128 bytes after the 576 of x87, SSE and the header. */
START_TEST(xsaves)
{
    struct cpu_profile profile = *cpu_profile_find("max");
    struct lp lp = processor(&profile);

    profile.xsaves = true;
    check_regs(&lp, 0xd, 1, (const uint32_t[]){ 9, 576, 0x100, 0 });
    check_regs(&lp, 0xd, 8, (const uint32_t[]){ 128, 0, 1, 0 });
    lp.xss = 0x100;
    check_regs(&lp, 0xd, 1, (const uint32_t[]){ 9, 704, 0x100, 0 });
    profile.pt = false;
    lp.xss = 0;
    check_regs(&lp, 0xd, 1, (const uint32_t[]){ 9, 576, 0, 0 });
    check_regs(&lp, 0xd, 8, (const uint32_t[]){ 0, 0, 0, 0 });
}
END_TEST

/* No two rows of cpuid.def give the same bit of a register. */
START_TEST(rows_apart)
{
#define ALL UINT32_MAX
    static const struct {
        uint32_t leaf, subleaf;
        int reg;
        uint64_t bits;
    } table[] = {
#define CPUID(leaf, subleaf, reg, hi, lo, name, value) { leaf, subleaf, reg, BITS(hi, lo) },
#include "../models/core/cpuid.def"
    };

    for (int i = 0; i < TEST_COUNT(table); i++) {
        ck_assert_uint_eq(table[i].bits >> 32, 0);
        for (int j = 0; j < i; j++) {
            bool same = table[i].leaf == table[j].leaf && table[i].reg == table[j].reg &&
                        (table[i].subleaf == table[j].subleaf || table[i].subleaf == ALL ||
                         table[j].subleaf == ALL);

            ck_assert_msg(!same || !(table[i].bits & table[j].bits), "leaf %x, row %d and %d",
                          table[i].leaf, j, i);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpuid");
    TCase *tcase = tcase_create("cpuid");

    tcase_add_loop_test(tcase, leaf, 0, TEST_COUNT(rows));
    tcase_add_test(tcase, capability_absent);
    tcase_add_test(tcase, follows_state);
    tcase_add_test(tcase, xsaves);
    tcase_add_test(tcase, rows_apart);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
