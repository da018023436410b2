/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IRET (SDM vol. 2, IRET). The return from a nested task is in test_task. */
#include "../models/arch/far.h"

#include "arch_box.h"

#define NOT_P(ar) ((ar) & ~(uint32_t)ARCH_AR_P)
#define CODE      SEL_FREE /* the descriptors of a row */
#define STACK     (SEL_FREE + 0x10)
#define PROT32    ARCH_MODE_PROT32
#define LONG64    ARCH_MODE_LONG64
#define COMPAT    ARCH_MODE_COMPAT

enum {
    OUTER_SP = 0x7f20
};

static void put_frame(unsigned opsize, const uint64_t *value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        poke(state.gpr[ARCH_RSP] + i * opsize, value[i], opsize);
}

static struct arch_fault iret(unsigned opsize)
{
    before = state;
    return arch_iret(&cpu, opsize, state.rip + 1);
}

/* Segments. The frame has CS, of rights AR at CODE, and SS, of rights SS_AR at STACK. */
static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    unsigned opsize;
    uint16_t cs;
    uint32_t ar;
    uint64_t ip;
    uint16_t ss;
    uint32_t ss_ar;
    struct expected expected;
} segments[] = {
    { "same level", PROT32, 0, 4, CODE, AR_CODE, 0x100, 0, 0, NO_FAULT },
    { "same level, 16 bits", PROT32, 0, 2, CODE, AR_CODE, 0x100, 0, 0, NO_FAULT },
    { "same level, CPL 3", PROT32, 3, 4, CODE | 3, AR_CODE | AR_DPL3, 0x100, 0, 0, NO_FAULT },
    { "compatibility mode, same level", COMPAT, 0, 4, CODE, AR_CODE | ARCH_AR_DB, 0x100, 0, 0,
      NO_FAULT },
    { "null", PROT32, 0, 4, 3, AR_CODE, 0x100, 0, 0, GP(0) },
    { "outside the GDT", PROT32, 0, 4, 0x200, AR_CODE, 0x100, 0, 0, GP(0x200) },
    { "data", PROT32, 0, 4, CODE, AR_DATA, 0x100, 0, 0, GP(CODE) },
    { "inner", PROT32, 1, 4, CODE, AR_CODE, 0x100, 0, 0, GP(CODE) },
    { "conforming", PROT32, 1, 4, CODE | 1, AR_CONFORMING, 0x100, 0, 0, NO_FAULT },
    { "conforming, DPL above RPL", PROT32, 0, 4, CODE, AR_CONFORMING | AR_DPL2, 0x100, 0, 0,
      GP(CODE) },
    { "DPL not RPL", PROT32, 0, 4, CODE | 3, AR_CODE | AR_DPL1, 0x100, STACK | 3, AR_DATA | AR_DPL3,
      GP(CODE) },
    { "not present", PROT32, 0, 4, CODE, NOT_P(AR_CODE), 0x100, 0, 0, NP(CODE) },
    { "past the limit", PROT32, 0, 4, CODE, AR_CODE, 0x10000, 0, 0, GP(0) },
    { "outer", PROT32, 0, 4, CODE | 3, AR_CODE | AR_DPL3, 0x100, STACK | 3, AR_DATA | AR_DPL3,
      NO_FAULT },
    { "outer, 16 bits", PROT32, 0, 2, CODE | 1, AR_CODE | AR_DPL1, 0x100, STACK | 1,
      AR_DATA | AR_DPL1, NO_FAULT },
    { "outer, null SS", PROT32, 0, 4, CODE | 3, AR_CODE | AR_DPL3, 0x100, 3, AR_DATA | AR_DPL3,
      GP(0) },
    { "outer, SS not of RPL", PROT32, 0, 4, CODE | 3, AR_CODE | AR_DPL3, 0x100, STACK | 1,
      AR_DATA | AR_DPL3, GP(STACK) },
    { "outer, SS not of DPL", PROT32, 0, 4, CODE | 3, AR_CODE | AR_DPL3, 0x100, STACK | 3, AR_DATA,
      GP(STACK) },
    { "outer, SS read-only", PROT32, 0, 4, CODE | 3, AR_CODE | AR_DPL3, 0x100, STACK | 3,
      AR_DATA_RO | AR_DPL3, GP(STACK) },
    { "outer, SS not present", PROT32, 0, 4, CODE | 3, AR_CODE | AR_DPL3, 0x100, STACK | 3,
      NOT_P(AR_DATA | AR_DPL3), SS(STACK) },
    { "64-bit mode pops SS at the same level", LONG64, 0, 8, CODE, AR_CODE | ARCH_AR_L,
      0x7fff00001234, STACK, AR_DATA, NO_FAULT },
    { "64-bit mode, null SS", LONG64, 0, 8, CODE, AR_CODE | ARCH_AR_L, 0x1234, 0, 0, NO_FAULT },
    { "64-bit mode, 32 bits", LONG64, 0, 4, CODE, AR_CODE | ARCH_AR_L, 0x1234, 0, 0, NO_FAULT },
    { "64-bit mode, null SS at CPL 1", LONG64, 0, 8, CODE | 1, AR_CODE | AR_DPL1 | ARCH_AR_L,
      0x1234, 1, 0, NO_FAULT },
    { "64-bit mode, null SS at CPL 3", LONG64, 0, 8, CODE | 3, AR_CODE | AR_DPL3 | ARCH_AR_L,
      0x1234, 3, 0, GP(0) },
    { "64-bit mode, null SS for compatibility", LONG64, 0, 8, CODE, AR_CODE | ARCH_AR_DB, 0x1234, 0,
      0, GP(0) },
    { "64-bit to compatibility", LONG64, 0, 8, CODE | 3, AR_CODE | AR_DPL3 | ARCH_AR_DB, 0x1234,
      STACK | 3, AR_DATA | AR_DPL3, NO_FAULT },
    { "64-bit, not canonical", LONG64, 0, 8, CODE, AR_CODE | ARCH_AR_L, 0x800000000000, STACK,
      AR_DATA, GP(0) },
    { "64-bit, SS outside the GDT", LONG64, 0, 8, CODE, AR_CODE | ARCH_AR_L, 0x1234, 0x200, AR_DATA,
      GP(0x200) },
    { "64-bit, SS read-only", LONG64, 0, 8, CODE, AR_CODE | ARCH_AR_L, 0x1234, STACK, AR_DATA_RO,
      GP(STACK) },
    { "L and D", LONG64, 0, 8, CODE, AR_CODE | ARCH_AR_L | ARCH_AR_DB, 0x1234, STACK, AR_DATA,
      GP(CODE) },
};

START_TEST(to_segment)
{
    unsigned opsize = segments[_i].opsize;
    uint64_t frame[] = { segments[_i].ip, segments[_i].cs, 0x246, OUTER_SP, segments[_i].ss };
    bool pops_stack = segments[_i].mode == LONG64 || (segments[_i].cs & 3) > segments[_i].cpl;
    struct arch_fault fault;

    box_setup(segments[_i].mode, segments[_i].cpl);
    gdt_put(CODE, descriptor(0, 0xffff, segments[_i].ar & ~1u));
    gdt_put(STACK, descriptor(0, 0xffff, segments[_i].ss_ar & ~1u));
    put_frame(opsize, frame, 5);
    state.rflags |= RFLAGS_RF;
    fault = iret(opsize);
    check_fault(fault, segments[_i].expected, segments[_i].name);
    if (fault.raised) {
        ck_assert_mem_eq(&state, &before, sizeof(state));
        return;
    }
    ck_assert_uint_eq(state.rip, segments[_i].ip);
    ck_assert_uint_eq(state.cpl, segments[_i].cs & 3u);
    ck_assert_uint_eq(state.sreg[ARCH_CS].selector, segments[_i].cs);
    if (pops_stack) {
        ck_assert_uint_eq(state.sreg[ARCH_SS].selector, segments[_i].ss);
        ck_assert_uint_eq(state.gpr[ARCH_RSP], OUTER_SP);
    } else {
        ck_assert_uint_eq(state.gpr[ARCH_RSP], before.gpr[ARCH_RSP] + 3 * opsize);
    }
}
END_TEST

/* Flags: all of them popped as 1 over zeroes, and as 0 over ones; CHANGED are those that follow. */
#define STATUS 0xcd5 /* CF, PF, AF, ZF, SF, DF, OF */
#define ALL    0x3f7fd5

static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    unsigned iopl;
    uint64_t cr4;
    unsigned opsize;
    uint64_t changed;
} flags[] = {
    { "real mode, 16 bits", ARCH_MODE_REAL, 0, 0, 0, 2,
      STATUS | RFLAGS_TF | RFLAGS_IF | RFLAGS_IOPL | RFLAGS_NT },
    { "real mode, 32 bits", ARCH_MODE_REAL, 0, 0, 0, 4,
      STATUS | RFLAGS_TF | RFLAGS_IF | RFLAGS_IOPL | RFLAGS_NT | RFLAGS_RF | RFLAGS_AC |
          RFLAGS_ID },
    { "CPL 0, 16 bits", PROT32, 0, 0, 0, 2,
      STATUS | RFLAGS_TF | RFLAGS_IF | RFLAGS_IOPL | RFLAGS_NT },
    { "CPL 0, 32 bits", PROT32, 0, 0, 0, 4, ALL & ~RFLAGS_VM },
    { "CPL 1 = IOPL", PROT32, 1, 1, 0, 4,
      STATUS | RFLAGS_TF | RFLAGS_IF | RFLAGS_NT | RFLAGS_RF | RFLAGS_AC | RFLAGS_ID },
    { "CPL 3 > IOPL", PROT32, 3, 2, 0, 4,
      STATUS | RFLAGS_TF | RFLAGS_NT | RFLAGS_RF | RFLAGS_AC | RFLAGS_ID },
    { "CPL 3 > IOPL, 16 bits", PROT32, 3, 0, 0, 2, STATUS | RFLAGS_TF | RFLAGS_NT },
    { "64-bit mode, CPL 0", LONG64, 0, 0, 0, 8, ALL & ~RFLAGS_VM },
    { "64-bit mode, CPL 3", LONG64, 3, 0, 0, 8,
      STATUS | RFLAGS_TF | RFLAGS_NT | RFLAGS_RF | RFLAGS_AC | RFLAGS_ID },
    { "64-bit mode, 16 bits", LONG64, 3, 3, 0, 2, STATUS | RFLAGS_TF | RFLAGS_IF | RFLAGS_NT },
    { "V86 mode, IOPL 3, 16 bits", ARCH_MODE_V86, 3, 3, 0, 2,
      STATUS | RFLAGS_TF | RFLAGS_IF | RFLAGS_NT },
    { "V86 mode, IOPL 3, 32 bits", ARCH_MODE_V86, 3, 3, 0, 4,
      STATUS | RFLAGS_TF | RFLAGS_IF | RFLAGS_NT | RFLAGS_RF | RFLAGS_AC | RFLAGS_ID },
};

static uint64_t return_with_flags(int row, uint64_t old, uint64_t popped)
{
    unsigned opsize = flags[row].opsize;
    uint64_t frame[] = { 0x100, 0, popped, OUTER_SP, 0 };

    box_setup(flags[row].mode, flags[row].cpl);
    frame[1] = state.sreg[ARCH_CS].selector;
    frame[4] = state.sreg[ARCH_SS].selector;
    put_frame(opsize, frame, 5);
    state.cr4 |= flags[row].cr4;
    state.rflags = (old & ~(uint64_t)(RFLAGS_IOPL | RFLAGS_VM | RFLAGS_NT)) | RFLAGS_FIXED1 |
                   flags[row].iopl << 12 | (flags[row].mode == ARCH_MODE_V86 ? RFLAGS_VM : 0);
    before = state;
    ck_assert_msg(!arch_iret(&cpu, opsize, 0).raised, "%s", flags[row].name);
    return state.rflags;
}

START_TEST(to_flags)
{
    uint64_t changed = flags[_i].changed;
    /* VM set would be a return to virtual-8086 mode. */
    uint64_t ones = flags[_i].mode == PROT32 && flags[_i].cpl == 0 ? ALL & ~RFLAGS_VM : ALL;
    uint64_t after = return_with_flags(_i, 0, ones);

    ck_assert_uint_eq(after, (before.rflags & ~changed) | changed);
    after = return_with_flags(_i, ALL, 0);
    /* RF was cleared as the instruction began. */
    ck_assert_uint_eq(after, before.rflags & ~changed & ~(uint64_t)RFLAGS_RF);
}
END_TEST

/* In virtual-8086 mode with IOPL below 3 (SDM vol. 3B, 21.3.2). */
static const struct {
    const char *name;
    uint64_t cr4;
    unsigned opsize;
    uint64_t rflags, popped;
    struct expected expected;
    uint64_t after;
} virtual_if[] = {
    { "no VME", 0, 2, 0, 0, GP(0), 0 },
    { "32 bits", CR4_VME, 4, 0, 0, GP(0), 0 },
    { "IF becomes VIF", CR4_VME, 2, 0, RFLAGS_IF | RFLAGS_CF, NO_FAULT, RFLAGS_VIF | RFLAGS_CF },
    { "and is cleared", CR4_VME, 2, RFLAGS_VIF | RFLAGS_IF, RFLAGS_IOPL, NO_FAULT, RFLAGS_IF },
    { "TF", CR4_VME, 2, 0, RFLAGS_TF, GP(0), 0 },
    { "VIP", CR4_VME, 2, RFLAGS_VIP, RFLAGS_IF, GP(0), 0 },
    { "VIP without IF", CR4_VME, 2, RFLAGS_VIP | RFLAGS_VIF, 0, NO_FAULT, RFLAGS_VIP },
};

START_TEST(to_virtual_if)
{
    uint64_t frame[] = { 0x100, 0x1234, virtual_if[_i].popped };
    struct arch_fault fault;

    box_setup(ARCH_MODE_V86, 3);
    state.cr4 |= virtual_if[_i].cr4;
    state.rflags |= virtual_if[_i].rflags;
    put_frame(virtual_if[_i].opsize, frame, 3);
    fault = iret(virtual_if[_i].opsize);
    check_fault(fault, virtual_if[_i].expected, virtual_if[_i].name);
    if (fault.raised) {
        ck_assert_mem_eq(&state, &before, sizeof(state));
        return;
    }
    ck_assert_uint_eq(state.rflags, RFLAGS_FIXED1 | RFLAGS_VM | virtual_if[_i].after);
    ck_assert_uint_eq(state.sreg[ARCH_CS].base, 0x12340);
}
END_TEST

START_TEST(real)
{
    uint64_t frame[] = { 0x5678, 0x1234, 0x202 };

    for (unsigned opsize = 2; opsize <= 4; opsize += 2) {
        box_setup(ARCH_MODE_REAL, 0);
        put_frame(opsize, frame, 3);
        ck_assert(!iret(opsize).raised);
        ck_assert_uint_eq(state.sreg[ARCH_CS].base, 0x12340);
        ck_assert_uint_eq(state.rip, 0x5678);
        ck_assert_uint_eq(state.rflags, 0x202);
        ck_assert_uint_eq(state.gpr[ARCH_RSP], before.gpr[ARCH_RSP] + 3 * opsize);
    }
    poke(state.gpr[ARCH_RSP], 0x10000, 4);
    check_fault(iret(4), (struct expected)GP(0), "past the limit");
}
END_TEST

static const uint64_t v86_frame[] = { 0x5678, 0x1111, 0x23202, 0xabcd7000, 0x2222,
                                      0x3333, 0x4444, 0x5555,  0x6666 };

START_TEST(to_v86)
{
    static const enum arch_sreg order[] = { ARCH_SS, ARCH_ES, ARCH_DS, ARCH_FS, ARCH_GS };

    box_setup(PROT32, 0);
    put_frame(4, v86_frame, 9);
    ck_assert(!iret(4).raised);
    ck_assert(arch_v86_mode(&state));
    ck_assert_uint_eq(state.cpl, 3);
    ck_assert_uint_eq(state.rip, 0x5678);
    ck_assert_uint_eq(state.rflags, 0x23202);
    ck_assert_uint_eq(state.gpr[ARCH_RSP], 0xabcd7000);
    ck_assert_uint_eq(state.sreg[ARCH_CS].base, 0x11110);
    for (int i = 0; i < TEST_COUNT(order); i++) {
        const struct arch_seg *seg = &state.sreg[order[i]];

        ck_assert_uint_eq(seg->selector, v86_frame[4 + i]);
        ck_assert_uint_eq(seg->base, v86_frame[4 + i] << 4);
        ck_assert_uint_eq(seg->limit, 0xffff);
        ck_assert_uint_eq(seg->ar, 0xf3);
    }
}
END_TEST

START_TEST(to_v86_past_the_limit)
{
    box_setup(PROT32, 0);
    put_frame(4, v86_frame, 9);
    poke(state.gpr[ARCH_RSP], 0x10000, 4);
    check_fault(iret(4), (struct expected)GP(0), "past the limit");
    ck_assert_mem_eq(&state, &before, sizeof(state));
}
END_TEST

/* VM in the popped image means nothing above CPL 0, in 16 bits, and in IA-32e mode. */
START_TEST(no_v86)
{
    static const struct {
        enum arch_mode mode;
        uint8_t cpl;
        unsigned opsize;
    } rows[] = { { PROT32, 3, 4 }, { PROT32, 0, 2 }, { LONG64, 0, 8 }, { COMPAT, 0, 4 } };
    uint64_t frame[] = { 0x100, 0, 0x20202, OUTER_SP, 0 };

    box_setup(rows[_i].mode, rows[_i].cpl);
    frame[1] = state.sreg[ARCH_CS].selector;
    frame[4] = state.sreg[ARCH_SS].selector;
    put_frame(rows[_i].opsize, frame, 5);
    ck_assert(!iret(rows[_i].opsize).raised);
    ck_assert(!arch_v86_mode(&state));
    ck_assert_uint_eq(state.rip, 0x100);
}
END_TEST

/* NMIs are unblocked, even by an IRET that faults. */
START_TEST(unblocks_nmi)
{
    uint64_t frame[] = { 0x100, _i ? 0 : ARCH_FLAT_CODE(0), 2 };

    box_setup(PROT32, 0);
    put_frame(4, frame, 3);
    state.blocking_by_nmi = true;
    ck_assert_int_eq(iret(4).raised, _i);
    ck_assert(!state.blocking_by_nmi);
    before.blocking_by_nmi = false;
    if (_i)
        ck_assert_mem_eq(&state, &before, sizeof(state));
}
END_TEST

START_TEST(nested_task_in_ia32e)
{
    box_setup(_i ? COMPAT : LONG64, 0);
    state.rflags |= RFLAGS_NT;
    check_fault(iret(4), (struct expected)GP(0), "NT");
}
END_TEST

START_TEST(segments_dropped)
{
    uint64_t frame[] = { 0x100, ARCH_FLAT_CODE(3), 2, OUTER_SP, ARCH_FLAT_DATA(3) };

    box_setup(LONG64, 0);
    put_frame(8, frame, 5);
    ck_assert(!arch_load_sreg(&cpu, ARCH_ES, ARCH_FLAT_DATA(3)).raised);
    state.sreg[ARCH_FS].base = 0x7f0000001000;
    arch_load_sreg(&cpu, ARCH_GS, 0);
    state.sreg[ARCH_GS].base = 0x7f0000002000;
    ck_assert(!iret(8).raised);
    ck_assert_uint_eq(state.sreg[ARCH_ES].selector, ARCH_FLAT_DATA(3));
    ck_assert_uint_eq(state.sreg[ARCH_DS].selector, 0);
    ck_assert_uint_eq(state.sreg[ARCH_FS].selector, 0);
    /* The bases that WRMSR gave stay. */
    ck_assert_uint_eq(state.sreg[ARCH_FS].base, 0x7f0000001000);
    ck_assert_uint_eq(state.sreg[ARCH_GS].base, 0x7f0000002000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("iret");
    TCase *tcase = tcase_create("iret");

    tcase_add_loop_test(tcase, to_segment, 0, TEST_COUNT(segments));
    tcase_add_loop_test(tcase, to_flags, 0, TEST_COUNT(flags));
    tcase_add_loop_test(tcase, to_virtual_if, 0, TEST_COUNT(virtual_if));
    tcase_add_test(tcase, real);
    tcase_add_test(tcase, to_v86);
    tcase_add_test(tcase, to_v86_past_the_limit);
    tcase_add_loop_test(tcase, no_v86, 0, 4);
    tcase_add_loop_test(tcase, unblocks_nmi, 0, 2);
    tcase_add_loop_test(tcase, nested_task_in_ia32e, 0, 2);
    tcase_add_test(tcase, segments_dropped);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
