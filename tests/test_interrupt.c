/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delivery of interrupts and exceptions (SDM vol. 3A, chapter 6; 21.1.4, 21.3). Through task gates:
 * test_task. */
#include "../models/arch/interrupt.h"

#include "arch_box.h"

#define NOT_P(ar) ((ar) & ~(uint32_t)ARCH_AR_P)
#define CODE      SEL_FREE
#define STACK     (SEL_FREE + 0x10)
#define PROT32    ARCH_MODE_PROT32
#define LONG64    ARCH_MODE_LONG64
#define COMPAT    ARCH_MODE_COMPAT
#define REAL      ARCH_MODE_REAL
#define V86       ARCH_MODE_V86
#define INT32     ARCH_TYPE_INT_GATE32
#define TRAP32    ARCH_TYPE_TRAP_GATE32
#define INT16     ARCH_TYPE_INT_GATE16
#define TRAP16    ARCH_TYPE_TRAP_GATE16

enum {
    VECTOR = 0x41,
    HANDLER = 0x4321,
    RETURN = 0x2468,
    ERROR = 0xe4
};

static struct arch_fault fault;

static struct arch_interruption event(enum arch_int_type type)
{
    return (struct arch_interruption){ .type = type, .vector = VECTOR, .return_rip = RETURN };
}

static enum arch_delivery deliver(const struct arch_interruption *what)
{
    before = state;
    return arch_deliver(&cpu, what, &fault);
}

/* Gates and handlers. The gate of VECTOR is of TYPE and DPL; its selector is TARGET, the rights of
 * the descriptor at CODE are AR. */
static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    enum arch_int_type event;
    unsigned type, dpl;
    uint16_t target;
    uint32_t ar;
    struct expected expected;
    uint8_t after; /* CPL */
} gates[] = {
#define EXT_INT ARCH_INT_EXTERNAL
#define INT_N   ARCH_INT_SW_INTERRUPT
#define INT_3   ARCH_INT_SW_EXCEPTION
#define INT_1   ARCH_INT_PRIV_SW_EXCEPTION
#define HW      ARCH_INT_HW_EXCEPTION
    { "interrupt gate", PROT32, 0, EXT_INT, INT32, 0, CODE, AR_CODE, NO_FAULT, 0 },
    { "trap gate", PROT32, 0, EXT_INT, TRAP32, 0, CODE, AR_CODE, NO_FAULT, 0 },
    { "16-bit interrupt gate", PROT32, 0, EXT_INT, INT16, 0, CODE, AR_CODE, NO_FAULT, 0 },
    { "16-bit trap gate", PROT32, 0, EXT_INT, TRAP16, 0, CODE, AR_CODE, NO_FAULT, 0 },
    { "inner level", PROT32, 3, EXT_INT, INT32, 0, CODE, AR_CODE, NO_FAULT, 0 },
    { "inner level 1", PROT32, 3, EXT_INT, TRAP32, 0, CODE | 3, AR_CODE | AR_DPL1, NO_FAULT, 1 },
    { "inner, 16 bits", PROT32, 3, EXT_INT, TRAP16, 0, CODE, AR_CODE | AR_DPL2, NO_FAULT, 2 },
    { "conforming", PROT32, 3, EXT_INT, INT32, 0, CODE, AR_CONFORMING, NO_FAULT, 3 },
    { "outer level", PROT32, 0, EXT_INT, INT32, 0, CODE, AR_CODE | AR_DPL3, GP(CODE | 1), 0 },
    { "INT n, gate DPL", PROT32, 3, INT_N, INT32, 3, CODE, AR_CODE, NO_FAULT, 0 },
    { "INT n, gate DPL below CPL", PROT32, 3, INT_N, INT32, 2, CODE, AR_CODE, GP(VECTOR << 3 | 2),
      0 },
    { "INT3, gate DPL below CPL", PROT32, 3, INT_3, INT32, 0, CODE, AR_CODE, GP(VECTOR << 3 | 2),
      0 },
    { "INT1, gate DPL below CPL", PROT32, 3, INT_1, INT32, 0, CODE, AR_CODE, NO_FAULT, 0 },
    { "exception, gate DPL below CPL", PROT32, 3, HW, INT32, 0, CODE, AR_CODE, NO_FAULT, 0 },
    { "call gate", PROT32, 0, EXT_INT, ARCH_TYPE_CALL_GATE32, 0, CODE, AR_CODE, GP(VECTOR << 3 | 3),
      0 },
    { "call gate, INT n", PROT32, 0, INT_N, ARCH_TYPE_CALL_GATE32, 0, CODE, AR_CODE,
      GP(VECTOR << 3 | 2), 0 },
    { "null", PROT32, 0, EXT_INT, INT32, 0, 3, AR_CODE, GP(1), 0 },
    { "null, INT n", PROT32, 0, INT_N, INT32, 0, 0, AR_CODE, GP(0), 0 },
    { "outside the GDT", PROT32, 0, EXT_INT, INT32, 0, 0x202, AR_CODE, GP(0x201), 0 },
    { "not code", PROT32, 0, EXT_INT, INT32, 0, CODE, AR_DATA, GP(CODE | 1), 0 },
    { "not code, INT n", PROT32, 0, INT_N, INT32, 0, CODE, AR_DATA, GP(CODE), 0 },
    { "not present", PROT32, 0, HW, INT32, 0, CODE, NOT_P(AR_CODE), NP(CODE | 1), 0 },
    { "V86 to level 0", V86, 3, EXT_INT, INT32, 0, CODE, AR_CODE, NO_FAULT, 0 },
    { "V86 to level 1", V86, 3, EXT_INT, INT32, 0, CODE, AR_CODE | AR_DPL1, GP(CODE | 1), 0 },
    { "V86 to conforming code", V86, 3, EXT_INT, INT32, 0, CODE, AR_CONFORMING, GP(CODE | 1), 0 },
    { "V86 to level 3", V86, 3, EXT_INT, INT32, 0, CODE, AR_CODE | AR_DPL3, GP(CODE | 1), 0 },
    { "64-bit", LONG64, 0, EXT_INT, INT32, 0, CODE, AR_CODE | ARCH_AR_L, NO_FAULT, 0 },
    { "64-bit, inner", LONG64, 3, EXT_INT, TRAP32, 0, CODE, AR_CODE | ARCH_AR_L, NO_FAULT, 0 },
    { "from compatibility mode", COMPAT, 3, EXT_INT, INT32, 0, CODE, AR_CODE | ARCH_AR_L, NO_FAULT,
      0 },
    { "to compatibility mode", LONG64, 3, EXT_INT, INT32, 0, CODE, AR_CODE | ARCH_AR_DB,
      GP(CODE | 1), 0 },
    { "L and D", LONG64, 3, EXT_INT, INT32, 0, CODE, AR_CODE | ARCH_AR_DB | ARCH_AR_L, GP(CODE | 1),
      0 },
    { "16-bit gate in IA-32e mode", LONG64, 3, EXT_INT, INT16, 0, CODE, AR_CODE | ARCH_AR_L,
      GP(VECTOR << 3 | 3), 0 },
    { "task gate in IA-32e mode", LONG64, 3, EXT_INT, ARCH_TYPE_TASK_GATE, 0, CODE,
      AR_CODE | ARCH_AR_L, GP(VECTOR << 3 | 3), 0 },
    { "64-bit, INT n, gate DPL", LONG64, 3, INT_N, INT32, 1, CODE, AR_CODE | ARCH_AR_L,
      GP(VECTOR << 3 | 2), 0 },
};

START_TEST(through_gate)
{
    struct arch_interruption what = event(gates[_i].event);
    bool int_gate = gates[_i].type == INT32 || gates[_i].type == INT16;
    uint64_t cleared = RFLAGS_TF | RFLAGS_NT | RFLAGS_RF | RFLAGS_VM;

    box_setup(gates[_i].mode, gates[_i].cpl);
    gdt_put(CODE, descriptor(0, 0xffff, gates[_i].ar & ~1u));
    idt_put(VECTOR, gate(gates[_i].type, gates[_i].dpl, gates[_i].target, HANDLER, 0));
    state.rflags |= RFLAGS_IF | RFLAGS_TF | RFLAGS_NT | RFLAGS_RF | RFLAGS_AC | RFLAGS_IOPL;
    deliver(&what);
    check_fault(fault, gates[_i].expected, gates[_i].name);
    if (fault.raised) {
        ck_assert_mem_eq(&state, &before, sizeof(state));
        return;
    }
    ck_assert_uint_eq(state.rip, HANDLER);
    ck_assert_uint_eq(state.cpl, gates[_i].after);
    ck_assert_uint_eq(state.sreg[ARCH_CS].selector, CODE | gates[_i].after);
    ck_assert_uint_eq(peek(BOX_GDT + CODE + 5, 1) & 1, 1);
    ck_assert_uint_eq(state.rflags,
                      before.rflags & ~cleared & ~(uint64_t)(int_gate ? RFLAGS_IF : 0));
}
END_TEST

/* The gate is not there, the IDT is too short, the offset is no good. */
START_TEST(gate_itself)
{
    static const struct {
        const char *name;
        enum arch_mode mode;
        uint16_t idt_limit;
        uint64_t flip, high;
        struct expected expected;
    } rows[] = {
        { "IDT just long enough", PROT32, VECTOR * 8 + 7, 0, 0, NO_FAULT },
        { "IDT too short", PROT32, VECTOR * 8 + 6, 0, 0, GP(VECTOR << 3 | 3) },
        { "IDT just long enough, 64-bit", LONG64, VECTOR * 16 + 15, 0, 0, NO_FAULT },
        { "IDT too short, 64-bit", LONG64, VECTOR * 16 + 14, 0, 0, GP(VECTOR << 3 | 3) },
        { "not present", PROT32, 0xfff, UINT64_C(1) << 47, 0, NP(VECTOR << 3 | 3) },
        { "not present, 64-bit", LONG64, 0xfff, UINT64_C(1) << 47, 0, NP(VECTOR << 3 | 3) },
        { "S set", PROT32, 0xfff, UINT64_C(1) << 44, 0, GP(VECTOR << 3 | 3) },
        { "offset past the limit", PROT32, 0xfff, UINT64_C(1) << 48, 0, GP(1) },
        { "high half of the offset", LONG64, 0xfff, 0, 0x7fff, NO_FAULT },
        { "offset not canonical", LONG64, 0xfff, 0, 0x8000, GP(1) },
    };
    struct arch_interruption what = event(ARCH_INT_EXTERNAL);

    box_setup(rows[_i].mode, 0);
    gdt_put(CODE, descriptor(0, 0xffff, AR_CODE | (rows[_i].mode == LONG64 ? ARCH_AR_L : 0)));
    idt_put(VECTOR, gate(INT32, 0, CODE, HANDLER, 0) ^ rows[_i].flip);
    if (rows[_i].mode == LONG64)
        poke(BOX_IDT + VECTOR * 16 + 8, rows[_i].high, 8);
    state.idtr.limit = rows[_i].idt_limit;
    deliver(&what);
    check_fault(fault, rows[_i].expected, rows[_i].name);
    if (!fault.raised)
        ck_assert_uint_eq(state.rip, HANDLER | rows[_i].high << 32);
}
END_TEST

/* Frames: what lies where, from the top of the new stack down. */
static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl, handler_cpl;
    unsigned type;
    bool has_error;
    unsigned size, words;
} frames[] = {
    { "32-bit, same level", PROT32, 0, 0, INT32, false, 4, 3 },
    { "32-bit, same level, error", PROT32, 0, 0, TRAP32, true, 4, 4 },
    { "16-bit, same level, error", PROT32, 0, 0, INT16, true, 2, 4 },
    { "32-bit, inner", PROT32, 3, 0, INT32, false, 4, 5 },
    { "32-bit, inner, error", PROT32, 3, 1, INT32, true, 4, 6 },
    { "16-bit, inner, error", PROT32, 3, 2, INT16, true, 2, 6 },
    { "from V86", V86, 3, 0, INT32, false, 4, 9 },
    { "from V86, error", V86, 3, 0, INT32, true, 4, 10 },
    { "from V86, 16-bit", V86, 3, 0, INT16, true, 2, 10 },
    { "64-bit, same level", LONG64, 0, 0, INT32, false, 8, 5 },
    { "64-bit, same level, error", LONG64, 0, 0, INT32, true, 8, 6 },
    { "64-bit, inner", LONG64, 3, 0, INT32, false, 8, 5 },
    { "64-bit, inner, error", LONG64, 3, 1, INT32, true, 8, 6 },
    { "from compatibility mode", COMPAT, 3, 0, INT32, true, 8, 6 },
};

static void check_frame(uint64_t top, const uint64_t *words, unsigned count, unsigned size)
{
    ck_assert_uint_eq(state.gpr[ARCH_RSP], top - count * size);
    for (unsigned i = 0; i < count; i++) {
        uint64_t want = words[i] & (size == 8 ? ~UINT64_C(0) : (UINT64_C(1) << 8 * size) - 1);

        ck_assert_msg(peek(top - (i + 1) * size, size) == want, "word %u: %jx", i,
                      (uintmax_t)peek(top - (i + 1) * size, size));
    }
    ck_assert_uint_eq(peek(top - (count + 1) * size, size), 0);
}

START_TEST(frame)
{
    static const uint32_t tops[] = { BOX_STACK0, BOX_STACK1, BOX_STACK2 };
    struct arch_interruption what = event(ARCH_INT_HW_EXCEPTION);
    unsigned dpl = frames[_i].handler_cpl;
    bool inner = dpl < frames[_i].cpl;
    bool lma = frames[_i].mode == LONG64 || frames[_i].mode == COMPAT;
    uint64_t words[10], top;
    unsigned n = 0;

    what.has_error = frames[_i].has_error;
    what.error = ERROR;
    box_setup(frames[_i].mode, frames[_i].cpl);
    state.gpr[ARCH_RSP] -= 0xb; /* not aligned */
    gdt_put(CODE, descriptor(0, 0xffff, AR_CODE | dpl << 5 | (lma ? ARCH_AR_L : 0)));
    idt_put(VECTOR, gate(frames[_i].type, 0, CODE, HANDLER, 0));
    for (int i = 0; frames[_i].mode == V86 && i < ARCH_SREGS; i++)
        ck_assert(!arch_load_sreg(&cpu, (enum arch_sreg)i, (uint16_t)(0x1111 * i)).raised);
    state.sreg[ARCH_SS].selector = frames[_i].mode == V86 ? 0 : state.sreg[ARCH_SS].selector;
    ck_assert_int_eq(deliver(&what), ARCH_DELIVERED);
    if (frames[_i].mode == V86) {
        words[n++] = 0x5555; /* GS */
        words[n++] = 0x4444;
        words[n++] = 0x3333;
        words[n++] = 0; /* ES */
    }
    if (inner || lma) {
        words[n++] = before.sreg[ARCH_SS].selector;
        words[n++] = before.gpr[ARCH_RSP];
    }
    words[n++] = before.rflags;
    words[n++] = before.sreg[ARCH_CS].selector;
    words[n++] = RETURN;
    if (frames[_i].has_error)
        words[n++] = ERROR;
    ck_assert_uint_eq(n, frames[_i].words);
    top = inner ? tops[dpl] : before.gpr[ARCH_RSP];
    check_frame(lma ? top & ~UINT64_C(15) : top, words, n, frames[_i].size);
    if (inner)
        ck_assert_uint_eq(state.sreg[ARCH_SS].selector, lma ? dpl : ARCH_FLAT_DATA(dpl));
    for (int i = ARCH_DS; i <= ARCH_GS; i++)
        ck_assert_int_eq(!!(state.sreg[i].ar & ARCH_AR_UNUSABLE), frames[_i].mode == V86);
}
END_TEST

/* The interrupt stack table: RSP from it at any level, aligned; SS changes with CPL alone. */
START_TEST(ist)
{
    static const struct {
        uint8_t cpl, ist;
        uint32_t tss_limit;
        uint64_t rsp;
        struct expected expected;
    } rows[] = {
        { 0, 1, 0x67, 0xc00f, NO_FAULT }, { 3, 1, 0x67, 0xc000, NO_FAULT },
        { 3, 7, 0x67, 0xc008, NO_FAULT }, { 3, 7, 0x5a, 0xc000, TS(SEL_TSS | 1) },
        { 0, 7, 0x5b, 0xc000, NO_FAULT }, { 0, 2, 0x67, 0x800000000000, SS(1) },
    };
    struct arch_interruption what = event(ARCH_INT_EXTERNAL);

    box_setup(LONG64, rows[_i].cpl);
    idt_put(VECTOR, gate(INT32, 0, ARCH_FLAT_CODE(0), HANDLER, rows[_i].ist));
    poke(BOX_TSS + 0x24 + 8u * (rows[_i].ist - 1u), rows[_i].rsp, 8);
    state.tr.limit = rows[_i].tss_limit;
    deliver(&what);
    check_fault(fault, rows[_i].expected, "IST");
    if (fault.raised)
        return;
    ck_assert_uint_eq(state.gpr[ARCH_RSP], (rows[_i].rsp & ~UINT64_C(15)) - 40);
    ck_assert_uint_eq(peek(state.gpr[ARCH_RSP] + 24, 8), before.gpr[ARCH_RSP]);
    ck_assert_uint_eq(state.sreg[ARCH_SS].selector,
                      rows[_i].cpl ? 0 : before.sreg[ARCH_SS].selector);
}
END_TEST

/* The inner stack of 32-bit protected mode: error codes have EXT. */
static const struct {
    const char *name;
    enum arch_int_type event;
    uint32_t tss_limit;
    uint16_t ss;
    uint32_t ar, limit;
    struct expected expected;
} stacks[] = {
    { "good", EXT_INT, 0x67, STACK, AR_DATA, 0xffff, NO_FAULT },
    { "TSS too short", EXT_INT, 8, STACK, AR_DATA, 0xffff, TS(SEL_TSS | 1) },
    { "TSS too short, INT n", INT_N, 8, STACK, AR_DATA, 0xffff, TS(SEL_TSS) },
    { "null", EXT_INT, 0x67, 0, AR_DATA, 0xffff, TS(1) },
    { "outside the GDT", EXT_INT, 0x67, 0x200, AR_DATA, 0xffff, TS(0x201) },
    { "RPL", EXT_INT, 0x67, STACK | 3, AR_DATA, 0xffff, TS(STACK | 1) },
    { "DPL", EXT_INT, 0x67, STACK, AR_DATA | AR_DPL3, 0xffff, TS(STACK | 1) },
    { "read-only", INT_N, 0x67, STACK, AR_DATA_RO, 0xffff, TS(STACK) },
    { "not present", EXT_INT, 0x67, STACK, NOT_P(AR_DATA), 0xffff, SS(STACK | 1) },
    { "no room", EXT_INT, 0x67, STACK, AR_DATA, 0x100, SS(STACK | 1) },
    { "no room, INT n", INT_N, 0x67, STACK, AR_DATA, 0x100, SS(STACK) },
};

START_TEST(inner_stack)
{
    struct arch_interruption what = event(stacks[_i].event);

    box_setup(PROT32, 3);
    idt_put(VECTOR, gate(INT32, 3, ARCH_FLAT_CODE(0), HANDLER, 0));
    gdt_put(STACK, descriptor(0, stacks[_i].limit, stacks[_i].ar));
    poke(BOX_TSS + 8, stacks[_i].ss, 4);
    state.tr.limit = stacks[_i].tss_limit;
    deliver(&what);
    check_fault(fault, stacks[_i].expected, stacks[_i].name);
    if (fault.raised)
        ck_assert_mem_eq(&state, &before, sizeof(state));
}
END_TEST

START_TEST(no_room_at_same_level)
{
    struct arch_interruption what = event(_i ? INT_N : EXT_INT);

    box_setup(PROT32, 0);
    idt_put(VECTOR, gate(INT32, 0, ARCH_FLAT_CODE(0), HANDLER, 0));
    state.gpr[ARCH_RSP] = 0x1000;
    state.sreg[ARCH_SS].ar = AR_DATA | 4; /* expand-down: from 1000H on */
    state.sreg[ARCH_SS].limit = 0xfff;
    deliver(&what);
    check_fault(fault, (struct expected)SS(_i ? 0 : 1), "no room");
}
END_TEST

/* RF in the saved image (SDM 18.3.1.1). */
static const struct {
    const char *name;
    enum arch_int_type type;
    uint8_t vector;
    bool in_repeat, before, after;
} resume[] = {
    { "fault", HW, ARCH_UD, false, false, true },
    { "page fault", HW, ARCH_PF, false, false, true },
    { "external interrupt", EXT_INT, 0x41, false, false, false },
    { "external interrupt after IRET set RF", EXT_INT, 0x41, false, true, true },
    { "external interrupt in REP", EXT_INT, 0x41, true, false, true },
    { "external interrupt with the vector of a fault", EXT_INT, ARCH_GP, false, false, false },
    { "#DB", HW, ARCH_DB, false, false, false },
    { "#DB in REP", HW, ARCH_DB, true, false, true },
    { "#DF", HW, ARCH_DF, false, false, false },
    { "#MC", HW, ARCH_MC, false, false, false },
    { "INT n", INT_N, 0x41, false, true, false },
    { "INT n with the vector of a fault", INT_N, ARCH_GP, false, false, false },
    { "INT3", INT_3, ARCH_BP, false, true, false },
};

START_TEST(resume_flag)
{
    struct arch_interruption what = event(resume[_i].type);

    what.vector = resume[_i].vector;
    what.in_repeat = resume[_i].in_repeat;
    box_setup(PROT32, 0);
    idt_put(what.vector, gate(INT32, 0, ARCH_FLAT_CODE(0), HANDLER, 0));
    state.rflags |= resume[_i].before ? RFLAGS_RF : 0;
    ck_assert_int_eq(deliver(&what), ARCH_DELIVERED);
    ck_assert_msg(!!(peek(state.gpr[ARCH_RSP] + 8, 4) & RFLAGS_RF) == resume[_i].after, "%s",
                  resume[_i].name);
    ck_assert(!(state.rflags & RFLAGS_RF));
}
END_TEST

START_TEST(real_mode)
{
    struct arch_interruption what = event(_i ? HW : INT_N);

    what.has_error = _i; /* never pushed here */
    box_setup(REAL, 0);
    state.gpr[ARCH_RSP] |= 0x12340000;
    state.rflags |= RFLAGS_IF | RFLAGS_TF | RFLAGS_AC | RFLAGS_NT;
    state.sreg[ARCH_CS].selector = 0x1111;
    poke(BOX_IDT + VECTOR * 4, 0x56781234, 4);
    ck_assert_int_eq(deliver(&what), ARCH_DELIVERED);
    ck_assert_uint_eq(state.rip, 0x1234);
    ck_assert_uint_eq(state.sreg[ARCH_CS].selector, 0x5678);
    ck_assert_uint_eq(state.sreg[ARCH_CS].base, 0x56780);
    ck_assert_uint_eq(state.gpr[ARCH_RSP], before.gpr[ARCH_RSP] - 6);
    ck_assert_uint_eq(peek((state.gpr[ARCH_RSP] & 0xffff), 2), RETURN);
    ck_assert_uint_eq(peek((state.gpr[ARCH_RSP] & 0xffff) + 2, 2), 0x1111);
    ck_assert_uint_eq(peek((state.gpr[ARCH_RSP] & 0xffff) + 4, 2), before.rflags & 0xffff);
    ck_assert_uint_eq(state.rflags, RFLAGS_FIXED1 | RFLAGS_NT);
}
END_TEST

START_TEST(real_mode_faults)
{
    struct arch_interruption what = event(INT_N);

    box_setup(REAL, 0);
    state.idtr.limit = VECTOR * 4 + 3;
    ck_assert_int_eq(deliver(&what), ARCH_DELIVERED);
    state.idtr.limit = VECTOR * 4 + 2;
    deliver(&what);
    ck_assert_uint_eq(fault.vector, ARCH_GP);
    ck_assert_mem_eq(&state, &before, sizeof(state));
    state.idtr.limit = 0xffff;
    state.gpr[ARCH_RSP] = 3; /* the second word would lie over the end */
    deliver(&what);
    ck_assert_uint_eq(fault.vector, ARCH_SS_FAULT);
}
END_TEST

/* INT n in virtual-8086 mode (SDM table 21-2). */
enum outcome {
    TO_GATE,
    TO_IVT,
    TO_GP
};

static const struct {
    bool vme;
    unsigned iopl;
    bool bit; /* of the redirection bitmap */
    enum outcome outcome;
} v86[] = {
    { false, 3, true, TO_GATE }, { false, 3, false, TO_GATE }, { false, 2, true, TO_GP },
    { false, 0, false, TO_GP },  { true, 2, true, TO_GP },     { true, 3, true, TO_GATE },
    { true, 3, false, TO_IVT },  { true, 2, false, TO_IVT },   { true, 0, false, TO_IVT },
};

/* VIF, as a program with IOPL below 3 sees it: as IF, with an IOPL of 3. */
static void check_ivt(unsigned iopl)
{
    uint64_t sp = before.gpr[ARCH_RSP];
    uint64_t pushed = before.rflags & 0xffff;
    uint64_t cleared = RFLAGS_TF | (iopl == 3 ? RFLAGS_IF : RFLAGS_VIF);

    if (iopl < 3)
        pushed = (pushed & ~(uint64_t)RFLAGS_IF) | RFLAGS_IOPL |
                 (before.rflags & RFLAGS_VIF ? RFLAGS_IF : 0);
    ck_assert(arch_v86_mode(&state));
    ck_assert_uint_eq(state.sreg[ARCH_CS].base, 0x56780);
    ck_assert_uint_eq(state.rip, 0x1234);
    ck_assert_uint_eq(state.gpr[ARCH_RSP], sp - 6);
    ck_assert_uint_eq(peek(sp - 2, 2), pushed);
    ck_assert_uint_eq(peek(sp - 6, 2), RETURN);
    ck_assert_uint_eq(state.rflags, before.rflags & ~cleared);
}

START_TEST(v86_int)
{
    struct arch_interruption what = event(INT_N);

    for (unsigned vif = 0; vif < 2; vif++) {
        box_setup(V86, 3);
        idt_put(VECTOR, gate(INT32, 3, SEL_CODE32, HANDLER, 0));
        poke(VECTOR * 4, 0x56781234, 4);
        poke(BOX_TSS + 0x66, 0x90, 2);
        memset(flat + BOX_TSS + 0x70, v86[_i].bit ? 0 : 0xff, 32);
        poke(BOX_TSS + 0x70 + VECTOR / 8, v86[_i].bit ? 1u << VECTOR % 8 : ~(1u << VECTOR % 8), 1);
        state.cr4 |= v86[_i].vme ? CR4_VME : 0;
        state.rflags |= v86[_i].iopl << 12 | (vif ? RFLAGS_VIF | RFLAGS_DF : RFLAGS_IF) | RFLAGS_TF;
        deliver(&what);
        if (v86[_i].outcome == TO_GP) {
            check_fault(fault, (struct expected)GP(0), "monitor");
            continue;
        }
        ck_assert(!fault.raised);
        if (v86[_i].outcome == TO_IVT)
            check_ivt(v86[_i].iopl);
        else
            ck_assert_uint_eq(state.sreg[ARCH_CS].selector, SEL_CODE32);
    }
}
END_TEST

/* The bitmap is not asked for INT3, and has to lie within the TSS. */
START_TEST(v86_bitmap)
{
    struct arch_interruption what = event(INT_3);

    box_setup(V86, 3);
    state.cr4 |= CR4_VME;
    idt_put(VECTOR, gate(INT32, 3, SEL_CODE32, HANDLER, 0));
    ck_assert_int_eq(deliver(&what), ARCH_DELIVERED);
    ck_assert_uint_eq(state.cpl, 0);
    what.type = INT_N;
    box_setup(V86, 3);
    state.cr4 |= CR4_VME;
    poke(BOX_TSS + 0x66, 0xff + 32, 2);
    deliver(&what);
    check_fault(fault, (struct expected)GP(0), "outside the TSS");
    state.tr.limit = 0x66;
    deliver(&what);
    check_fault(fault, (struct expected)GP(0), "no I/O base");
}
END_TEST

/* What begins and ends with the handler. */
START_TEST(blocking)
{
    struct arch_interruption what = event(_i ? ARCH_INT_NMI : EXT_INT);

    what.vector = _i ? ARCH_NMI : VECTOR;
    box_setup(PROT32, 0);
    idt_put(what.vector, gate(INT32, 0, ARCH_FLAT_CODE(0), HANDLER, 0));
    state.activity = ARCH_HLT;
    state.blocking_by_sti = state.blocking_by_mov_ss = true;
    ck_assert_int_eq(deliver(&what), ARCH_DELIVERED);
    ck_assert_int_eq(state.activity, ARCH_ACTIVE);
    ck_assert(!state.blocking_by_sti && !state.blocking_by_mov_ss);
    ck_assert_int_eq(state.blocking_by_nmi, _i);
}
END_TEST

START_TEST(debug_exception)
{
    struct arch_interruption what = event(_i ? INT_N : HW);

    what.vector = ARCH_DB;
    box_setup(PROT32, 0);
    idt_put(ARCH_DB, gate(INT32, 0, ARCH_FLAT_CODE(0), HANDLER, 0));
    state.dr[7] |= DR7_GD;
    ck_assert_int_eq(deliver(&what), ARCH_DELIVERED);
    ck_assert_int_eq(!!(state.dr[7] & DR7_GD), _i);
}
END_TEST

/* From a fault to what delivers it; CR2 changes when a page fault is raised, delivered or not. */
START_TEST(page_fault)
{
    struct arch_fault pf = arch_page_fault(0x123456789, 6);
    struct arch_interruption what;

    box_setup(LONG64, 3);
    what = arch_fault_interruption(&state, &pf);
    ck_assert_uint_eq(state.cr2, 0x123456789);
    ck_assert_int_eq(what.type, HW);
    ck_assert_uint_eq(what.vector, ARCH_PF);
    ck_assert(what.has_error);
    ck_assert_uint_eq(what.error, 6);
    ck_assert_uint_eq(what.return_rip, BOX_CODE);
    poke(BOX_TSS + 4, 0x40000010, 8); /* a stack that is not mapped */
    idt_put(ARCH_PF, gate(INT32, 0, ARCH_FLAT_CODE(0), HANDLER, 0));
    ck_assert_int_eq(deliver(&what), ARCH_DELIVERY_FAULT);
    check_fault(fault, (struct expected)PF(2), "stack");
    ck_assert_uint_eq(state.cr2, 0x40000008);
    before.cr2 = state.cr2;
    ck_assert_mem_eq(&state, &before, sizeof(state));
}
END_TEST

/* Tables 6-4 and 6-5: every first against every second exception. */
enum {
    B,
    C,
    P,
    D
};

static const struct {
    uint8_t vector, fault_class;
} classes[] = {
    { ARCH_DE, C }, { ARCH_DB, B },       { ARCH_NMI, B }, { ARCH_BP, B }, { ARCH_OF, B },
    { ARCH_BR, B }, { ARCH_UD, B },       { ARCH_NM, B },  { ARCH_DF, D }, { ARCH_TS, C },
    { ARCH_NP, C }, { ARCH_SS_FAULT, C }, { ARCH_GP, C },  { ARCH_PF, P }, { ARCH_MF, B },
    { ARCH_AC, B }, { ARCH_MC, B },       { ARCH_XM, B },  { ARCH_VE, P }, { ARCH_CP, C },
};

START_TEST(combine)
{
    /* Row: class of the first; column: of the second. S: the second, D: #DF, X: shutdown. */
    static const char *const table[] = { [B] = "SSS", [C] = "SDS", [P] = "SDD", [D] = "SXX" };

    for (int j = 0; j < TEST_COUNT(classes); j++) {
        struct arch_interruption first = { .type = HW, .vector = classes[_i].vector };
        struct arch_fault second = arch_fault_error((enum arch_vector)classes[j].vector, 0x18);
        struct arch_fault result = arch_combine_faults(&first, &second);

        if (classes[j].fault_class == D)
            continue;
        switch (table[classes[_i].fault_class][classes[j].fault_class]) {
        case 'S':
            ck_assert(result.raised && result.vector == second.vector && result.error == 0x18);
            break;
        case 'D':
            ck_assert(result.raised && result.vector == ARCH_DF && result.has_error);
            ck_assert_uint_eq(result.error, 0);
            break;
        default:
            ck_assert(!result.raised);
        }
        /* A software or external interrupt is benign, whatever its vector. */
        first.type = _i % 2 ? INT_N : EXT_INT;
        result = arch_combine_faults(&first, &second);
        ck_assert(result.raised && result.vector == second.vector);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interrupt");
    TCase *tcase = tcase_create("interrupt");

    tcase_add_loop_test(tcase, through_gate, 0, TEST_COUNT(gates));
    tcase_add_loop_test(tcase, gate_itself, 0, 10);
    tcase_add_loop_test(tcase, frame, 0, TEST_COUNT(frames));
    tcase_add_loop_test(tcase, ist, 0, 6);
    tcase_add_loop_test(tcase, inner_stack, 0, TEST_COUNT(stacks));
    tcase_add_loop_test(tcase, no_room_at_same_level, 0, 2);
    tcase_add_loop_test(tcase, resume_flag, 0, TEST_COUNT(resume));
    tcase_add_loop_test(tcase, real_mode, 0, 2);
    tcase_add_test(tcase, real_mode_faults);
    tcase_add_loop_test(tcase, v86_int, 0, TEST_COUNT(v86));
    tcase_add_test(tcase, v86_bitmap);
    tcase_add_loop_test(tcase, blocking, 0, 2);
    tcase_add_loop_test(tcase, debug_exception, 0, 2);
    tcase_add_test(tcase, page_fault);
    tcase_add_loop_test(tcase, combine, 0, TEST_COUNT(classes));
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
