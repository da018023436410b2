/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MSR table, which MSRs there are, and every bit of the architectural ones. What is expected is
 * spelt out here, not taken from the model. */
#include "lp_rig.h"

/* Sets of MSRs that profiles have. */
enum {
    MAX = 1,
    SKYLAKE = 2,
    BROADWELL = 4,
    NOPT = 8,
    ALL = 15
};
enum {
    PT = MAX | SKYLAKE | BROADWELL,
    TWO_RANGES = MAX | SKYLAKE,
    WAITPKG = MAX | NOPT
};

static const struct {
    const char *name;
    unsigned has; /* which of them */
} profiles[] = {
    { "max", MAX },         { "skylake", SKYLAKE }, { "broadwell", BROADWELL },
    { "icelake", SKYLAKE }, { "flat", MAX },        { "nopt", NOPT },
};

/* ---- the table ---- */

START_TEST(rows_apart)
{
    const struct msr *msr, *other;

    for (unsigned i = 0; (msr = msr_at(i)); i++) {
        ck_assert_ptr_eq(msr_find(msr->index), msr);
        ck_assert_ptr_eq(msr_find_name(msr->name), msr);
        ck_assert_str_ne(msr->section, "");
        for (unsigned j = 0; j < i; j++) {
            other = msr_at(j);
            ck_assert_uint_ne(msr->index, other->index);
            ck_assert_str_ne(msr->name, other->name);
        }
    }
    ck_assert_ptr_null(msr_find(0x1fff));
    ck_assert_ptr_null(msr_find_name("IA32_NOTHING"));
}
END_TEST

START_TEST(fields_apart)
{
    const struct msr *msr;
    const struct msr_field *field;

    for (unsigned i = 0; (msr = msr_at(i)); i++) {
        uint64_t seen = 0;

        for (unsigned j = 0; (field = msr_field_at(msr, j)); j++) {
            ck_assert_uint_ge(field->hi, field->lo);
            ck_assert_uint_le(field->hi, 63);
            ck_assert_msg(!(seen & BITS(field->hi, field->lo)), "%s.%s", msr->name, field->name);
            seen |= BITS(field->hi, field->lo);
            ck_assert_ptr_eq(msr_field_find(msr, field->name), field);
        }
    }
    ck_assert_ptr_null(msr_field_find(msr_find_name("IA32_RTIT_CTL"), "Nothing"));
}
END_TEST

/* What an MSR resets to is something that could be written to it. */
START_TEST(resets_are_legal)
{
    const struct cpu_profile *p = cpu_profile_find(profiles[_i].name);
    const struct msr *msr;

    for (unsigned i = 0; (msr = msr_at(i)); i++) {
        if (!msr->exists(p))
            continue;
        ck_assert_msg(!(msr->reset(p) & msr_reserved(msr, p)), "%s", msr->name);
        ck_assert_msg(msr_allows(msr, p, msr->reset(p)), "%s", msr->name);
        ck_assert_msg(msr_legal(msr, 0, msr->reset(p)) == msr->reset(p) || !msr->writable ||
                          !strcmp(msr->name, "IA32_MISC_ENABLE"),
                      "%s", msr->name);
    }
}
END_TEST

/* ---- which MSRs there are ---- */

static const struct {
    uint32_t index;
    unsigned in; /* the sets that it is in */
    uint64_t reset;
} existing[] = {
    { 0x10, ALL, 0 },         { 0x1b, ALL, 0xfee00900 },
    { 0xce, ALL, 0x1500 },    { 0xe1, WAITPKG, 0 },
    { 0x174, ALL, 0 },        { 0x175, ALL, 0 },
    { 0x176, ALL, 0 },        { 0x1a0, ALL, 0x41801 },
    { 0x1d9, ALL, 0 },        { 0x277, ALL, 0x0007040600070406 },
    { 0x560, PT, 0 },         { 0x561, PT, 0x7f },
    { 0x570, PT, 0 },         { 0x571, PT, 0 },
    { 0x572, PT, 0 },         { 0x580, TWO_RANGES, 0 },
    { 0x581, TWO_RANGES, 0 }, { 0x582, TWO_RANGES, 0 },
    { 0x583, TWO_RANGES, 0 }, { 0xda0, SKYLAKE, 0 },
    { 0x584, MAX, 0 },        { 0x585, MAX, 0 },
    { 0x586, MAX, 0 },        { 0x587, MAX, 0 },
    { 0xc0000080, ALL, 0 },   { 0xc0000081, ALL, 0 },
    { 0xc0000082, ALL, 0 },   { 0xc0000083, ALL, 0 },
    { 0xc0000084, ALL, 0 },   { 0xc0000100, ALL, 0 },
    { 0xc0000101, ALL, 0 },   { 0xc0000102, ALL, 0 },
    { 0xc0000103, ALL, 0 },
};

/* RDMSR gives the reset value or #GP; WRMSR of that value is taken or #GP. */
static void walk(struct lp *lp, unsigned has, uint32_t first, uint32_t last)
{
    for (uint32_t index = first; index <= last; index++) {
        bool exists = false;
        uint64_t reset = 0, value = 0x5a5a;

        for (int i = 0; i < TEST_COUNT(existing); i++)
            if (existing[i].index == index && (existing[i].in & has)) {
                exists = true;
                reset = existing[i].reset;
            }
        ck_assert_msg(!is_gp(lp_rdmsr(lp, index, &value)) == exists, "RDMSR %x", index);
        ck_assert_msg(value == (exists ? reset : 0x5a5a), "RDMSR %x", index);
        if (index != 0xce)
            ck_assert_msg(write_ok(lp, index, reset) == exists, "WRMSR %x", index);
    }
}

START_TEST(every_index)
{
    struct lp *lp = processor(profiles[_i].name);

    walk(lp, profiles[_i].has, 0, 0x1fff);
    walk(lp, profiles[_i].has, 0xc0000000, 0xc0001fff);
    walk(lp, profiles[_i].has, 0xfffffff0, 0xfffffffe);
}
END_TEST

/* ---- the architectural ones ---- */

/* Bits that can be set one at a time. */
static const struct {
    uint32_t index;
    uint64_t writable;
    uint64_t ignored;
    uint64_t reset;
} architectural[] = {
    { 0x10, ~UINT64_C(0), 0, 0 },
    { 0x1b, 0x000ffffffffff900, 0, 0 },
    { 0xe1, 0xfffffffd, 0, 0 },
    { 0x174, 0xffff, 0, 0 },
    { 0x175, 0x00007fffffffffff, 0, 0 },
    { 0x176, 0x00007fffffffffff, 0, 0 },
    { 0x1a0, 0x40001, 0x1880, 0x1800 },
    { 0x1d9, 0, 0, 0 },
    { 0x277, 0x0505050505050505, 0, 0 },
    { 0xc0000080, 0x901, 0x400, 0 },
    { 0xc0000081, ~UINT64_C(0), 0, 0 },
    { 0xc0000082, 0x00007fffffffffff, 0, 0 },
    { 0xc0000083, 0x00007fffffffffff, 0, 0 },
    { 0xc0000084, 0xffffffff, 0, 0 },
    { 0xc0000100, 0x00007fffffffffff, 0, 0 },
    { 0xc0000101, 0x00007fffffffffff, 0, 0 },
    { 0xc0000102, 0x00007fffffffffff, 0, 0 },
    { 0xc0000103, 0xffffffff, 0, 0 },
};

START_TEST(architectural_bits)
{
    uint32_t index = architectural[_i].index;
    uint64_t writable = architectural[_i].writable, ignored = architectural[_i].ignored;
    struct lp *lp = processor("max");

    for (unsigned bit = 0; bit < 64; bit++)
        check_write(lp, index, BIT(bit), (writable | ignored) & BIT(bit),
                    (writable & BIT(bit)) | architectural[_i].reset);
}
END_TEST

/* Memory types 2 and 3 are reserved (11.12.2). */
START_TEST(pat_encodings)
{
    struct lp *lp = processor("max");

    for (unsigned lo = 0; lo < 64; lo += 8)
        for (uint64_t v = 0; v < 8; v++)
            check_write(lp, 0x277, v << lo, v != 2 && v != 3, v << lo);
}
END_TEST

/* Where the value goes that instructions use. */
START_TEST(architectural_storage)
{
    static const struct {
        uint32_t index;
        size_t offset; /* in struct arch_state */
    } rows[] = {
#define AT(member) offsetof(struct arch_state, member)
        { 0x174, AT(sysenter_cs) },
        { 0x175, AT(sysenter_esp) },
        { 0x176, AT(sysenter_eip) },
        { 0xc0000080, AT(efer) },
        { 0xc0000081, AT(star) },
        { 0xc0000082, AT(lstar) },
        { 0xc0000083, AT(cstar) },
        { 0xc0000084, AT(fmask) },
        { 0xc0000100, AT(sreg[ARCH_FS].base) },
        { 0xc0000101, AT(sreg[ARCH_GS].base) },
        { 0xc0000102, AT(kernel_gs_base) },
        { 0xc0000103, AT(tsc_aux) },
    };
    struct lp *lp = processor("max");

    for (int i = 0; i < TEST_COUNT(rows); i++) {
        const uint64_t *at =
            (const uint64_t *)(const void *)((const char *)&lp->arch + rows[i].offset);

        check_write(lp, rows[i].index, 0x801, true, 0x801);
        ck_assert_msg(*at == 0x801, "%x", rows[i].index);
    }
}
END_TEST

/* LME cannot change while paging is on; the rest of IA32_EFER can, and LMA never does. */
START_TEST(efer)
{
    struct lp *lp = processor("max");

    lp->arch.cr0 |= CR0_PG;
    check_write(lp, 0xc0000080, 0x100, false, 0);
    check_write(lp, 0xc0000080, 0x801, true, 0x801);
    lp->arch.efer = 0x500;
    check_write(lp, 0xc0000080, 0x400, false, 0);
    check_write(lp, 0xc0000080, 0x101, true, 0x501);
    lp->arch.cr0 &= ~CR0_PG;
    lp->arch.efer = 0x100;
    check_write(lp, 0xc0000080, 0, true, 0);
}
END_TEST

/* The TSC runs with the clock, which a WRMSR advances by its cycles before it writes. */
START_TEST(tsc)
{
    const struct ptsim_event event = { .kind = EV_WRMSR, .insns = 1, .cycles = 50 };
    struct lp *lp = processor("max");

    lp->clock.core = 1000;
    ck_assert_uint_eq(read_back(lp, 0x10), 1000);
    ck_assert(!lp_wrmsr(lp, 0x10, 7, &event).raised);
    ck_assert_uint_eq(lp->clock.core, 1050);
    ck_assert_uint_eq(read_back(lp, 0x10), 7);
    lp->clock.core += 5;
    ck_assert_uint_eq(read_back(lp, 0x10), 12);
    /* A write that faults takes no time of its own. */
    ck_assert(lp_wrmsr(lp, 0xce, 0x1500, &event).raised);
    ck_assert_uint_eq(lp->clock.core, 1055);
}
END_TEST

START_TEST(read_only)
{
    struct lp *lp = processor("max");

    ck_assert(!write_ok(lp, 0xce, 0x1500));
    ck_assert(!write_ok(lp, 0xce, 0));
}
END_TEST

/* IA32_XSS is there with XSAVES, and its bit 8 with PT. */
START_TEST(xss)
{
    struct cpu_profile profile = *cpu_profile_find("max");

    profile.xsaves = true;
    power_on(&lp_rig, &profile);
    for (unsigned bit = 0; bit < 64; bit++)
        check_write(&lp_rig.lp, 0xda0, BIT(bit), bit == 8, 0x100);
    profile.pt = false;
    power_on(&lp_rig, &profile);
    check_write(&lp_rig.lp, 0xda0, 0x100, false, 0);
    check_write(&lp_rig.lp, 0xda0, 0, true, 0);
}
END_TEST

static TCase *table_tests(void)
{
    TCase *tcase = tcase_create("table");

    tcase_add_test(tcase, rows_apart);
    tcase_add_test(tcase, fields_apart);
    tcase_add_loop_test(tcase, resets_are_legal, 0, TEST_COUNT(profiles));
    tcase_add_loop_test(tcase, every_index, 0, TEST_COUNT(profiles));
    return tcase;
}

static TCase *architectural_tests(void)
{
    TCase *tcase = tcase_create("architectural");

    tcase_add_loop_test(tcase, architectural_bits, 0, TEST_COUNT(architectural));
    tcase_add_test(tcase, pat_encodings);
    tcase_add_test(tcase, architectural_storage);
    tcase_add_test(tcase, efer);
    tcase_add_test(tcase, tsc);
    tcase_add_test(tcase, read_only);
    tcase_add_test(tcase, xss);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("msr");

    suite_add_tcase(suite, table_tests());
    suite_add_tcase(suite, architectural_tests());
    return suite_run(suite);
}
