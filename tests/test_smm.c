/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SMM: every byte of both save maps, the state at entry, and what RSM takes, restores and refuses.
 */
#include "../models/smm/smm.h"

#include "../models/bits.h"
#include "arch_box.h"

/* Profiles with the maps of tables 32-1 and 32-3. */
static const char *const profiles[] = { "ia32", "max" };

enum {
    BASE = 0x40000,      /* SMBASE, so that all of it is in memory */
    MAP = BASE + 0x8000, /* what offsets of the maps are added to */
    END = 0x8000,        /* of the map */
    PATTERN = 0xa5,
};

static struct smm smm;
static struct smm_cpu smm_cpu;
static const struct smm_tracing off;
static struct smm_tracing restored;

/* A value in every register, other than that of table 32-4. */
static void setup(const char *profile, enum arch_mode mode)
{
    box_setup(mode, 0);
    smm_reset(&smm);
    smm.smbase = BASE;
    smm_cpu = (struct smm_cpu){ &smm, cpu, cpu_profile_find(profile) };
    for (unsigned i = 0; i < ARCH_GPRS; i++)
        state.gpr[i] = UINT64_C(0x1111111100000000) * (i + 1) + 0x01010101 * i;
    for (unsigned i = 0; i < 4; i++)
        state.pdpte[i] = 0x7001 + 0x1000 * i;
    state.dr[6] = 0xffff0ff1;
    state.dr[7] = 0x455;
    state.rip = 0x12345;
    state.rflags = 0x246;
    memset(flat + MAP, PATTERN, END);
}

static bool map64(void)
{
    return smm_map_is_64(smm_cpu.profile);
}

/* The row that has the byte at OFFSET; false: none. */
static bool row_of(unsigned offset, struct smm_field *field)
{
    for (unsigned i = 0; smm_field_at(map64(), i, field); i++)
        if (offset >= field->offset && offset < field->offset + (unsigned)field->size)
            return true;
    return false;
}

/* What an SMI writes is what is in a row, and all of it: done twice, over a pattern and over its
 * opposite, a byte that is written comes out the same. Reserved areas keep what was there, but for
 * the rows that the processor keeps in them. */
START_TEST(writes_rows_alone)
{
    static uint8_t first[END];
    struct smm_field field;

    setup(profiles[_i], ARCH_MODE_PROT32);
    smm_enter(&smm_cpu, &off);
    memcpy(first, flat + MAP, END);
    setup(profiles[_i], ARCH_MODE_PROT32);
    memset(flat + MAP, (uint8_t)~PATTERN, END);
    smm_enter(&smm_cpu, &off);
    for (unsigned offset = 0; offset < END; offset++)
        ck_assert_msg(row_of(offset, &field) == (first[offset] == flat[MAP + offset]),
                      "%s: byte %x", profiles[_i], offset);
}
END_TEST

/* No two rows share a byte, but where one is the upper half of the other's member. */
START_TEST(rows_do_not_overlap)
{
    static uint8_t used[END];
    struct smm_field field;

    setup(profiles[_i], ARCH_MODE_PROT32);
    memset(used, 0, sizeof(used));
    for (unsigned i = 0; smm_field_at(map64(), i, &field); i++) {
        ck_assert_uint_ge(field.offset, map64() ? 0x7c00 : 0x7e00);
        for (unsigned n = field.offset; n < field.offset + (unsigned)field.size; n++)
            ck_assert_msg(n < END && !used[n]++, "%s at %x", field.name, field.offset);
    }
}
END_TEST

/* What tables 32-1 and 32-3 have as reserved: rows there are of the processor's own. */
static const struct {
    bool map64;
    uint16_t first, last;
} reserved[] = {
    { false, 0x7fc0, 0x7fc3 }, { false, 0x7f03 + 1, 0x7f9f }, { false, 0x7e00, 0x7ef7 },
    { true, 0x7f04, 0x7f1b },  { true, 0x7ee4, 0x7ef7 },      { true, 0x7ed0, 0x7ed7 },
    { true, 0x7ea0, 0x7ec7 },  { true, 0x7e98, 0x7e9b },      { true, 0x7e90, 0x7e93 },
    { true, 0x7e48, 0x7e8b },  { true, 0x7df0, 0x7e3f },      { true, 0x7ddc, 0x7de7 },
    { true, 0x7c00, 0x7dcf },
};

static bool is_reserved(unsigned offset)
{
    for (int i = 0; i < TEST_COUNT(reserved); i++)
        if (reserved[i].map64 == map64() && offset >= reserved[i].first &&
            offset <= reserved[i].last)
            return true;
    return false;
}

START_TEST(keeps_in_reserved_areas)
{
    struct smm_field field;

    setup(profiles[_i], ARCH_MODE_PROT32);
    for (unsigned i = 0; smm_field_at(map64(), i, &field); i++)
        for (unsigned n = field.offset; n < field.offset + (unsigned)field.size; n++)
            ck_assert_msg(is_reserved(n) == (field.access == SMM_KEPT), "%s at %x", field.name, n);
}
END_TEST

/* Entry and RSM give back all that they do not share with the handler. */
START_TEST(comes_back)
{
    static const enum arch_mode modes[] = { ARCH_MODE_REAL,   ARCH_MODE_V86,    ARCH_MODE_PROT16,
                                            ARCH_MODE_PROT32, ARCH_MODE_COMPAT, ARCH_MODE_LONG64 };
    enum arch_mode mode = modes[_i % TEST_COUNT(modes)];

    setup("max", mode);
    if (_i >= TEST_COUNT(modes)) {
        setup("ia32", mode);
        if (arch_long_mode(&state))
            return;
        for (unsigned i = 0; i < ARCH_GPRS; i++)
            state.gpr[i] = i < 8 ? (uint32_t)state.gpr[i] : 0;
    }
    state.blocking_by_nmi = _i & 1;
    before = state;
    smm_enter(&smm_cpu, &(struct smm_tracing){ .trace_en = true, .lbr_en = _i & 2 });
    ck_assert(smm.in_smm && state.blocking_by_nmi);
    for (unsigned i = 0; i < ARCH_SREGS; i++)
        state.sreg[i].limit = 0xffff;
    memset(state.gpr, 0x77, sizeof(state.gpr));
    state.gdtr.base = state.idtr.base = state.tr.base = state.ldtr.base = 0x7777;
    ck_assert_int_eq(smm_resume(&smm_cpu, &off, &restored), SMM_RESUMED);
    ck_assert(!smm.in_smm && restored.trace_en);
    ck_assert_int_eq(restored.lbr_en, (_i & 2) != 0);
    ck_assert_mem_eq(&state, &before, sizeof(state));
}
END_TEST

/* 32-4 */
START_TEST(enters)
{
    setup("max", ARCH_MODE_LONG64);
    smm.smbase = 0x12345600;
    state.cr0 |= CR0_EM | CR0_TS | CR0_WP;
    smm_enter(&smm_cpu, &off);
    ck_assert_uint_eq(state.rflags, 2);
    ck_assert_uint_eq(state.rip, 0x8000);
    ck_assert_uint_eq(state.sreg[ARCH_CS].selector, 0x4560);
    ck_assert_uint_eq(state.sreg[ARCH_CS].base, 0x12345600);
    ck_assert_uint_eq(state.sreg[ARCH_CS].limit, UINT32_MAX);
    for (unsigned i = 0; i < ARCH_SREGS; i++)
        if (i != ARCH_CS) {
            ck_assert_uint_eq(state.sreg[i].selector, 0);
            ck_assert_uint_eq(state.sreg[i].base, 0);
            ck_assert_uint_eq(state.sreg[i].limit, UINT32_MAX);
        }
    ck_assert_uint_eq(state.cr0, CR0_ET | CR0_NE | CR0_WP);
    ck_assert_uint_eq(state.cr4, 0);
    ck_assert_uint_eq(state.dr[7], 0x400);
    ck_assert_uint_eq(arch_code_bits(&state), 16);
    ck_assert_uint_eq(arch_linear_ip(&state, state.rip), 0x1234d600);
}
END_TEST

/* 32.2 */
START_TEST(waits)
{
    setup("max", ARCH_MODE_LONG64);
    ck_assert(!smm_takes_smi(&smm_cpu));
    smm.pending = true;
    ck_assert(smm_takes_smi(&smm_cpu));
    state.rflags &= ~(uint64_t)RFLAGS_IF;
    state.blocking_by_nmi = true;
    ck_assert(smm_takes_smi(&smm_cpu));
    state.blocking_by_mov_ss = true;
    ck_assert(!smm_takes_smi(&smm_cpu) && smm_awaits_shadow(&smm_cpu));
    state.blocking_by_mov_ss = false;
    state.blocking_by_sti = true;
    ck_assert(!smm_takes_smi(&smm_cpu) && smm_awaits_shadow(&smm_cpu));
    state.blocking_by_sti = false;
    state.activity = ARCH_HLT;
    ck_assert(smm_takes_smi(&smm_cpu));
    state.activity = ARCH_SHUTDOWN;
    ck_assert(!smm_takes_smi(&smm_cpu));
    state.activity = ARCH_WAIT_FOR_SIPI;
    ck_assert(!smm_takes_smi(&smm_cpu));
    state.activity = ARCH_ACTIVE;
    smm.in_smm = true;
    ck_assert(!smm_takes_smi(&smm_cpu) && !smm_awaits_shadow(&smm_cpu));
}
END_TEST

/* What RSM refuses: 34.3.2 of the 2016 text, and TraceEn (33.2.9.3). */
static const struct {
    uint16_t offset;
    uint64_t value;
    bool trace_en;
    enum smm_outcome outcome;
} resumes[] = {
    { 0x7ff8, CR0_PE | CR0_PG | CR0_ET, false, SMM_RESUMED },
    { 0x7ff8, CR0_PG | CR0_ET, false, SMM_SHUTDOWN },
    { 0x7ff8, CR0_PE | CR0_PG | CR0_NW, false, SMM_SHUTDOWN },
    { 0x7ff8, CR0_PE | CR0_PG | CR0_NW | CR0_CD, false, SMM_RESUMED },
    { 0x7e40, CR4_PAE, false, SMM_RESUMED },
    { 0x7e40, CR4_PAE | CR4_PCIDE, false, SMM_RESUMED },
    { 0x7e40, CR4_PAE | UINT64_C(1) << 15, false, SMM_SHUTDOWN },
    { 0x7e40, CR4_PAE | UINT64_C(1) << 40, false, SMM_SHUTDOWN },
    { 0x7e40, CR4_PAE, true, SMM_SHUTDOWN },
};

START_TEST(refuses)
{
    struct smm_tracing now = { .trace_en = resumes[_i].trace_en };

    setup("max", ARCH_MODE_LONG64);
    smm_enter(&smm_cpu, &off);
    poke(MAP + resumes[_i].offset, resumes[_i].value, 8);
    ck_assert_int_eq(smm_resume(&smm_cpu, &now, &restored), resumes[_i].outcome);
    ck_assert_int_eq(state.activity,
                     resumes[_i].outcome == SMM_RESUMED ? ARCH_ACTIVE : ARCH_SHUTDOWN);
}
END_TEST

/* CR4.PCIDE needs IA-32e mode. */
START_TEST(refuses_pcide)
{
    setup("max", ARCH_MODE_PROT32);
    smm_enter(&smm_cpu, &off);
    poke(MAP + 0x7e40, CR4_PCIDE, 8);
    ck_assert_int_eq(smm_resume(&smm_cpu, &off, &restored), SMM_SHUTDOWN);
}
END_TEST

/* Tables 32-5 and 32-6, the port above them. */
static const struct {
    struct smm_io io;
    uint32_t state;
} ios[] = {
    { { .valid = false, .port = 0xb2, .size = 1 }, 0 },
    { { true, true, false, false, true, 1, 0x60, 0, 0 }, 0x00600093 },
    { { true, true, false, false, false, 2, 0x3f8, 0, 0 }, 0x03f80015 },
    { { true, false, false, false, true, 4, 0xb2, 0, 0 }, 0x00b20089 },
    { { true, false, false, false, false, 1, 0xffff, 0, 0 }, 0xffff0003 },
    { { true, true, true, false, false, 1, 0x60, 0, 0x1234 }, 0x00600033 },
    { { true, false, true, false, false, 2, 0x60, 0, 0x1234 }, 0x00600025 },
    { { true, true, true, true, false, 4, 0x60, 0, 0x1234 }, 0x00600079 },
    { { true, false, true, true, false, 1, 0x60, 0, 0x1234 }, 0x00600063 },
};

START_TEST(saves_io)
{
    setup("max", ARCH_MODE_LONG64);
    smm.io = ios[_i].io;
    smm.io.rip = 0x4321;
    smm_enter(&smm_cpu, &off);
    ck_assert_uint_eq(peek(MAP + 0x7fa4, 4), ios[_i].state);
    ck_assert_uint_eq(peek(MAP + 0x7f9c, 8), ios[_i].io.address);
    ck_assert_uint_eq(peek(MAP + 0x7de8, 8), ios[_i].io.valid ? 0x4321 : 0);
    ck_assert(!smm.io.valid);
    poke(MAP + 0x7f00, 0xff, 2);
    ck_assert_int_eq(smm_resume(&smm_cpu, &off, &restored), SMM_RESUMED);
    ck_assert_uint_eq(state.rip, ios[_i].io.valid ? 0x4321 : 0);
}
END_TEST

/* 32.9: without its flag in the revision identifier a field does nothing. */
START_TEST(revision)
{
    struct cpu_profile without = *cpu_profile_find("max");

    setup("max", ARCH_MODE_LONG64);
    without.smm_revision = 0x30004 & 0xffff;
    smm_cpu.profile = &without;
    smm.io = (struct smm_io){ .valid = true, .size = 1, .rip = 0x4321 };
    smm_enter(&smm_cpu, &off);
    ck_assert_uint_eq(peek(MAP + 0x7efc, 4), 4);
    poke(MAP + 0x7f00, 0xff, 2);
    poke(MAP + 0x7ef8, 0x50000, 4);
    ck_assert_int_eq(smm_resume(&smm_cpu, &off, &restored), SMM_RESUMED);
    ck_assert_uint_eq(state.rip, 0x12345);
    ck_assert_uint_eq(smm.smbase, BASE);
}
END_TEST

/* 32-7 */
START_TEST(halts)
{
    static const struct {
        enum arch_activity before;
        bool clears, sets, unasked;
        enum arch_activity after;
    } rows[] = {
        { ARCH_ACTIVE, false, false, true, ARCH_ACTIVE },
        { ARCH_ACTIVE, false, true, true, ARCH_HLT },
        { ARCH_ACTIVE, false, true, false, ARCH_ACTIVE },
        { ARCH_HLT, true, false, true, ARCH_ACTIVE },
        { ARCH_HLT, false, false, true, ARCH_HLT },
        { ARCH_HLT, false, true, false, ARCH_HLT },
    };
    struct cpu_profile profile = *cpu_profile_find("max");

    setup("max", ARCH_MODE_LONG64);
    profile.smm_halt_unasked = rows[_i].unasked;
    smm_cpu.profile = &profile;
    state.activity = rows[_i].before;
    smm_enter(&smm_cpu, &off);
    ck_assert_int_eq(state.activity, ARCH_ACTIVE);
    ck_assert_uint_eq(peek(MAP + 0x7f02, 2), rows[_i].before == ARCH_HLT);
    if (rows[_i].clears || rows[_i].sets)
        poke(MAP + 0x7f02, rows[_i].sets, 2);
    ck_assert_int_eq(smm_resume(&smm_cpu, &off, &restored), SMM_RESUMED);
    ck_assert_int_eq(state.activity, rows[_i].after);
}
END_TEST

/* 32-2 */
START_TEST(which_map)
{
    static const struct {
        uint32_t signature;
        bool intel64, map64;
    } rows[] = {
        { 0x006e8, false, false }, { 0x006f6, false, true },  { 0x10676, false, true },
        { 0x106c2, false, true },  { 0x006e8, true, true },   { 0x00f4a, false, false },
        { 0x006c2, false, false }, { 0x10f62, false, false },
    };
    struct cpu_profile profile = *cpu_profile_find("max");

    for (int i = 0; i < TEST_COUNT(rows); i++) {
        profile.signature = rows[i].signature;
        profile.intel64 = rows[i].intel64;
        ck_assert_msg(smm_map_is_64(&profile) == rows[i].map64, "%x", rows[i].signature);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("smm");
    TCase *tcase = tcase_create("smm");

    tcase_add_loop_test(tcase, writes_rows_alone, 0, TEST_COUNT(profiles));
    tcase_add_loop_test(tcase, rows_do_not_overlap, 0, TEST_COUNT(profiles));
    tcase_add_loop_test(tcase, keeps_in_reserved_areas, 0, TEST_COUNT(profiles));
    tcase_add_loop_test(tcase, comes_back, 0, 12);
    tcase_add_test(tcase, enters);
    tcase_add_test(tcase, waits);
    tcase_add_loop_test(tcase, refuses, 0, TEST_COUNT(resumes));
    tcase_add_test(tcase, refuses_pcide);
    tcase_add_loop_test(tcase, saves_io, 0, TEST_COUNT(ios));
    tcase_add_test(tcase, revision);
    tcase_add_loop_test(tcase, halts, 0, 6);
    tcase_add_test(tcase, which_map);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
