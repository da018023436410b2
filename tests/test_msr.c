/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MSR table, and RDMSR and WRMSR of every index, every bit and every encoding. What is expected
 * is spelt out here from tables 33-6 to 33-9 and CPUID leaf 14H, not taken from the model. */
#include "../models/core/msr.h"

#include <string.h>

#include "../models/bits.h"
#include "../models/core/lp.h"
#include "suite.h"

/* ---- a processor and its memory ---- */

/* Memory of 64 KBytes from 0, with a ToPA table at 1000H: one region of 4 KBytes at 2000H, then
 * END back to the table. */
struct fixture {
    struct lp lp;
    uint8_t memory[0x10000];
};

static void memory_read(void *ctx, uint64_t phys, void *buf, size_t size)
{
    const struct fixture *f = ctx;

    memset(buf, 0xff, size);
    if (phys < sizeof(f->memory) && size <= sizeof(f->memory) - phys)
        memcpy(buf, f->memory + phys, size);
}

static void memory_write(void *ctx, uint64_t phys, const void *buf, size_t size)
{
    struct fixture *f = ctx;

    if (phys < sizeof(f->memory) && size <= sizeof(f->memory) - phys)
        memcpy(f->memory + phys, buf, size);
}

static void power_on(struct fixture *f, const struct cpu_profile *profile)
{
    const struct mem_port port = { f, memory_read, memory_write };

    memset(f->memory, 0, sizeof(f->memory));
    le_store(f->memory + 0x1000, 0x2000, 8);
    le_store(f->memory + 0x1008, 0x1001, 8);
    lp_init(&f->lp, profile, &port);
}

static struct fixture fixture;

static struct lp *processor(const char *profile)
{
    power_on(&fixture, cpu_profile_find(profile));
    return &fixture.lp;
}

/* ---- reads and writes that are checked ---- */

static bool is_gp(struct arch_fault fault)
{
    ck_assert(!fault.raised || (fault.vector == ARCH_GP && fault.has_error && !fault.error));
    return fault.raised;
}

static bool write_ok(struct lp *lp, uint32_t index, uint64_t value)
{
    const struct ptsim_event event = {
        .kind = EV_WRMSR, .insns = 1, .from_ip = 0x1000, .next_ip = 0x1002, .to_ip = 0x1002
    };

    return !is_gp(lp_wrmsr(lp, index, value, &event));
}

static uint64_t read_back(struct lp *lp, uint32_t index)
{
    uint64_t value = 0;

    ck_assert_msg(!is_gp(lp_rdmsr(lp, index, &value)), "RDMSR %x", index);
    return value;
}

/* The write must be taken and read back as READS, or fault and change nothing. */
static void check_write(struct lp *lp, uint32_t index, uint64_t value, bool ok, uint64_t reads)
{
    uint64_t before = read_back(lp, index);
    bool taken = write_ok(lp, index, value);
    uint64_t after = read_back(lp, index);

    ck_assert_msg(taken == ok, "%s: WRMSR %x of %#llx: %s", lp->profile->name, index,
                  (unsigned long long)value, taken ? "taken" : "#GP");
    ck_assert_msg(after == (ok ? reads : before), "%s: WRMSR %x of %#llx: reads %#llx",
                  lp->profile->name, index, (unsigned long long)value, (unsigned long long)after);
}

/* ---- the table ---- */

static const struct cpu_profile *profile_at(int i)
{
    return cpu_profile_at((unsigned)i);
}

enum {
    PROFILES = 5
};

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
    const struct cpu_profile *p = profile_at(_i);
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

/* Bits of the profiles that have one, in the order of the table of profiles. */
enum {
    MAX = 1,
    SKYLAKE = 2,
    BROADWELL = 4,
    ICELAKE = 8,
    NOPT = 16,
    ALL = 31
};
enum {
    PT = MAX | SKYLAKE | BROADWELL | ICELAKE,
    TWO_RANGES = MAX | SKYLAKE | ICELAKE
};

static const struct {
    uint32_t index;
    unsigned profiles;
    uint64_t reset;
} existing[] = {
    { 0x10, ALL, 0 },         { 0x1b, ALL, 0xfee00900 }, { 0xce, ALL, 0x1500 },
    { 0x174, ALL, 0 },        { 0x175, ALL, 0 },         { 0x176, ALL, 0 },
    { 0x1a0, ALL, 0x1801 },   { 0x1d9, ALL, 0 },         { 0x277, ALL, 0x0007040600070406 },
    { 0x560, PT, 0 },         { 0x561, PT, 0x7f },       { 0x570, PT, 0 },
    { 0x571, PT, 0 },         { 0x572, PT, 0 },          { 0x580, TWO_RANGES, 0 },
    { 0x581, TWO_RANGES, 0 }, { 0x582, TWO_RANGES, 0 },  { 0x583, TWO_RANGES, 0 },
    { 0x584, MAX, 0 },        { 0x585, MAX, 0 },         { 0x586, MAX, 0 },
    { 0x587, MAX, 0 },        { 0xc0000080, ALL, 0 },    { 0xc0000081, ALL, 0 },
    { 0xc0000082, ALL, 0 },   { 0xc0000083, ALL, 0 },    { 0xc0000084, ALL, 0 },
    { 0xc0000100, ALL, 0 },   { 0xc0000101, ALL, 0 },    { 0xc0000102, ALL, 0 },
    { 0xc0000103, ALL, 0 },
};

/* RDMSR gives the reset value or #GP; WRMSR of that value is taken or #GP. */
static void walk(struct lp *lp, unsigned profile, uint32_t first, uint32_t last)
{
    for (uint32_t index = first; index <= last; index++) {
        bool exists = false;
        uint64_t reset = 0, value = 0x5a5a;

        for (int i = 0; i < TEST_COUNT(existing); i++)
            if (existing[i].index == index && (existing[i].profiles & profile)) {
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
    struct lp *lp = processor(profile_at(_i)->name);

    walk(lp, 1u << _i, 0, 0x1fff);
    walk(lp, 1u << _i, 0xc0000000, 0xc0001fff);
    walk(lp, 1u << _i, 0xfffffff0, 0xfffffffe);
}
END_TEST

/* ---- IA32_RTIT_*: every bit and every encoding ---- */

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
        power_on(&fixture, &profile);
        struct lp *lp = &fixture.lp;

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
    power_on(&fixture, &profile);
    for (unsigned n = 0; n < 4; n++) {
        bool there = n < (unsigned)_i;

        for (uint64_t v = 1; v < 16; v++)
            check_write(&fixture.lp, 0x570, v << (32 + 4 * n), there && v < 3, v << (32 + 4 * n));
        for (uint32_t index = 0x580 + 2 * n; index < 0x582 + 2 * n; index++) {
            ck_assert_int_eq(is_gp(lp_rdmsr(&fixture.lp, index, &value)), !there);
            ck_assert_int_eq(write_ok(&fixture.lp, index, 0), there);
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
    power_on(&fixture, &profile);
    ck_assert(is_gp(lp_rdmsr(&fixture.lp, 0x560, &value)));
    ck_assert(is_gp(lp_rdmsr(&fixture.lp, 0x561, &value)));
    ck_assert(!write_ok(&fixture.lp, 0x560, 0));
    ck_assert(!write_ok(&fixture.lp, 0x561, 0x7f));
    check_write(&fixture.lp, 0x570, 0x41, true, 0x41);
    check_write(&fixture.lp, 0x570, 0x40, true, 0x40);
    check_write(&fixture.lp, 0x570, 0x01, false, 0);
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
    power_on(&fixture, lp->profile);
    for (int i = 0; i < TEST_COUNT(existing); i++)
        if (msr_find(existing[i].index)->exists(lp->profile))
            ck_assert_msg(read_back(lp, existing[i].index) == existing[i].reset, "%x",
                          existing[i].index);
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
    { 0x174, 0xffff, 0, 0 },
    { 0x175, 0x00007fffffffffff, 0, 0 },
    { 0x176, 0x00007fffffffffff, 0, 0 },
    { 0x1a0, 1, 0x1880, 0x1800 },
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
    power_on(&fixture, &profile);
    for (unsigned bit = 0; bit < 64; bit++)
        check_write(&fixture.lp, 0xda0, BIT(bit), bit == 8, 0x100);
    profile.pt = false;
    power_on(&fixture, &profile);
    check_write(&fixture.lp, 0xda0, 0x100, false, 0);
    check_write(&fixture.lp, 0xda0, 0, true, 0);
}
END_TEST

static TCase *table_tests(void)
{
    TCase *tcase = tcase_create("table");

    tcase_add_test(tcase, rows_apart);
    tcase_add_test(tcase, fields_apart);
    tcase_add_loop_test(tcase, resets_are_legal, 0, PROFILES);
    tcase_add_loop_test(tcase, every_index, 0, PROFILES);
    return tcase;
}

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
    suite_add_tcase(suite, rtit_tests());
    suite_add_tcase(suite, architectural_tests());
    return suite_run(suite);
}
