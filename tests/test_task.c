/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Task switches (SDM vol. 3A, chapter 8): by JMP, CALL, an event and IRET, directly and through
 * task gates. */
#include "../models/arch/far.h"
#include "../models/arch/interrupt.h"

#include "arch_box.h"

#define NOT_P(ar) ((ar) & ~(uint32_t)ARCH_AR_P)
#define GATE      SEL_FREE
#define SEG       (SEL_FREE + 0x10) /* a descriptor that a row spoils */
#define PROT32    ARCH_MODE_PROT32

enum {
    VECTOR = 0x41,
    NEXT = 0x2468,
    OLD_FLAGS = 0x4ac7,
    NO_ERROR = 99,
};

enum source {
    BY_JMP,
    BY_CALL,
    BY_JMP_GATE,
    BY_CALL_GATE,
    BY_INT,
    BY_EXCEPTION,
    BY_IRET,
    SOURCES
};

static bool nests(enum source source)
{
    return source == BY_CALL || source == BY_CALL_GATE || source == BY_INT ||
           source == BY_EXCEPTION;
}

static void start(enum source source, unsigned size)
{
    box_setup(PROT32, 0);
    box_task_b(size);
    for (unsigned i = 0; i < 8; i++)
        if (i != ARCH_RSP)
            state.gpr[i] = 0x11110000 + i;
    state.rflags = OLD_FLAGS;
    state.dr[7] = 0x7ff;
    gdt_put(GATE, gate(ARCH_TYPE_TASK_GATE, 0, SEL_TSS_B, 0, 0));
    idt_put(VECTOR, gate(ARCH_TYPE_TASK_GATE, 0, SEL_TSS_B, 0, 0));
    if (source == BY_IRET) {
        poke(BOX_TSS, SEL_TSS_B, 2);
        poke(BOX_GDT + SEL_TSS_B + 5, peek(BOX_GDT + SEL_TSS_B + 5, 1) | ARCH_TYPE_BUSY, 1);
    } else {
        state.rflags &= ~(uint64_t)RFLAGS_NT;
    }
}

static struct arch_fault make_switch(enum source source)
{
    struct arch_interruption what = { .type = ARCH_INT_SW_INTERRUPT,
                                      .vector = VECTOR,
                                      .return_rip = NEXT };
    struct arch_fault fault;

    before = state;
    switch (source) {
    case BY_JMP:
        return arch_far_jmp(&cpu, SEL_TSS_B, 0, 4, NEXT);
    case BY_CALL:
        return arch_far_call(&cpu, SEL_TSS_B, 0, 4, NEXT);
    case BY_JMP_GATE:
        return arch_far_jmp(&cpu, GATE, 0, 4, NEXT);
    case BY_CALL_GATE:
        return arch_far_call(&cpu, GATE, 0, 4, NEXT);
    case BY_IRET:
        return arch_iret(&cpu, 4, NEXT);
    case BY_EXCEPTION:
        what.type = ARCH_INT_HW_EXCEPTION;
        what.has_error = true;
        what.error = 0xe4;
        break;
    case BY_INT:
    case SOURCES:
        break;
    }
    arch_deliver(&cpu, &what, &fault);
    return fault;
}

static unsigned type_at(unsigned selector)
{
    return (unsigned)peek(BOX_GDT + selector + 5, 1) & 0xf;
}

/* Busy bits, NT and the link (SDM table 8-2). */
static void check_links(enum source source)
{
    bool nested = nests(source);
    uint64_t saved = peek(BOX_TSS + 0x24, 4);

    ck_assert_uint_eq(type_at(SEL_TSS), nested ? ARCH_TYPE_TSS32_BUSY : ARCH_TYPE_TSS32);
    ck_assert_uint_eq(type_at(SEL_TSS_B) & ARCH_TYPE_BUSY, ARCH_TYPE_BUSY);
    ck_assert_int_eq(!!(state.rflags & RFLAGS_NT), nested);
    if (nested)
        ck_assert_uint_eq(peek(BOX_TSS_B, 2), SEL_TSS);
    ck_assert_uint_eq(saved, before.rflags & ~(uint64_t)(source == BY_IRET ? RFLAGS_NT : 0));
}

/* The old task is in its TSS. */
static void check_saved(void)
{
    ck_assert_uint_eq(peek(BOX_TSS + 0x20, 4), NEXT);
    for (unsigned i = 0; i < 8; i++)
        ck_assert_uint_eq(peek(BOX_TSS + 0x28 + 4 * i, 4), before.gpr[i]);
    for (unsigned i = 0; i < 6; i++)
        ck_assert_uint_eq(peek(BOX_TSS + 0x48 + 4 * i, 4), before.sreg[i].selector);
    ck_assert_uint_eq(peek(BOX_TSS + 0x1c, 4), 0); /* CR3 and LDT are not */
    ck_assert_uint_eq(peek(BOX_TSS + 0x60, 4), 0);
}

static void check_loaded(unsigned size, unsigned pushed)
{
    ck_assert_uint_eq(state.rip, TASK_B_EIP);
    ck_assert_uint_eq(state.rflags & ~(uint64_t)RFLAGS_NT, TASK_B_FLAGS);
    for (unsigned i = 0; i < 8; i++)
        ck_assert_uint_eq(state.gpr[i], i == ARCH_RSP ? BOX_STACK0 - pushed : TASK_B_GPR + i);
    ck_assert_uint_eq(state.sreg[ARCH_CS].selector, ARCH_FLAT_CODE(0));
    ck_assert_uint_eq(state.sreg[ARCH_CS].ar, AR_CODE | AR_FLAT32);
    ck_assert_uint_eq(state.sreg[ARCH_SS].selector, ARCH_FLAT_DATA(0));
    ck_assert_uint_eq(state.sreg[ARCH_ES].selector, ARCH_FLAT_DATA(3));
    ck_assert_uint_eq(state.sreg[ARCH_FS].selector, size == 4 ? SEL_CONFORMING : 0);
    ck_assert(state.sreg[ARCH_GS].ar & ARCH_AR_UNUSABLE);
    ck_assert_uint_eq(state.ldtr.selector, SEL_LDT_B);
    ck_assert_uint_eq(state.ldtr.base, 0x12340);
    ck_assert_uint_eq(state.tr.selector, SEL_TSS_B);
    ck_assert_uint_eq(state.tr.base, BOX_TSS_B);
    ck_assert_uint_eq(arch_ar_type(state.tr.ar),
                      size == 4 ? ARCH_TYPE_TSS32_BUSY : ARCH_TYPE_TSS16_BUSY);
    ck_assert(state.cr0 & CR0_TS);
    ck_assert_uint_eq(state.dr[7], 0x6aa);
    ck_assert_uint_eq(state.cpl, 0);
}

START_TEST(switches)
{
    for (unsigned size = 2; size <= 4; size += 2) {
        unsigned pushed = _i == BY_EXCEPTION ? size : 0;
        struct arch_fault fault;

        start((enum source)_i, size);
        fault = make_switch((enum source)_i);
        ck_assert_msg(!fault.raised, "vector %u, error %x", fault.vector, fault.error);
        check_links((enum source)_i);
        check_saved();
        check_loaded(size, pushed);
        if (pushed)
            ck_assert_uint_eq(peek(state.gpr[ARCH_RSP], size), 0xe4);
    }
}
END_TEST

/* Forth by CALL and back by IRET: the old task is as it was, from a 16-bit one too. */
START_TEST(there_and_back)
{
    start(BY_CALL, _i ? 2 : 4);
    poke(BOX_TSS + 0x60, SEL_LDT, 2);
    ck_assert(!make_switch(BY_CALL).raised);
    ck_assert(!arch_iret(&cpu, 4, 0x9999).raised);
    ck_assert_uint_eq(state.rip, NEXT);
    ck_assert_uint_eq(state.tr.selector, SEL_TSS);
    ck_assert_uint_eq(state.rflags, before.rflags);
    ck_assert_mem_eq(state.gpr, before.gpr, sizeof(state.gpr));
    for (int i = 0; i < ARCH_SREGS; i++) {
        ck_assert_uint_eq(state.sreg[i].selector, before.sreg[i].selector);
        ck_assert_uint_eq(state.sreg[i].ar, before.sreg[i].ar);
    }
    ck_assert_uint_eq(type_at(SEL_TSS), ARCH_TYPE_TSS32_BUSY);
    ck_assert_uint_eq(type_at(SEL_TSS_B), _i ? ARCH_TYPE_TSS16 : ARCH_TYPE_TSS32);
    ck_assert_uint_eq(peek(BOX_TSS_B + (_i ? 0x0e : 0x20), _i ? 2 : 4), 0x9999);
}
END_TEST

/* What stops a switch before it has begun: nothing has changed. */
enum change {
    NOT_PRESENT,
    BUSY,
    AVAILABLE,
    SHORT,
    NOT_TSS,
    OUTSIDE,
    IN_LDT,
    NULL_LINK,
    GATE_NOT_PRESENT,
};

static const struct {
    const char *name;
    enum source source;
    enum change change;
    struct expected expected;
} refused[] = {
    { "JMP, not present", BY_JMP, NOT_PRESENT, NP(SEL_TSS_B) },
    { "INT, not present", BY_INT, NOT_PRESENT, NP(SEL_TSS_B) },
    { "exception, not present", BY_EXCEPTION, NOT_PRESENT, NP(SEL_TSS_B | 1) },
    { "IRET, not present", BY_IRET, NOT_PRESENT, NP(SEL_TSS_B) },
    { "JMP, busy", BY_JMP, BUSY, GP(SEL_TSS_B) },
    { "CALL through a gate, busy", BY_CALL_GATE, BUSY, GP(SEL_TSS_B) },
    { "exception, busy", BY_EXCEPTION, BUSY, GP(SEL_TSS_B | 1) },
    { "IRET, not busy", BY_IRET, AVAILABLE, TS(SEL_TSS_B) },
    { "JMP, too short", BY_JMP, SHORT, TS(SEL_TSS_B) },
    { "exception, too short", BY_EXCEPTION, SHORT, TS(SEL_TSS_B | 1) },
    { "IRET, too short", BY_IRET, SHORT, TS(SEL_TSS_B) },
    { "JMP through a gate, not a TSS", BY_JMP_GATE, NOT_TSS, GP(SEL_TSS_B) },
    { "IRET, not a TSS", BY_IRET, NOT_TSS, TS(SEL_TSS_B) },
    { "JMP through a gate, outside the GDT", BY_JMP_GATE, OUTSIDE, GP(0x200) },
    { "exception, outside the GDT", BY_EXCEPTION, OUTSIDE, GP(0x201) },
    { "IRET, outside the GDT", BY_IRET, OUTSIDE, TS(0x200) },
    { "CALL through a gate, in the LDT", BY_CALL_GATE, IN_LDT, GP(0x0c) },
    { "exception, in the LDT", BY_EXCEPTION, IN_LDT, GP(0x0d) },
    { "IRET, in the LDT", BY_IRET, IN_LDT, TS(0x0c) },
    { "IRET, null", BY_IRET, NULL_LINK, TS(0) },
    { "JMP, gate not present", BY_JMP_GATE, GATE_NOT_PRESENT, NP(GATE) },
    { "INT, gate not present", BY_INT, GATE_NOT_PRESENT, NP(VECTOR << 3 | 2) },
};

/* The selector of the new TSS, wherever this source has it from. */
static void put_tss_selector(uint16_t selector)
{
    poke(BOX_TSS, selector, 2);
    gdt_put(GATE, gate(ARCH_TYPE_TASK_GATE, 0, selector, 0, 0));
    idt_put(VECTOR, gate(ARCH_TYPE_TASK_GATE, 0, selector, 0, 0));
}

static void spoil(enum change change)
{
    switch (change) {
    case NOT_PRESENT:
        poke(BOX_GDT + SEL_TSS_B + 5, peek(BOX_GDT + SEL_TSS_B + 5, 1) & ~UINT64_C(0x80), 1);
        break;
    case BUSY:
        gdt_put(SEL_TSS_B, descriptor(BOX_TSS_B, 0x67, AR_TSS32 | ARCH_TYPE_BUSY));
        break;
    case AVAILABLE:
        gdt_put(SEL_TSS_B, descriptor(BOX_TSS_B, 0x67, AR_TSS32));
        break;
    case SHORT:
        poke(BOX_GDT + SEL_TSS_B, 0x66, 2);
        break;
    case NOT_TSS:
        gdt_put(SEL_TSS_B, descriptor(BOX_TSS_B, 0x67, AR_DATA));
        break;
    case OUTSIDE:
        put_tss_selector(0x200);
        break;
    case IN_LDT:
        put_tss_selector(0x0c);
        break;
    case NULL_LINK:
        put_tss_selector(0);
        break;
    case GATE_NOT_PRESENT:
        gdt_put(GATE, gate(ARCH_TYPE_TASK_GATE, 0, SEL_TSS_B, 0, 0) ^ UINT64_C(1) << 47);
        idt_put(VECTOR, gate(ARCH_TYPE_TASK_GATE, 0, SEL_TSS_B, 0, 0) ^ UINT64_C(1) << 47);
        break;
    }
}

START_TEST(refusals)
{
    static uint8_t memory[FLAT_SIZE];
    struct arch_fault fault;

    start(refused[_i].source, 4);
    spoil(refused[_i].change);
    memcpy(memory, flat, sizeof(flat));
    fault = make_switch(refused[_i].source);
    check_fault(fault, refused[_i].expected, refused[_i].name);
    ck_assert(!fault.new_task);
    ck_assert_mem_eq(&state, &before, sizeof(state));
    ck_assert_mem_eq(flat, memory, sizeof(flat));
}
END_TEST

/* The privilege to use a TSS or a task gate. */
START_TEST(privilege)
{
    static const struct {
        const char *name;
        uint8_t cpl;
        uint16_t selector;
        unsigned dpl;
        struct expected expected;
    } rows[] = {
        { "TSS, DPL = CPL", 0, SEL_TSS_B, 0, NO_FAULT },
        { "TSS, DPL below CPL", 3, SEL_TSS_B | 3, 0, GP(SEL_TSS_B) },
        { "TSS, DPL below RPL", 0, SEL_TSS_B | 1, 0, GP(SEL_TSS_B) },
        { "TSS, DPL 3", 3, SEL_TSS_B | 3, 3, NO_FAULT },
        { "gate, DPL below CPL", 3, GATE | 3, 2, GP(GATE) },
        { "gate, DPL below RPL", 0, GATE | 3, 2, GP(GATE) },
        { "gate, DPL 3, TSS of DPL 0", 3, GATE | 3, 3, NO_FAULT },
    };

    for (int i = 0; i < TEST_COUNT(rows); i++) {
        bool direct = (rows[i].selector & 0xfff8) == SEL_TSS_B;

        box_setup(PROT32, rows[i].cpl);
        box_task_b(4);
        if (direct)
            gdt_put(SEL_TSS_B, descriptor(BOX_TSS_B, 0x67, AR_TSS32 | rows[i].dpl << 5));
        gdt_put(GATE, gate(ARCH_TYPE_TASK_GATE, rows[i].dpl, SEL_TSS_B, 0, 0));
        check_fault(arch_far_jmp(&cpu, rows[i].selector, 0, 4, NEXT), rows[i].expected,
                    rows[i].name);
    }
}
END_TEST

/* What goes wrong in the new task (SDM table 8-1): the field at OFFSET of its TSS is SELECTOR, the
 * descriptor at SEG of rights AR. */
enum {
    ES_AT = 0x48,
    CS_AT = 0x4c,
    SS_AT = 0x50,
    DS_AT = 0x54,
    GS_AT = 0x5c,
    LDT_AT = 0x60
};

static const struct {
    const char *name;
    unsigned offset;
    uint16_t selector;
    uint32_t ar;
    struct expected expected;
} late[] = {
    { "LDT in the LDT", LDT_AT, 0x0c, AR_LDT, TS(0x0c) },
    { "LDT outside the GDT", LDT_AT, 0x200, AR_LDT, TS(0x200) },
    { "LDT of another type", LDT_AT, SEG, AR_DATA, TS(SEG) },
    { "LDT not present", LDT_AT, SEG, NOT_P(AR_LDT), TS(SEG) },
    { "LDT null", LDT_AT, 0, AR_LDT, NO_FAULT },
    { "CS null", CS_AT, 0, AR_CODE, TS(0) },
    { "CS outside the GDT", CS_AT, 0x200, AR_CODE, TS(0x200) },
    { "CS data", CS_AT, SEG, AR_DATA, TS(SEG) },
    { "CS, DPL not RPL", CS_AT, SEG, AR_CODE | AR_DPL3, TS(SEG) },
    { "CS, conforming, DPL above RPL", CS_AT, SEG, AR_CONFORMING | AR_DPL3, TS(SEG) },
    { "CS not present", CS_AT, SEG, NOT_P(AR_CODE), NP(SEG) },
    { "SS null", SS_AT, 0, AR_DATA, TS(0) },
    { "SS outside the GDT", SS_AT, 0x200, AR_DATA, TS(0x200) },
    { "SS read-only", SS_AT, SEG, AR_DATA_RO, TS(SEG) },
    { "SS, DPL not CPL", SS_AT, SEG, AR_DATA | AR_DPL1, TS(SEG) },
    { "SS, RPL not CPL", SS_AT, SEG | 1, AR_DATA, TS(SEG) },
    { "SS not present", SS_AT, SEG, NOT_P(AR_DATA), SS(SEG) },
    { "DS outside the GDT", DS_AT, 0x200, AR_DATA, TS(0x200) },
    { "DS not readable", DS_AT, SEG, AR_CODE_XO, TS(SEG) },
    { "ES, DPL below RPL", ES_AT, SEG | 3, AR_DATA, TS(SEG) },
    { "GS not present", GS_AT, SEG, NOT_P(AR_DATA), NP(SEG) },
    { "EIP past the limit", 0x20, 0, 0, GP(0) },
};

START_TEST(late_faults)
{
    for (unsigned exception = 0; exception < 2; exception++) {
        enum source source = exception ? BY_EXCEPTION : BY_JMP;
        struct expected expected = late[_i].expected;
        struct arch_fault fault;

        start(source, 4);
        if (late[_i].offset == 0x20) {
            poke(BOX_TSS_B + CS_AT, SEG, 4);
            gdt_put(SEG, descriptor(0, 0x1356, AR_CODE));
        } else {
            gdt_put(SEG, descriptor(0, 0xffff, late[_i].ar));
            poke(BOX_TSS_B + late[_i].offset, late[_i].selector, 4);
        }
        expected.error |= exception;
        fault = make_switch(source);
        check_fault(fault, expected, late[_i].name);
        ck_assert_int_eq(fault.new_task, fault.raised);
        /* The fault is the new task's: its registers are loaded, its EIP is what is saved. */
        ck_assert_uint_eq(state.tr.selector, SEL_TSS_B);
        ck_assert_uint_eq(state.rip, TASK_B_EIP);
        ck_assert_uint_eq(state.gpr[ARCH_RAX], TASK_B_GPR);
        ck_assert_uint_eq(peek(BOX_TSS + 0x20, 4), NEXT);
    }
}
END_TEST

START_TEST(no_room_for_error)
{
    struct arch_fault fault;

    start(BY_EXCEPTION, 4);
    poke(BOX_TSS_B + 0x38, 2, 4); /* ESP */
    gdt_put(SEG, descriptor(0, 0xffff, AR_DATA));
    poke(BOX_TSS_B + SS_AT, SEG, 4);
    fault = make_switch(BY_EXCEPTION);
    check_fault(fault, (struct expected)SS(1), "no room");
    ck_assert(fault.new_task);
}
END_TEST

START_TEST(trap_flag)
{
    struct arch_fault fault;

    start(BY_JMP, 4);
    poke(BOX_TSS_B + 0x64, 1, 2);
    fault = make_switch(BY_JMP);
    ck_assert(fault.raised && fault.new_task && fault.vector == ARCH_DB && !fault.has_error);
    ck_assert_uint_eq(state.dr[6], 0xffff0ff0 | DR6_BT);
    ck_assert_uint_eq(state.rip, TASK_B_EIP);
}
END_TEST

START_TEST(to_v86)
{
    start(BY_JMP, 4);
    poke(BOX_TSS_B + 0x24, TASK_B_FLAGS | RFLAGS_VM, 4);
    for (unsigned i = 0; i < 6; i++)
        poke(BOX_TSS_B + 0x48 + 4 * i, 0x1000 + i, 4);
    ck_assert(!make_switch(BY_JMP).raised);
    ck_assert(arch_v86_mode(&state));
    ck_assert_uint_eq(state.cpl, 3);
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_uint_eq(state.sreg[i].base, 0x10000 + 16 * i);
        ck_assert_uint_eq(state.sreg[i].ar, 0xf3);
    }
}
END_TEST

/* CR3 comes from a 32-bit TSS where paging is on; with PAE so do the PDPTE registers. */
START_TEST(cr3)
{
    struct arch_fault fault;

    start(BY_JMP, 4);
    poke(BOX_TSS_B + 0x1c, 0x20000, 4);
    ck_assert(!make_switch(BY_JMP).raised);
    ck_assert_uint_eq(state.cr3, 0);
    for (int bad = 0; bad < 2; bad++) {
        start(BY_JMP, 4);
        state.cr0 |= CR0_PG;
        state.cr4 |= CR4_PAE;
        state.pdpte[0] = 0x21001;
        poke(0x21000, 0x83, 8); /* 2 MBytes */
        poke(BOX_TSS_B + 0x1c, 0x20020, 4);
        poke(0x20020, 0x21001 | (bad ? 2 : 0), 8);
        poke(0x20028, 0x31001, 8);
        fault = make_switch(BY_JMP);
        ck_assert_uint_eq(state.cr3, 0x20020);
        if (bad)
            check_fault(fault, (struct expected)GP(0), "PDPTE");
        else
            ck_assert_uint_eq(state.pdpte[1], 0x31001);
    }
}
END_TEST

/* Step 5: a page of the TSSs that is not there stops the switch before it begins. What is saved
 * in the old one is 20H to 5FH; the new one is read whole. */
static const struct {
    uint32_t old_base, new_base, absent;
    uint32_t error; /* of the page fault */
} absent_pages[] = {
    { BOX_TSS, BOX_TSS_B, BOX_TSS, 2 },
    { BOX_TSS, BOX_TSS_B, BOX_TSS_B, 0 },
    { 0x4fa1, BOX_TSS_B, 0x5000, 2 },
    { 0x4fe0, BOX_TSS_B, 0x4000, NO_ERROR }, /* of which nothing is saved there */
    { BOX_TSS, 0x5f99, 0x6000, 0 },
};

START_TEST(page_fault)
{
    static uint8_t memory[FLAT_SIZE];
    bool good = absent_pages[_i].error == NO_ERROR;
    struct arch_fault fault;

    start(BY_CALL, 4);
    memmove(flat + absent_pages[_i].new_base, flat + BOX_TSS_B, 0x68);
    gdt_put(SEL_TSS_B, descriptor(absent_pages[_i].new_base, 0x67, AR_TSS32));
    state.tr.base = absent_pages[_i].old_base;
    state.cr0 |= CR0_PG;
    state.cr3 = 0x20000;
    poke(absent_pages[_i].new_base + 0x1c, 0x20000, 4);
    poke(0x20000, 0x21027, 4);
    for (unsigned page = 0; page < 64; page++) {
        bool absent = page << 12 == absent_pages[_i].absent;

        poke(0x21000 + 4 * page, page << 12 | (absent ? 0 : 0x67), 4);
    }
    memcpy(memory, flat, sizeof(flat));
    fault = make_switch(BY_CALL);
    ck_assert_int_eq(fault.raised, !good);
    if (good)
        return;
    check_fault(fault, (struct expected)PF(absent_pages[_i].error), "TSS");
    ck_assert(!fault.new_task);
    ck_assert_mem_eq(&state, &before, sizeof(state));
    ck_assert_mem_eq(flat, memory, sizeof(flat));
}
END_TEST

/* A fault in the new task is combined with the event that led there, and delivered in it. */
START_TEST(fault_in_new_task)
{
    struct arch_interruption first = { .type = ARCH_INT_HW_EXCEPTION, .vector = ARCH_GP };
    struct arch_interruption second;
    struct arch_fault fault;

    start(BY_EXCEPTION, 4);
    poke(BOX_TSS_B + DS_AT, 0x200, 4);
    idt_put(ARCH_TS, gate(ARCH_TYPE_INT_GATE32, 0, ARCH_FLAT_CODE(0), 0x4321, 0));
    idt_put(ARCH_DF, gate(ARCH_TYPE_INT_GATE32, 0, ARCH_FLAT_CODE(0), 0x8888, 0));
    fault = make_switch(BY_EXCEPTION);
    fault = arch_combine_faults(&first, &fault);
    second = arch_fault_interruption(&state, &fault);
    ck_assert_uint_eq(second.vector, ARCH_DF);
    ck_assert_int_eq(arch_deliver(&cpu, &second, &fault), ARCH_DELIVERED);
    ck_assert_uint_eq(state.rip, 0x8888);
    ck_assert_uint_eq(peek(state.gpr[ARCH_RSP] + 4, 4), TASK_B_EIP);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("task");
    TCase *tcase = tcase_create("task");

    tcase_add_loop_test(tcase, switches, 0, SOURCES);
    tcase_add_loop_test(tcase, there_and_back, 0, 2);
    tcase_add_loop_test(tcase, refusals, 0, TEST_COUNT(refused));
    tcase_add_test(tcase, privilege);
    tcase_add_loop_test(tcase, late_faults, 0, TEST_COUNT(late));
    tcase_add_test(tcase, no_room_for_error);
    tcase_add_test(tcase, trap_flag);
    tcase_add_test(tcase, to_v86);
    tcase_add_test(tcase, cr3);
    tcase_add_loop_test(tcase, page_fault, 0, TEST_COUNT(absent_pages));
    tcase_add_test(tcase, fault_in_new_task);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
