/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Far JMP, CALL and RETF (SDM vol. 2, each instruction's page; vol. 3A, 5.8). */
#include "../models/arch/far.h"

#include "arch_box.h"

#define NOT_P(ar) ((ar) & ~(uint32_t)ARCH_AR_P)
#define TARGET    SEL_FREE          /* the code segment of a row */
#define GATE      (SEL_FREE + 0x10) /* the gate to it */
#define NEXT      0x1234u           /* the address after the instruction */

enum instruction {
    JMP,
    CALL
};

static struct arch_fault transfer(enum instruction instruction, uint16_t selector, uint64_t offset,
                                  unsigned opsize)
{
    before = state;
    return instruction == JMP ? arch_far_jmp(&cpu, selector, offset, opsize, NEXT)
                              : arch_far_call(&cpu, selector, offset, opsize, NEXT);
}

/* A fault has changed nothing, on the stack either. */
static void check_unchanged(const char *name)
{
    uint64_t rsp = before.gpr[ARCH_RSP];

    ck_assert_msg(!memcmp(&state, &before, sizeof(state)), "%s: the state has changed", name);
    for (uint64_t at = rsp - 64; at < rsp; at += 8)
        ck_assert_msg(peek(at, 8) == 0, "%s: something was pushed", name);
}

/* Straight to a code segment, at TARGET with rights AR. */
static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    uint32_t ar;
    uint32_t limit;
    uint16_t selector;
    uint64_t offset;
    unsigned opsize;
    struct expected expected;
    uint64_t rip;
} direct[] = {
#define PROT32 ARCH_MODE_PROT32
#define LONG64 ARCH_MODE_LONG64
#define COMPAT ARCH_MODE_COMPAT
#define FLAT   0xffffffff
    { "nonconforming", PROT32, 0, AR_CODE, 0xffff, TARGET, 0x100, 4, NO_FAULT, 0x100 },
    { "16 bits of offset", PROT32, 0, AR_CODE, 0xffff, TARGET, 0x50100, 2, NO_FAULT, 0x100 },
    { "nonconforming at CPL 3", PROT32, 3, AR_CODE | AR_DPL3, 0xffff, TARGET | 3, 0x100, 4,
      NO_FAULT, 0x100 },
    { "RPL below CPL", PROT32, 3, AR_CODE | AR_DPL3, 0xffff, TARGET, 0x100, 4, NO_FAULT, 0x100 },
    { "RPL above CPL", PROT32, 0, AR_CODE, 0xffff, TARGET | 3, 0x100, 4, GP(TARGET), 0 },
    { "DPL below CPL", PROT32, 3, AR_CODE, 0xffff, TARGET | 3, 0x100, 4, GP(TARGET), 0 },
    { "DPL above CPL", PROT32, 0, AR_CODE | AR_DPL3, 0xffff, TARGET, 0x100, 4, GP(TARGET), 0 },
    { "conforming, DPL below CPL", PROT32, 3, AR_CONFORMING, 0xffff, TARGET, 0x100, 4, NO_FAULT,
      0x100 },
    { "conforming, RPL of no account", PROT32, 0, AR_CONFORMING, 0xffff, TARGET | 3, 0x100, 4,
      NO_FAULT, 0x100 },
    { "conforming, DPL above CPL", PROT32, 0, AR_CONFORMING | AR_DPL3, 0xffff, TARGET, 0x100, 4,
      GP(TARGET), 0 },
    { "execute-only", PROT32, 0, AR_CODE_XO, 0xffff, TARGET, 0x100, 4, NO_FAULT, 0x100 },
    { "not present", PROT32, 0, NOT_P(AR_CODE), 0xffff, TARGET, 0x100, 4, NP(TARGET), 0 },
    { "data", PROT32, 0, AR_DATA, 0xffff, TARGET, 0x100, 4, GP(TARGET), 0 },
    { "LDT", PROT32, 0, AR_LDT, 0xffff, TARGET, 0x100, 4, GP(TARGET), 0 },
    { "busy TSS", PROT32, 0, AR_TSS32 | 2, 0xffff, TARGET, 0x100, 4, GP(TARGET), 0 },
    { "null", PROT32, 0, AR_CODE, 0xffff, 3, 0x100, 4, GP(0), 0 },
    { "outside the GDT", PROT32, 0, AR_CODE, 0xffff, 0x103, 0x100, 4, GP(0x100), 0 },
    { "at the limit", PROT32, 0, AR_CODE, 0xffff, TARGET, 0xffff, 4, NO_FAULT, 0xffff },
    { "past the limit", PROT32, 0, AR_CODE, 0xffff, TARGET, 0x10000, 4, GP(0), 0 },
    { "64-bit code", LONG64, 0, AR_CODE | AR_FLAT64, FLAT, TARGET, 0x7fffffffffff, 8, NO_FAULT,
      0x7fffffffffff },
    { "32 bits of offset", LONG64, 0, AR_CODE | AR_FLAT64, FLAT, TARGET, 0x180001000, 4, NO_FAULT,
      0x80001000 },
    { "not canonical", LONG64, 0, AR_CODE | AR_FLAT64, FLAT, TARGET, 0x800000000000, 8, GP(0), 0 },
    { "L and D", LONG64, 0, AR_CODE | AR_FLAT64 | ARCH_AR_DB, FLAT, TARGET, 0, 4, GP(TARGET), 0 },
    { "L and D outside IA-32e mode", PROT32, 0, AR_CODE | AR_FLAT64 | ARCH_AR_DB, FLAT, TARGET,
      0x100, 4, NO_FAULT, 0x100 },
    { "64-bit to compatibility", LONG64, 0, AR_CODE | AR_FLAT32, FLAT, TARGET, 0x80001000, 4,
      NO_FAULT, 0x80001000 },
    { "compatibility, past 4 GBytes", LONG64, 0, AR_CODE | AR_FLAT32, FLAT, TARGET, 0x100000000, 8,
      GP(0), 0 },
    { "compatibility to 64-bit", COMPAT, 0, AR_CODE | AR_FLAT64, 0, TARGET, 0x80001000, 4, NO_FAULT,
      0x80001000 },
    { "task gate in IA-32e mode", LONG64, 0, ARCH_AR_P | ARCH_TYPE_TASK_GATE, 0, TARGET, 0, 4,
      GP(TARGET), 0 },
    { "TSS in IA-32e mode", LONG64, 0, AR_TSS32, 0, TARGET, 0, 4, GP(TARGET), 0 },
    { "16-bit call gate in IA-32e mode", LONG64, 0, ARCH_AR_P | ARCH_TYPE_CALL_GATE16, 0, TARGET, 0,
      4, GP(TARGET), 0 },
};

static void check_pushed_return(unsigned size)
{
    uint64_t rsp = state.gpr[ARCH_RSP];

    ck_assert_uint_eq(rsp, before.gpr[ARCH_RSP] - 2 * size);
    ck_assert_uint_eq(peek(rsp, size), NEXT);
    ck_assert_uint_eq(peek(rsp + size, size), before.sreg[ARCH_CS].selector);
}

START_TEST(to_code)
{
    for (enum instruction instruction = JMP; instruction <= CALL; instruction++) {
        uint16_t selector = direct[_i].selector;
        struct arch_fault fault;

        box_setup(direct[_i].mode, direct[_i].cpl);
        gdt_put(TARGET, descriptor(0, direct[_i].limit, direct[_i].ar & ~1u));
        state.rflags |= RFLAGS_RF;
        fault = transfer(instruction, selector, direct[_i].offset, direct[_i].opsize);
        check_fault(fault, direct[_i].expected, direct[_i].name);
        if (fault.raised) {
            check_unchanged(direct[_i].name);
            continue;
        }
        ck_assert_uint_eq(state.rip, direct[_i].rip);
        ck_assert_uint_eq(state.cpl, direct[_i].cpl);
        ck_assert_uint_eq(state.sreg[ARCH_CS].selector, (selector & 0xfffcu) | direct[_i].cpl);
        ck_assert_uint_eq(state.sreg[ARCH_CS].ar, direct[_i].ar | 1);
        ck_assert_uint_eq(peek(BOX_GDT + TARGET + 5, 1) & 1, 1);
        ck_assert_uint_eq(state.rflags & RFLAGS_RF, 0);
        if (instruction == CALL)
            check_pushed_return(direct[_i].opsize);
        else
            ck_assert_uint_eq(state.gpr[ARCH_RSP], before.gpr[ARCH_RSP]);
    }
}
END_TEST

/* Call gates: of TYPE and DPL, at GATE, to TARGET with rights AR. What JMP and CALL give, and the
 * CPL that CALL leaves. */
static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    unsigned type, dpl;
    uint16_t selector; /* of the instruction */
    uint16_t target;   /* of the gate */
    uint32_t ar;
    struct expected jmp, call;
    uint8_t call_cpl;
} gates[] = {
#define GATE32 ARCH_TYPE_CALL_GATE32
#define GATE16 ARCH_TYPE_CALL_GATE16
    { "same level", PROT32, 0, GATE32, 0, GATE, TARGET, AR_CODE, NO_FAULT, NO_FAULT, 0 },
    { "16-bit gate", PROT32, 0, GATE16, 0, GATE, TARGET, AR_CODE, NO_FAULT, NO_FAULT, 0 },
    { "RPL in the gate is of no account", PROT32, 0, GATE32, 0, GATE, TARGET | 3, AR_CODE, NO_FAULT,
      NO_FAULT, 0 },
    { "inner level", PROT32, 3, GATE32, 3, GATE | 3, TARGET, AR_CODE, GP(TARGET), NO_FAULT, 0 },
    { "to level 1", PROT32, 3, GATE32, 3, GATE | 3, TARGET, AR_CODE | AR_DPL1, GP(TARGET), NO_FAULT,
      1 },
    { "to level 2, 16 bits", PROT32, 3, GATE16, 3, GATE | 3, TARGET, AR_CODE | AR_DPL2, GP(TARGET),
      NO_FAULT, 2 },
    { "outer level", PROT32, 0, GATE32, 3, GATE, TARGET, AR_CODE | AR_DPL3, GP(TARGET), GP(TARGET),
      0 },
    { "conforming", PROT32, 3, GATE32, 3, GATE, TARGET, AR_CONFORMING, NO_FAULT, NO_FAULT, 3 },
    { "conforming, outer", PROT32, 0, GATE32, 3, GATE, TARGET, AR_CONFORMING | AR_DPL3, GP(TARGET),
      GP(TARGET), 0 },
    { "gate DPL below CPL", PROT32, 3, GATE32, 0, GATE, TARGET, AR_CODE, GP(GATE), GP(GATE), 0 },
    { "gate DPL below RPL", PROT32, 0, GATE32, 0, GATE | 3, TARGET, AR_CODE, GP(GATE), GP(GATE),
      0 },
    { "not to code", PROT32, 0, GATE32, 0, GATE, TARGET, AR_DATA, GP(TARGET), GP(TARGET), 0 },
    { "to null", PROT32, 0, GATE32, 0, GATE, 3, AR_CODE, GP(0), GP(0), 0 },
    { "to outside the GDT", PROT32, 0, GATE32, 0, GATE, 0x203, AR_CODE, GP(0x200), GP(0x200), 0 },
    { "code not present", PROT32, 0, GATE32, 0, GATE, TARGET, NOT_P(AR_CODE), NP(TARGET),
      NP(TARGET), 0 },
    { "64-bit gate", LONG64, 0, GATE32, 0, GATE, TARGET, AR_CODE | AR_FLAT64, NO_FAULT, NO_FAULT,
      0 },
    { "64-bit gate, inner", LONG64, 3, GATE32, 3, GATE, TARGET, AR_CODE | AR_FLAT64, GP(TARGET),
      NO_FAULT, 0 },
    { "64-bit gate from compatibility mode", COMPAT, 3, GATE32, 3, GATE, TARGET,
      AR_CODE | AR_FLAT64 | AR_DPL1, GP(TARGET), NO_FAULT, 1 },
    { "64-bit gate to compatibility code", LONG64, 0, GATE32, 0, GATE, TARGET, AR_CODE | AR_FLAT32,
      GP(TARGET), GP(TARGET), 0 },
};

static void put_gate(unsigned row, uint32_t offset)
{
    bool lma = arch_long_mode(&state);

    gdt_put(TARGET, descriptor(0, lma ? FLAT : 0xffff, gates[row].ar & ~1u));
    gdt_put(GATE, gate(gates[row].type, gates[row].dpl, gates[row].target, offset, 0));
    gdt_put(GATE + 8, 0);
}

START_TEST(to_gate)
{
    for (enum instruction instruction = JMP; instruction <= CALL; instruction++) {
        struct expected expected = instruction == JMP ? gates[_i].jmp : gates[_i].call;
        uint8_t cpl = instruction == JMP ? gates[_i].cpl : gates[_i].call_cpl;
        struct arch_fault fault;

        box_setup(gates[_i].mode, gates[_i].cpl);
        put_gate((unsigned)_i, 0x4321);
        /* The offset of the instruction is of no account. */
        fault = transfer(instruction, gates[_i].selector, 0xffff0000, 4);
        check_fault(fault, expected, gates[_i].name);
        if (fault.raised) {
            check_unchanged(gates[_i].name);
            continue;
        }
        ck_assert_uint_eq(state.rip, 0x4321);
        ck_assert_uint_eq(state.cpl, cpl);
        ck_assert_uint_eq(state.sreg[ARCH_CS].selector, TARGET | cpl);
        if (instruction == CALL && cpl == gates[_i].cpl)
            check_pushed_return(gates[_i].type == GATE16 ? 2 : arch_long_mode(&state) ? 8 : 4);
    }
}
END_TEST

/* A gate that is not present, and what else only shows in its bytes. */
START_TEST(gate_bytes)
{
    static const struct {
        const char *name;
        enum arch_mode mode;
        uint64_t low_flip, high;
        struct expected expected;
    } rows[] = {
        { "not present", PROT32, UINT64_C(1) << 47, 0, NP(GATE) },
        { "not present, 64-bit", LONG64, UINT64_C(1) << 47, 0, NP(GATE) },
        { "offset past the limit", PROT32, UINT64_C(1) << 48, 0, GP(0) },
        { "64-bit offset", LONG64, 0, 0x7fff, NO_FAULT },
        { "64-bit offset not canonical", LONG64, 0, 0x8000, GP(0) },
        { "type of the second half", LONG64, 0, UINT64_C(1) << 40, GP(GATE) },
    };

    for (int i = 0; i < TEST_COUNT(rows); i++) {
        struct arch_fault fault;

        box_setup(rows[i].mode, 0);
        gdt_put(TARGET, descriptor(0, 0xffff, AR_CODE | (arch_long_mode(&state) ? ARCH_AR_L : 0)));
        gdt_put(GATE, gate(GATE32, 0, TARGET, 0x1000, 0) ^ rows[i].low_flip);
        gdt_put(GATE + 8, rows[i].high);
        fault = transfer(CALL, GATE, 0, 4);
        check_fault(fault, rows[i].expected, rows[i].name);
        if (!fault.raised)
            ck_assert_uint_eq(state.rip, 0x1000 | rows[i].high << 32);
    }
}
END_TEST

/* A 64-bit gate of which the GDT has only the first half. */
START_TEST(gate_cut_off)
{
    box_setup(LONG64, 0);
    gdt_put(0xf8, gate(GATE32, 0, ARCH_FLAT_CODE(0), 0x1000, 0));
    check_fault(transfer(CALL, 0xf8, 0, 4), (struct expected)GP(0xf8), "half a gate");
}
END_TEST

/* What CALL to an inner level pushes: old SS, old ESP, the parameters in their order, CS, EIP. */
START_TEST(inner_frame)
{
    static const struct {
        enum arch_mode mode;
        unsigned type, params, size;
    } rows[] = {
        { PROT32, GATE32, 0, 4 }, { PROT32, GATE32, 3, 4 },  { PROT32, GATE32, 31, 4 },
        { PROT32, GATE16, 2, 2 }, { PROT32, GATE16, 31, 2 }, { LONG64, GATE32, 0, 8 },
        { LONG64, GATE32, 3, 8 }, /* bits that 64-bit gates do not use */
        { COMPAT, GATE32, 0, 8 },
    };
    unsigned size = rows[_i].size;
    unsigned params = rows[_i].mode == PROT32 ? rows[_i].params : 0;
    uint64_t top = BOX_STACK0, at;

    box_setup(rows[_i].mode, 3);
    gdt_put(GATE, gate(rows[_i].type, 3, ARCH_FLAT_CODE(0), 0x4321, rows[_i].params));
    if (rows[_i].mode == COMPAT)
        gdt_put(ARCH_FLAT_CODE(0), descriptor(0, FLAT, AR_CODE | AR_FLAT64));
    gdt_put(GATE + 8, 0);
    for (unsigned i = 0; i < params; i++)
        poke(state.gpr[ARCH_RSP] + i * size, 0x5000 + i, size);
    check_fault(transfer(CALL, GATE | 3, 0, 4), (struct expected)NO_FAULT, "inner call");
    ck_assert_uint_eq(state.cpl, 0);
    ck_assert_uint_eq(state.gpr[ARCH_RSP], top - (4 + params) * size);
    at = state.gpr[ARCH_RSP];
    ck_assert_uint_eq(peek(at, size), NEXT);
    ck_assert_uint_eq(peek(at + size, size), before.sreg[ARCH_CS].selector);
    for (unsigned i = 0; i < params; i++)
        ck_assert_uint_eq(peek(at + (2 + i) * size, size), 0x5000 + i);
    ck_assert_uint_eq(peek(top - 2 * size, size),
                      size == 2 ? before.gpr[ARCH_RSP] & 0xffff : before.gpr[ARCH_RSP]);
    ck_assert_uint_eq(peek(top - size, size), before.sreg[ARCH_SS].selector);
    if (rows[_i].mode == PROT32) {
        ck_assert_uint_eq(state.sreg[ARCH_SS].selector, ARCH_FLAT_DATA(0));
    } else {
        ck_assert_uint_eq(state.sreg[ARCH_SS].selector, 0);
        ck_assert_uint_eq(state.sreg[ARCH_SS].ar, ARCH_AR_UNUSABLE);
    }
}
END_TEST

/* The inner stack as the TSS gives it, with the descriptor of rights AR at TARGET. */
static const struct {
    const char *name;
    enum arch_mode mode;
    uint32_t tss_ar, tss_limit;
    uint64_t sp;
    uint16_t ss;
    uint32_t ar, limit;
    struct expected expected;
} stacks[] = {
    { "good", PROT32, AR_TSS32 | 2, 0x67, 0x8000, TARGET, AR_DATA, 0xffff, NO_FAULT },
    { "the TSS ends before SS0", PROT32, AR_TSS32 | 2, 8, 0x8000, TARGET, AR_DATA, 0xffff,
      TS(SEL_TSS) },
    { "the TSS ends after SS0", PROT32, AR_TSS32 | 2, 9, 0x8000, TARGET, AR_DATA, 0xffff,
      NO_FAULT },
    { "null", PROT32, AR_TSS32 | 2, 0x67, 0x8000, 0, AR_DATA, 0xffff, TS(0) },
    { "outside the GDT", PROT32, AR_TSS32 | 2, 0x67, 0x8000, 0x200, AR_DATA, 0xffff, TS(0x200) },
    { "RPL", PROT32, AR_TSS32 | 2, 0x67, 0x8000, TARGET | 1, AR_DATA, 0xffff, TS(TARGET) },
    { "DPL", PROT32, AR_TSS32 | 2, 0x67, 0x8000, TARGET, AR_DATA | AR_DPL1, 0xffff, TS(TARGET) },
    { "read-only", PROT32, AR_TSS32 | 2, 0x67, 0x8000, TARGET, AR_DATA_RO, 0xffff, TS(TARGET) },
    { "code", PROT32, AR_TSS32 | 2, 0x67, 0x8000, TARGET, AR_CODE, 0xffff, TS(TARGET) },
    { "not present", PROT32, AR_TSS32 | 2, 0x67, 0x8000, TARGET, NOT_P(AR_DATA), 0xffff,
      SS(TARGET) },
    { "no room", PROT32, AR_TSS32 | 2, 0x67, 0x8000, TARGET, AR_DATA, 0x7ffe, SS(TARGET) },
    { "just no room", PROT32, AR_TSS32 | 2, 0x67, 0x8010, TARGET, AR_DATA | 4, 0x8000, SS(TARGET) },
    { "just room", PROT32, AR_TSS32 | 2, 0x67, 0x8010, TARGET, AR_DATA | 4, 0x7fff, NO_FAULT },
    { "16-bit TSS", PROT32, AR_TSS16 | 2, 0x2b, 0x8000, TARGET, AR_DATA, 0xffff, NO_FAULT },
    { "16-bit TSS ends before SS0", PROT32, AR_TSS16 | 2, 4, 0x8000, TARGET, AR_DATA, 0xffff,
      TS(SEL_TSS) },
    { "64-bit TSS", LONG64, AR_TSS32 | 2, 0x67, 0x8000, 0, 0, 0, NO_FAULT },
    { "64-bit TSS ends in RSP0", LONG64, AR_TSS32 | 2, 10, 0x8000, 0, 0, 0, TS(SEL_TSS) },
    { "RSP0 not canonical", LONG64, AR_TSS32 | 2, 0x67, 0x800000000000, 0, 0, 0, SS(0) },
};

START_TEST(inner_stack)
{
    struct arch_fault fault;
    unsigned sp_size = arch_ar_type(stacks[_i].tss_ar) == ARCH_TYPE_TSS16_BUSY ? 2 : 4;

    box_setup(stacks[_i].mode, 3);
    state.tr.ar = stacks[_i].tss_ar;
    state.tr.limit = stacks[_i].tss_limit;
    gdt_put(GATE, gate(GATE32, 3, ARCH_FLAT_CODE(0), 0x4321, 0));
    gdt_put(GATE + 8, 0);
    gdt_put(TARGET, descriptor(0, stacks[_i].limit, stacks[_i].ar & ~1u));
    poke(BOX_TSS, 0, 8);
    if (stacks[_i].mode == LONG64) {
        poke(BOX_TSS + 4, stacks[_i].sp, 8);
    } else {
        poke(BOX_TSS + sp_size, stacks[_i].sp, sp_size);
        poke(BOX_TSS + 2 * sp_size, stacks[_i].ss, sp_size);
    }
    fault = transfer(CALL, GATE, 0, 4);
    check_fault(fault, stacks[_i].expected, stacks[_i].name);
    if (fault.raised) {
        check_unchanged(stacks[_i].name);
        return;
    }
    ck_assert_uint_eq(peek(stacks[_i].sp - arch_code_bits(&state) / 8, arch_code_bits(&state) / 8),
                      before.sreg[ARCH_SS].selector);
    if (stacks[_i].mode == PROT32)
        ck_assert_uint_eq(peek(BOX_GDT + TARGET + 5, 1) & 1, 1);
}
END_TEST

/* A frame that runs into a page that is not there faults before any of it is written. */
START_TEST(page_fault_in_frame)
{
    box_setup(LONG64, 0);
    poke(BOX_PDPT, 0x22000 | 7, 8);
    poke(0x22000, 0x23000 | 7, 8);
    for (unsigned page = 0; page < 32; page++)
        poke(0x23000 + 8 * page, (page << 12) | (page == 7 ? 0 : 7), 8);
    state.gpr[ARCH_RSP] = 0x8008;
    check_fault(transfer(CALL, ARCH_FLAT_CODE(0), 0x100, 8), (struct expected)PF(2), "frame");
    check_unchanged("frame");
}
END_TEST

START_TEST(call_without_room)
{
    static const struct {
        enum arch_mode mode;
        uint32_t ss_limit;
        uint64_t rsp;
        struct expected expected;
    } rows[] = {
        { PROT32, 0xffff, 8, NO_FAULT },         { PROT32, 0xffff, 6, SS(0) },
        { ARCH_MODE_REAL, 0xffff, 0, NO_FAULT }, { ARCH_MODE_REAL, 0xffff, 1, SS(0) },
        { ARCH_MODE_REAL, 0x7fff, 0, SS(0) },    { LONG64, 0, 0x800000000010, SS(0) },
    };

    box_setup(rows[_i].mode, 0);
    state.sreg[ARCH_SS].limit = rows[_i].ss_limit;
    state.gpr[ARCH_RSP] = rows[_i].rsp;
    check_fault(transfer(CALL, ARCH_FLAT_CODE(0), 0x100, rows[_i].mode == ARCH_MODE_REAL ? 2 : 4),
                rows[_i].expected, "room");
}
END_TEST

/* Real-address and virtual-8086 mode: JMP, CALL and RETF. */
START_TEST(real)
{
    static const enum arch_mode modes[] = { ARCH_MODE_REAL, ARCH_MODE_V86 };

    for (unsigned opsize = 2; opsize <= 4; opsize += 2) {
        uint64_t rsp;

        box_setup(modes[_i], 3);
        state.gpr[ARCH_RSP] |= 0xabcd0000; /* above SP */
        rsp = state.gpr[ARCH_RSP];
        ck_assert(!transfer(CALL, 0x1234, 0x5678, opsize).raised);
        ck_assert_uint_eq(state.sreg[ARCH_CS].selector, 0x1234);
        ck_assert_uint_eq(state.sreg[ARCH_CS].base, 0x12340);
        ck_assert_uint_eq(state.rip, 0x5678);
        ck_assert_uint_eq(state.gpr[ARCH_RSP], rsp - 2 * opsize);
        ck_assert_uint_eq(peek((rsp & 0xffff) - 2 * opsize, opsize), NEXT);
        ck_assert(!transfer(JMP, 0x4321, 0xffff, opsize).raised);
        ck_assert_uint_eq(state.sreg[ARCH_CS].base, 0x43210);
        ck_assert(!arch_far_ret(&cpu, opsize, 6).raised);
        ck_assert_uint_eq(state.rip, NEXT);
        ck_assert_uint_eq(state.sreg[ARCH_CS].selector, 0);
        ck_assert_uint_eq(state.gpr[ARCH_RSP], rsp + 6);
        check_fault(transfer(JMP, 0x4321, 0x10000, 4), (struct expected)GP(0), "limit");
        ck_assert_mem_eq(&state, &before, sizeof(state));
    }
}
END_TEST

/* RETF. The frame's CS is SELECTOR, of rights AR at TARGET; an outer one has SS, of rights SS_AR
 * at GATE. */
static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    unsigned opsize;
    uint16_t selector;
    uint32_t ar;
    uint64_t ip;
    uint16_t ss;
    uint32_t ss_ar;
    struct expected expected;
} returns[] = {
    { "same level", PROT32, 0, 4, TARGET, AR_CODE, 0x100, 0, 0, NO_FAULT },
    { "same level, 16 bits", PROT32, 0, 2, TARGET, AR_CODE, 0x100, 0, 0, NO_FAULT },
    { "same level, conforming", PROT32, 3, 4, TARGET | 3, AR_CONFORMING, 0x100, 0, 0, NO_FAULT },
    { "null", PROT32, 0, 4, 2, AR_CODE, 0x100, 0, 0, GP(0) },
    { "outside the GDT", PROT32, 0, 4, 0x200, AR_CODE, 0x100, 0, 0, GP(0x200) },
    { "data", PROT32, 0, 4, TARGET, AR_DATA, 0x100, 0, 0, GP(TARGET) },
    { "inner", PROT32, 3, 4, TARGET, AR_CODE, 0x100, 0, 0, GP(TARGET) },
    { "conforming, DPL above RPL", PROT32, 0, 4, TARGET, AR_CONFORMING | AR_DPL1, 0x100, 0, 0,
      GP(TARGET) },
    { "DPL not RPL", PROT32, 0, 4, TARGET | 3, AR_CODE | AR_DPL2, 0x100, GATE | 3,
      AR_DATA | AR_DPL3, GP(TARGET) },
    { "not present", PROT32, 0, 4, TARGET, NOT_P(AR_CODE), 0x100, 0, 0, NP(TARGET) },
    { "past the limit", PROT32, 0, 4, TARGET, AR_CODE, 0x10000, 0, 0, GP(0) },
    { "outer", PROT32, 0, 4, TARGET | 3, AR_CODE | AR_DPL3, 0x100, GATE | 3, AR_DATA | AR_DPL3,
      NO_FAULT },
    { "outer, 16 bits", PROT32, 1, 2, TARGET | 2, AR_CODE | AR_DPL2, 0x100, GATE | 2,
      AR_DATA | AR_DPL2, NO_FAULT },
    { "outer, null SS", PROT32, 0, 4, TARGET | 3, AR_CODE | AR_DPL3, 0x100, 3, AR_DATA | AR_DPL3,
      GP(0) },
    { "outer, RPL of SS", PROT32, 0, 4, TARGET | 3, AR_CODE | AR_DPL3, 0x100, GATE | 2,
      AR_DATA | AR_DPL3, GP(GATE) },
    { "outer, DPL of SS", PROT32, 0, 4, TARGET | 3, AR_CODE | AR_DPL3, 0x100, GATE | 3,
      AR_DATA | AR_DPL2, GP(GATE) },
    { "outer, read-only SS", PROT32, 0, 4, TARGET | 3, AR_CODE | AR_DPL3, 0x100, GATE | 3,
      AR_DATA_RO | AR_DPL3, GP(GATE) },
    { "outer, SS not present", PROT32, 0, 4, TARGET | 3, AR_CODE | AR_DPL3, 0x100, GATE | 3,
      NOT_P(AR_DATA | AR_DPL3), SS(GATE) },
    { "outer, SS outside the GDT", PROT32, 0, 4, TARGET | 3, AR_CODE | AR_DPL3, 0x100, 0x203,
      AR_DATA | AR_DPL3, GP(0x200) },
    { "64-bit, same level", LONG64, 0, 8, TARGET, AR_CODE | ARCH_AR_L, 0x7fff00001234, 0, 0,
      NO_FAULT },
    { "64-bit, not canonical", LONG64, 0, 8, TARGET, AR_CODE | ARCH_AR_L, 0x800000001234, 0, 0,
      GP(0) },
    { "64-bit, outer", LONG64, 0, 8, TARGET | 3, AR_CODE | AR_DPL3 | ARCH_AR_L, 0x1234, GATE | 3,
      AR_DATA | AR_DPL3, NO_FAULT },
    { "64-bit, outer, null SS at CPL 3", LONG64, 0, 8, TARGET | 3, AR_CODE | AR_DPL3 | ARCH_AR_L,
      0x1234, 3, AR_DATA | AR_DPL3, GP(0) },
    { "64-bit, outer, null SS at CPL 1", LONG64, 0, 8, TARGET | 1, AR_CODE | AR_DPL1 | ARCH_AR_L,
      0x1234, 1, AR_DATA | AR_DPL1, NO_FAULT },
    { "compatibility, outer, null SS at CPL 1", LONG64, 0, 8, TARGET | 1,
      AR_CODE | AR_DPL1 | ARCH_AR_DB, 0x1234, 1, AR_DATA | AR_DPL1, GP(0) },
    { "64-bit to compatibility", LONG64, 0, 8, TARGET | 3, AR_CODE | AR_DPL3 | ARCH_AR_DB, 0x1234,
      GATE | 3, AR_DATA | AR_DPL3, NO_FAULT },
    { "L and D", LONG64, 0, 8, TARGET, AR_CODE | ARCH_AR_L | ARCH_AR_DB, 0x1234, 0, 0, GP(TARGET) },
};

enum {
    RELEASE = 12,
    OUTER_SP = 0x7f20
};

START_TEST(ret)
{
    unsigned opsize = returns[_i].opsize;
    bool outer = (returns[_i].selector & 3) > returns[_i].cpl;
    struct arch_fault fault;
    uint64_t rsp;

    box_setup(returns[_i].mode, returns[_i].cpl);
    gdt_put(TARGET, descriptor(0, 0xffff, returns[_i].ar & ~1u));
    gdt_put(GATE, descriptor(0, 0xffff, returns[_i].ss_ar));
    rsp = state.gpr[ARCH_RSP];
    poke(rsp, returns[_i].ip, opsize);
    poke(rsp + opsize, returns[_i].selector, opsize);
    poke(rsp + 2 * opsize + RELEASE, OUTER_SP, opsize);
    poke(rsp + 3 * opsize + RELEASE, returns[_i].ss, opsize);
    before = state;
    fault = arch_far_ret(&cpu, opsize, RELEASE);
    check_fault(fault, returns[_i].expected, returns[_i].name);
    if (fault.raised) {
        check_unchanged(returns[_i].name);
        return;
    }
    ck_assert_uint_eq(state.rip, returns[_i].ip);
    ck_assert_uint_eq(state.cpl, returns[_i].selector & 3u);
    ck_assert_uint_eq(state.sreg[ARCH_CS].selector, returns[_i].selector);
    ck_assert_uint_eq(peek(BOX_GDT + TARGET + 5, 1) & 1, 1);
    if (outer) {
        ck_assert_uint_eq(state.sreg[ARCH_SS].selector, returns[_i].ss);
        ck_assert_uint_eq(state.gpr[ARCH_RSP], OUTER_SP + RELEASE);
    } else {
        ck_assert_uint_eq(state.gpr[ARCH_RSP], rsp + 2 * opsize + RELEASE);
    }
}
END_TEST

/* Return to an outer level takes away what that level may not use. */
START_TEST(segments_dropped)
{
    box_setup(PROT32, 0);
    ck_assert(!arch_load_sreg(&cpu, ARCH_ES, ARCH_FLAT_DATA(3)).raised);
    ck_assert(!arch_load_sreg(&cpu, ARCH_FS, SEL_CONFORMING).raised);
    ck_assert(!arch_load_sreg(&cpu, ARCH_GS, ARCH_FLAT_CODE(0)).raised);
    poke(state.gpr[ARCH_RSP] + 4, ARCH_FLAT_CODE(3), 4);
    poke(state.gpr[ARCH_RSP] + 12, ARCH_FLAT_DATA(3), 4);
    ck_assert(!arch_far_ret(&cpu, 4, 0).raised);
    ck_assert_uint_eq(state.sreg[ARCH_ES].selector, ARCH_FLAT_DATA(3));
    ck_assert_uint_eq(state.sreg[ARCH_FS].selector, SEL_CONFORMING);
    ck_assert_uint_eq(state.sreg[ARCH_GS].selector, 0);
    ck_assert_uint_eq(state.sreg[ARCH_DS].selector, 0);
    ck_assert(state.sreg[ARCH_GS].ar & ARCH_AR_UNUSABLE);
    ck_assert(state.sreg[ARCH_DS].ar & ARCH_AR_UNUSABLE);
    ck_assert(!(state.sreg[ARCH_ES].ar & ARCH_AR_UNUSABLE));
}
END_TEST

/* To a stack segment with B clear only SP is loaded; what is above it stays. */
START_TEST(sp_of_16_bits)
{
    box_setup(PROT32, 0);
    gdt_put(TARGET, descriptor(0, 0xffff, AR_DATA | AR_DPL3));
    state.gpr[ARCH_RSP] = 0x10000 | 0x7f00;
    poke(0x17f04, ARCH_FLAT_CODE(3), 4);
    poke(0x17f08, 0xabcd1000, 4);
    poke(0x17f0c, TARGET | 3, 4);
    ck_assert(!arch_far_ret(&cpu, 4, 0).raised);
    ck_assert_uint_eq(state.gpr[ARCH_RSP], 0x11000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("far");
    TCase *tcase = tcase_create("far");

    tcase_add_loop_test(tcase, to_code, 0, TEST_COUNT(direct));
    tcase_add_loop_test(tcase, to_gate, 0, TEST_COUNT(gates));
    tcase_add_test(tcase, gate_bytes);
    tcase_add_test(tcase, gate_cut_off);
    tcase_add_loop_test(tcase, inner_frame, 0, 8);
    tcase_add_loop_test(tcase, inner_stack, 0, TEST_COUNT(stacks));
    tcase_add_test(tcase, page_fault_in_frame);
    tcase_add_loop_test(tcase, call_without_room, 0, 6);
    tcase_add_loop_test(tcase, real, 0, 2);
    tcase_add_loop_test(tcase, ret, 0, TEST_COUNT(returns));
    tcase_add_test(tcase, segments_dropped);
    tcase_add_test(tcase, sp_of_16_bits);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
