/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page walk against the manual's tables (SDM vol. 3A, chapter 4). */
#include "../models/arch/paging.h"

#include <stdio.h>

#include "flat_mem.h"
#include "suite.h"

#define BITMASK(hi, lo) ((~UINT64_C(0) >> (63 - (hi))) & (~UINT64_C(0) << (lo)))
#define XD              (UINT64_C(1) << 63)

enum {
    P = 1,
    W = 2,
    U = 4,
    A = 0x20,
    D = 0x40,
    PS = 0x80
};
enum {
    TABLES = 0x10000
}; /* that of level n at TABLES + n * 1000H */

enum mode {
    M32,
    MPAE,
    M4,
    M5,
    MODES
};

static const struct {
    const char *name;
    unsigned levels, index_bits, entry_size;
    uint64_t cr4, efer;
} modes[MODES] = {
    [M32] = { "32-bit", 2, 10, 4, CR4_PSE, 0 },
    [MPAE] = { "PAE", 2, 9, 8, CR4_PAE, 0 },
    [M4] = { "4-level", 4, 9, 8, CR4_PAE, EFER_LME | EFER_LMA },
    [M5] = { "5-level", 5, 9, 8, CR4_PAE | CR4_LA57, EFER_LME | EFER_LMA },
};

static struct arch_state state;
static struct arch_limits limits;
static enum mode mode;

static void start(enum mode m)
{
    mode = m;
    memset(flat, 0, sizeof(flat));
    memset(&state, 0, sizeof(state));
    limits = (struct arch_limits){ .maxphyaddr = 46, .linear_width = 57 };
    state.rflags = RFLAGS_FIXED1;
    state.cr0 = CR0_PE | CR0_PG | CR0_WP;
    state.cr4 = modes[m].cr4;
    state.efer = modes[m].efer | EFER_NXE;
    state.cr3 = TABLES + 0x1000 * modes[m].levels;
    for (unsigned i = 0; i < 4; i++)
        state.pdpte[i] = (TABLES + 0x2000) | P;
}

/* Where the entry of LEVEL for LINEAR lies. */
static uint64_t entry_at(unsigned level, uint64_t linear)
{
    unsigned shift = 12 + modes[mode].index_bits * (level - 1);
    uint64_t index = linear >> shift & ((1u << modes[mode].index_bits) - 1);

    return TABLES + 0x1000 * level + index * modes[mode].entry_size;
}

static uint64_t entry(unsigned level, uint64_t linear)
{
    return peek(entry_at(level, linear), modes[mode].entry_size);
}

static void put_entry(unsigned level, uint64_t linear, uint64_t value)
{
    poke(entry_at(level, linear), value, modes[mode].entry_size);
}

/* Entries from the top to LEAF, which is LEAF_ENTRY; those above have UPPER for flags. */
static void map(uint64_t linear, unsigned leaf, uint64_t leaf_entry, uint64_t upper)
{
    for (unsigned level = modes[mode].levels; level > leaf; level--)
        put_entry(level, linear, (TABLES + 0x1000 * (level - 1)) | upper);
    put_entry(leaf, linear, leaf_entry);
}

static struct arch_fault translate(uint64_t linear, enum arch_access access, unsigned cpl,
                                   struct arch_translation *out)
{
    return arch_translate(&state, &limits, &flat_port, linear, access, cpl, out);
}

static void check_pf(struct arch_fault fault, uint64_t address, uint32_t error, const char *what)
{
    ck_assert_msg(fault.raised && fault.vector == ARCH_PF && fault.has_error, "%s: no #PF", what);
    ck_assert_msg(fault.error == error, "%s: error %x, not %x", what, fault.error, error);
    ck_assert_msg(fault.address == address, "%s: address %jx", what, (uintmax_t)fault.address);
}

/* Sizes and addresses, worked out by hand. */
static const struct {
    enum mode mode;
    unsigned leaf;
    uint64_t linear, entry, phys, page_size;
} sizes[] = {
    { M32, 1, 0x12345678, 0xabcde007, 0xabcde678, 0x1000 },
    { M32, 2, 0x12745678, 0xabc00087, 0xabf45678, 0x400000 },
    /* PSE-36: bits 20:13 of the entry are bits 39:32 of the address. */
    { M32, 2, 0x12345678, 0xab800087 | 0x5a << 13, 0x5aabb45678, 0x400000 },
    { MPAE, 1, 0xc2345678, 0x123456789007, 0x123456789678, 0x1000 },
    { MPAE, 2, 0xc2345678, 0x123456600087, 0x123456745678, 0x200000 },
    { M4, 1, 0x7f8912345678, 0x123456789007, 0x123456789678, 0x1000 },
    { M4, 1, 0xffff812345678123, 0x8000123456789067, 0x123456789123, 0x1000 },
    { M4, 2, 0x7f8912345678, 0x123456600087, 0x123456745678, 0x200000 },
    { M4, 3, 0x7f8912345678, 0x123440000087, 0x123452345678, 0x40000000 },
    { M5, 1, 0x00ff7f8912345678, 0x123456789007, 0x123456789678, 0x1000 },
    { M5, 3, 0xff127f8912345678, 0x123440000087, 0x123452345678, 0x40000000 },
    /* Bit 12 of a large page's entry is PAT, no part of the address. */
    { M4, 2, 0x7f8912345678, 0x123456601087, 0x123456745678, 0x200000 },
};

START_TEST(page_sizes)
{
    struct arch_translation out;

    start(sizes[_i].mode);
    map(sizes[_i].linear, sizes[_i].leaf, sizes[_i].entry, P | W | U);
    ck_assert(!translate(sizes[_i].linear, ARCH_READ, 3, &out).raised);
    ck_assert_uint_eq(out.phys, sizes[_i].phys);
    ck_assert_uint_eq(out.page_size, sizes[_i].page_size);
}
END_TEST

/* Access rights (SDM 4.6.1): what works of read, write and fetch at CPL 0, for an implicit
 * supervisor access, and at CPL 3. */
static const struct {
    uint64_t upper, leaf, cr0_clear, cr4, rflags;
    const char *cpl0, *implicit, *cpl3;
} rights[] = {
    { U | W, U | W, 0, 0, 0, "RWX", "RWX", "RWX" },
    { U | W, W, 0, 0, 0, "RWX", "RWX", "---" },
    { W, U | W, 0, 0, 0, "RWX", "RWX", "---" },
    { U | W, U, 0, 0, 0, "R-X", "R-X", "R-X" },
    { U, U | W, 0, 0, 0, "R-X", "R-X", "R-X" },
    { U, U | W, CR0_WP, 0, 0, "RWX", "RWX", "R-X" },
    { 0, 0, 0, 0, 0, "R-X", "R-X", "---" },
    { 0, 0, CR0_WP, 0, 0, "RWX", "RWX", "---" },
    { U | W, U | W, 0, CR4_SMEP, 0, "RW-", "RW-", "RWX" },
    { U | W, W, 0, CR4_SMEP, 0, "RWX", "RWX", "---" },
    { U | W, U | W, 0, CR4_SMAP, 0, "--X", "--X", "RWX" },
    { U | W, U | W, 0, CR4_SMAP, RFLAGS_AC, "RWX", "--X", "RWX" },
    { U | W, W, 0, CR4_SMAP, 0, "RWX", "RWX", "---" },
    { U | W, U, 0, CR4_SMAP, RFLAGS_AC, "R-X", "--X", "R-X" },
    { U | W, U, CR0_WP, CR4_SMAP, 0, "--X", "--X", "R-X" },
    { U | W, U | W, 0, CR4_SMAP | CR4_SMEP, 0, "---", "---", "RWX" },
    { U | W, U | W | XD, 0, 0, 0, "RW-", "RW-", "RW-" },
    { U | W | XD, U | W, 0, 0, 0, "RW-", "RW-", "RW-" },
    { U | W, W | XD, 0, CR4_SMEP, 0, "RW-", "RW-", "---" },
};

static void check_access(const char *allowed, enum arch_access access, unsigned cpl)
{
    static const char letters[] = "RWX";
    bool ok = strchr(allowed, letters[access]);
    uint32_t error = P | (access == ARCH_WRITE ? W : 0) | (cpl == 3 ? U : 0);
    struct arch_translation out;
    struct arch_fault fault = translate(0x5123, access, cpl, &out);
    char what[80];

    if (access == ARCH_FETCH && ((state.cr4 & CR4_SMEP) || mode != M32))
        error |= 0x10;
    snprintf(what, sizeof(what), "%s, access %c, privilege %u", modes[mode].name, letters[access],
             cpl);
    if (!ok) {
        check_pf(fault, 0x5123, error, what);
        return;
    }
    ck_assert_msg(!fault.raised, "%s: %x", what, fault.error);
    ck_assert_msg(out.read == (strchr(allowed, 'R') != NULL), "%s: read", what);
    ck_assert_msg(out.execute == (strchr(allowed, 'X') != NULL), "%s: execute", what);
    if (access == ARCH_WRITE)
        ck_assert_msg(out.write, "%s: write", what);
    if (!strchr(allowed, 'W'))
        ck_assert_msg(!out.write, "%s: write", what);
}

START_TEST(access_rights)
{
    for (enum mode m = 0; m < MODES; m++) {
        uint64_t upper = rights[_i].upper, leaf = rights[_i].leaf;

        if (((upper | leaf) & XD) && m == M32)
            continue;
        start(m);
        state.cr0 &= ~rights[_i].cr0_clear;
        state.cr4 |= rights[_i].cr4;
        state.rflags |= rights[_i].rflags;
        map(0x5123, 1, 0x4000 | P | leaf, P | upper);
        for (enum arch_access access = ARCH_READ; access <= ARCH_FETCH; access++) {
            check_access(rights[_i].cpl0, access, 0);
            check_access(rights[_i].cpl0, access, 2);
            check_access(rights[_i].implicit, access, ARCH_IMPLICIT);
            check_access(rights[_i].cpl3, access, 3);
        }
    }
}
END_TEST

/* XD is reserved without EFER.NXE, and the fetch bit of the error code then says nothing. */
START_TEST(nx_disabled)
{
    struct arch_translation out;

    start((enum mode)_i);
    state.efer &= ~EFER_NXE;
    map(0x5000, 1, 0x4000 | P | XD, P | W | U);
    if (_i != M32)
        check_pf(translate(0x5000, ARCH_READ, 0, &out), 0x5000, 0x9, "XD");
    put_entry(1, 0x5000, 0);
    check_pf(translate(0x5000, ARCH_FETCH, 3, &out), 0x5000, U, "fetch");
    state.cr4 |= CR4_SMEP;
    check_pf(translate(0x5000, ARCH_FETCH, 3, &out), 0x5000, U | 0x10, "fetch under SMEP");
}
END_TEST

/* An entry of any level may be not present; nothing but P counts then, and no flag is set. */
START_TEST(not_present)
{
    struct arch_translation out;

    start((enum mode)_i);
    for (unsigned absent = 1; absent <= modes[_i].levels; absent++) {
        map(0x5000, 1, 0x4000 | P | W | U, P | W | U);
        put_entry(absent, 0x5000, (uint32_t)~P);
        check_pf(translate(0x5678, ARCH_READ, 0, &out), 0x5678, 0, "read at CPL 0");
        check_pf(translate(0x5678, ARCH_WRITE, 3, &out), 0x5678, W | U, "write at CPL 3");
        check_pf(translate(0x5678, ARCH_FETCH, 3, &out), 0x5678, _i == M32 ? U : 0x10 | U,
                 "fetch at CPL 3");
        for (unsigned level = modes[_i].levels; level > absent; level--)
            ck_assert_uint_eq(entry(level, 0x5000) & (A | D), 0);
    }
    if (_i == MPAE) {
        state.pdpte[2] = ~(uint64_t)P;
        check_pf(translate(0x80005000, ARCH_READ, 3, &out), 0x80005000, U, "PDPTE");
    }
}
END_TEST

/* The reserved bits of every kind of entry, as the manual's tables list them, each set alone. */
static const struct {
    enum mode mode;
    unsigned level;
    bool leaf;
    uint8_t maxphyaddr;
    bool nxe;
    uint64_t reserved;
} reserved[] = {
    { M32, 1, true, 36, true, 0 },
    { M32, 2, false, 36, true, 0 },
    { M32, 2, true, 32, true, BITMASK(21, 13) },
    { M32, 2, true, 36, true, BITMASK(21, 17) },
    { M32, 2, true, 40, true, BITMASK(21, 21) },
    { M32, 2, true, 52, true, BITMASK(21, 21) },
    { MPAE, 1, true, 36, true, BITMASK(62, 36) },
    { MPAE, 1, true, 36, false, BITMASK(63, 36) },
    { MPAE, 1, true, 52, true, BITMASK(62, 52) },
    { MPAE, 2, false, 36, true, BITMASK(62, 36) },
    { MPAE, 2, true, 36, true, BITMASK(62, 36) | BITMASK(20, 13) },
    { M4, 1, true, 36, true, BITMASK(51, 36) },
    { M4, 1, true, 52, true, 0 },
    { M4, 1, true, 52, false, XD },
    { M4, 2, false, 46, false, BITMASK(51, 46) | XD },
    { M4, 2, true, 46, true, BITMASK(51, 46) | BITMASK(20, 13) },
    { M4, 3, false, 46, true, BITMASK(51, 46) },
    { M4, 3, true, 46, true, BITMASK(51, 46) | BITMASK(29, 13) },
    { M4, 4, false, 46, true, BITMASK(51, 46) | PS },
    { M5, 1, true, 46, true, BITMASK(51, 46) },
    { M5, 4, false, 46, true, BITMASK(51, 46) | PS },
    { M5, 5, false, 46, false, BITMASK(51, 46) | PS | XD },
};

/* Memory that is all zero outside the array: a table there has no entry that is present. */
static void zero_read(void *ctx, uint64_t phys, void *buf, size_t size)
{
    if (phys + size <= FLAT_SIZE)
        flat_read(ctx, phys, buf, size);
    else
        memset(buf, 0, size);
}

static const struct mem_port zero_port = { .read = zero_read, .write = flat_write };

static bool rsvd_fault(struct arch_fault fault)
{
    return fault.raised && fault.vector == ARCH_PF && (fault.error & 0x8);
}

START_TEST(reserved_bits)
{
    unsigned level = reserved[_i].level;
    unsigned width = modes[reserved[_i].mode].entry_size * 8;

    start(reserved[_i].mode);
    limits.maxphyaddr = reserved[_i].maxphyaddr;
    if (!reserved[_i].nxe)
        state.efer &= ~EFER_NXE;
    for (unsigned bit = 0; bit < width; bit++) {
        uint64_t flip = UINT64_C(1) << bit;
        bool want = reserved[_i].reserved & flip;
        struct arch_translation out;
        struct arch_fault fault;

        if (flip == PS && !reserved[_i].leaf && (level == 2 || level == 3))
            continue; /* that makes it a large page */
        if (reserved[_i].leaf)
            map(0x5000, level, P | W | U | (level > 1 ? PS : 0), P | W | U);
        else
            map(0x5000, 1, 0x4000 | P | W | U, P | W | U);
        put_entry(level, 0x5000, entry(level, 0x5000) | flip);
        fault = arch_translate(&state, &limits, &zero_port, 0x5000, ARCH_READ, 3, &out);
        ck_assert_msg(rsvd_fault(fault) == want, "bit %u", bit);
        if (want)
            check_pf(fault, 0x5000, 0xd, "reserved bit");
    }
}
END_TEST

/* Without 1-GByte pages bit 7 of a PDPTE is reserved; without CR4.PSE that of a PDE is
 * ignored. */
START_TEST(page_size_bit)
{
    struct arch_translation out;

    start(M4);
    limits.no_1gb_pages = true;
    map(0x5000, 3, P | U | PS, P | U);
    check_pf(translate(0x5000, ARCH_READ, 3, &out), 0x5000, 0xd, "1-GByte page");
    start(M32);
    state.cr4 &= ~CR4_PSE;
    map(0x5000, 1, 0x4000 | P | U, P | U);
    put_entry(2, 0x5000, entry(2, 0x5000) | PS);
    ck_assert(!translate(0x5678, ARCH_READ, 3, &out).raised);
    ck_assert_uint_eq(out.phys, 0x4678);
    ck_assert_uint_eq(out.page_size, 0x1000);
}
END_TEST

/* Accessed and dirty flags (SDM 4.8); with 2: in large pages. */
START_TEST(accessed_dirty)
{
    for (unsigned leaf = 1; leaf <= 2; leaf++) {
        uint64_t flags = P | W | U | (leaf > 1 ? PS : 0);
        struct arch_translation out;

        start((enum mode)_i);
        map(0x5000, leaf, flags, P | W | U);
        ck_assert(!translate(0x5000, ARCH_READ, 3, &out).raised);
        ck_assert(!out.write && out.read && out.user);
        for (unsigned level = modes[_i].levels; level >= leaf; level--)
            ck_assert_uint_eq(entry(level, 0x5000) & (A | D), A);
        ck_assert(!translate(0x5000, ARCH_WRITE, 3, &out).raised);
        ck_assert(out.write);
        ck_assert_uint_eq(entry(leaf, 0x5000), flags | A | D);
        for (unsigned level = modes[_i].levels; level > leaf; level--)
            ck_assert_uint_eq(entry(level, 0x5000) & (A | D), A);
        ck_assert(!translate(0x5000, ARCH_READ, 3, &out).raised);
        ck_assert(out.write);
    }
}
END_TEST

/* An access that faults, and a probe, leave every flag as it was. */
START_TEST(flags_left_alone)
{
    struct arch_translation out;

    start((enum mode)_i);
    map(0x5000, 1, 0x4000 | P | U, P | W | U);
    check_pf(translate(0x5000, ARCH_WRITE, 3, &out), 0x5000, P | W | U, "write");
    ck_assert(!arch_linear_probe(&state, &limits, &flat_port, 0x5000, 8, ARCH_READ, 3).raised);
    for (unsigned level = modes[_i].levels; level > 0; level--)
        ck_assert_uint_eq(entry(level, 0x5000) & (A | D), 0);
}
END_TEST

START_TEST(canonical)
{
    static const struct {
        enum mode mode;
        uint64_t linear;
        bool good;
    } rows[] = {
        { M4, 0x00007fffffffffff, true },  { M4, 0x0000800000000000, false },
        { M4, 0xffff7fffffffffff, false }, { M4, 0xffff800000000000, true },
        { M4, 0x8000000000000000, false }, { M5, 0x0000800000000000, true },
        { M5, 0x00ffffffffffffff, true },  { M5, 0x0100000000000000, false },
        { M5, 0xff00000000000000, true },  { M5, 0xfeffffffffffffff, false },
    };

    for (int i = 0; i < TEST_COUNT(rows); i++) {
        struct arch_translation out;
        struct arch_fault fault;

        start(rows[i].mode);
        fault = translate(rows[i].linear, ARCH_READ, 0, &out);
        ck_assert(fault.raised); /* nothing is mapped */
        ck_assert_uint_eq(fault.vector, rows[i].good ? ARCH_PF : ARCH_GP);
        ck_assert_uint_eq(fault.error, 0);
    }
}
END_TEST

START_TEST(paging_off)
{
    struct arch_translation out;

    start(M32);
    state.cr0 = CR0_PE;
    state.cr4 |= CR4_SMEP | CR4_SMAP;
    for (enum arch_access access = ARCH_READ; access <= ARCH_FETCH; access++) {
        ck_assert(!translate(UINT64_C(0x7fedcba98), access, 3, &out).raised);
        ck_assert_uint_eq(out.phys, 0xfedcba98);
        ck_assert_uint_eq(out.page_size, 0x1000);
        ck_assert(out.read && out.write && out.execute);
    }
}
END_TEST

/* Two pages that lie apart: 5000H at 8000H, 6000H at 4000H. */
static void map_two(uint64_t second_flags)
{
    map(0x5000, 1, 0x8000 | P | W | U, P | W | U);
    put_entry(1, 0x6000, 0x4000 | second_flags);
}

START_TEST(page_crossing)
{
    static const uint8_t data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    uint8_t back[8];

    start((enum mode)_i);
    map_two(P | W | U);
    ck_assert(!arch_linear_write(&state, &limits, &flat_port, 0x5ffd, data, 8, 3).raised);
    ck_assert_mem_eq(flat + 0x8ffd, data, 3);
    ck_assert_mem_eq(flat + 0x4000, data + 3, 5);
    ck_assert(!arch_linear_read(&state, &limits, &flat_port, 0x5ffd, back, 8, 3).raised);
    ck_assert_mem_eq(back, data, 8);
}
END_TEST

/* A write of which the second page faults has written nothing to the first. */
START_TEST(write_is_whole)
{
    static const uint8_t data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static const uint8_t zero[8];

    start((enum mode)_i);
    map_two(P | U);
    check_pf(arch_linear_write(&state, &limits, &flat_port, 0x5ffd, data, 8, 3), 0x6000, P | W | U,
             "second page");
    ck_assert_mem_eq(flat + 0x8ffd, zero, 3);
    ck_assert_uint_eq(entry(1, 0x5000) & (A | D), 0);
}
END_TEST

/* Below 64-bit mode an access runs over the end of 4 GBytes to address 0. */
START_TEST(wrap)
{
    uint8_t back[4];

    start((enum mode)_i);
    map(0xfffff000, 1, 0x8000 | P, P | W | U);
    map(0, 1, 0x4000 | P, P | W | U);
    map(0xfffff000, 1, 0x8000 | P, P | W | U);
    poke(0x8ffe, 0x1122, 2);
    poke(0x4000, 0x3344, 2);
    ck_assert(!arch_linear_read(&state, &limits, &flat_port, 0xfffffffe, back, 4, 0).raised);
    ck_assert_uint_eq(le_load(back, 4), 0x33441122);
}
END_TEST

/* Above and across 4 GBytes an access of IA-32e mode does not wrap: in compatibility mode one to a
 * descriptor table, in 64-bit mode any. */
START_TEST(no_wrap)
{
    static const struct {
        uint64_t linear;
        uint32_t cs_ar;
    } rows[] = {
        { 0x7f0000005ffe, 0 },
        { 0x7f0000005ffe, ARCH_AR_L },
        { 0xfffffffe, ARCH_AR_L },
    };

    for (int i = 0; i < TEST_COUNT(rows); i++) {
        uint64_t page = rows[i].linear & ~UINT64_C(0xfff);
        uint8_t back[4];

        start(M4);
        state.sreg[ARCH_CS].ar = rows[i].cs_ar;
        /* Across 4 GBytes both pages share a table: the indices wrap alike. */
        map(page + 0x1000, 1, 0x4000 | P, P | W | U);
        map(page, 1, 0x8000 | P, P | W | U);
        poke(0x8ffe, 0x1122, 2);
        poke(0x4000, 0x3344, 2);
        ck_assert(
            !arch_linear_read(&state, &limits, &flat_port, rows[i].linear, back, 4, 0).raised);
        ck_assert_uint_eq(le_load(back, 4), 0x33441122);
    }
}
END_TEST

/* SDM 4.4.1: reserved in a PDPTE are 63:MAXPHYADDR, 8:5 and 2:1, if it is present. */
START_TEST(pdptes)
{
    uint64_t bad = BITMASK(63, 46) | BITMASK(8, 5) | BITMASK(2, 1);

    start(MPAE);
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t flip = UINT64_C(1) << bit;

        for (unsigned i = 0; i < 4; i++) {
            uint64_t old = state.pdpte[i];
            struct arch_fault fault;

            memset(flat + 0x3000, 0, 0x40);
            poke(0x3020 + 8 * i, flip | P, 8);
            fault = arch_load_pdptes(&state, &limits, &flat_port, 0x3025);
            if (bad & flip) {
                ck_assert(fault.raised && fault.vector == ARCH_GP && fault.error == 0);
                ck_assert_uint_eq(state.pdpte[i], old);
            } else {
                ck_assert(!fault.raised);
                ck_assert_uint_eq(state.pdpte[i], flip | P);
            }
            poke(0x3020 + 8 * i, flip & ~(uint64_t)P, 8);
            ck_assert(!arch_load_pdptes(&state, &limits, &flat_port, 0x3025).raised);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("paging");
    TCase *tcase = tcase_create("paging");

    tcase_add_loop_test(tcase, page_sizes, 0, TEST_COUNT(sizes));
    tcase_add_loop_test(tcase, access_rights, 0, TEST_COUNT(rights));
    tcase_add_loop_test(tcase, nx_disabled, 0, MODES);
    tcase_add_loop_test(tcase, not_present, 0, MODES);
    tcase_add_loop_test(tcase, reserved_bits, 0, TEST_COUNT(reserved));
    tcase_add_test(tcase, page_size_bit);
    tcase_add_loop_test(tcase, accessed_dirty, 0, MODES);
    tcase_add_loop_test(tcase, flags_left_alone, 0, MODES);
    tcase_add_test(tcase, canonical);
    tcase_add_test(tcase, paging_off);
    tcase_add_loop_test(tcase, page_crossing, 0, MODES);
    tcase_add_loop_test(tcase, write_is_whole, 0, MODES);
    tcase_add_loop_test(tcase, wrap, M32, M4);
    tcase_add_test(tcase, no_wrap);
    tcase_add_test(tcase, pdptes);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
