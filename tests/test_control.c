/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control and debug registers, flags, table registers, I/O permission, branch conditions
 * (SDM vol. 3A, chapter 2; vol. 2, each instruction's page). */
#include "../models/arch/cond.h"
#include "../models/arch/control.h"

#include "arch_box.h"

#define PROT32 ARCH_MODE_PROT32
#define LONG64 ARCH_MODE_LONG64
#define COMPAT ARCH_MODE_COMPAT
#define REAL   ARCH_MODE_REAL
#define V86    ARCH_MODE_V86

static void check_unchanged(const char *name)
{
    ck_assert_msg(!memcmp(&state, &before, sizeof(state)), "%s: the state has changed", name);
}

/* MOV to CR0 from a state of MODE with CR0, CR4 and EFER changed by what the row sets and clears.
 */
static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    uint64_t set_cr0, set_cr4, set_efer;
    uint64_t value;
    struct expected expected;
    uint64_t cr0; /* after it */
    bool lma;
} cr0[] = {
    { "protected mode on", REAL, 0, 0, 0, 0, CR0_PE, NO_FAULT, CR0_PE | CR0_ET, false },
    { "protected mode off", PROT32, 0, 0, 0, 0, 0, NO_FAULT, CR0_ET, false },
    { "reserved bits are ignored", PROT32, 0, 0, 0, 0, 0x7fffffff & ~CR0_NW, NO_FAULT, 0x4005003f,
      false },
    { "CPL 1", PROT32, 1, 0, 0, 0, CR0_PE, GP(0), 0, false },
    { "V86", V86, 3, 0, 0, 0, CR0_PE, GP(0), 0, false },
    { "PG without PE", REAL, 0, 0, 0, 0, CR0_PG, GP(0), 0, false },
    { "NW without CD", PROT32, 0, 0, 0, 0, CR0_PE | CR0_NW, GP(0), 0, false },
    { "NW with CD", PROT32, 0, 0, 0, 0, CR0_PE | CR0_NW | CR0_CD, NO_FAULT,
      CR0_PE | CR0_ET | CR0_NW | CR0_CD, false },
    { "high half", LONG64, 0, 0, 0, 0, UINT64_C(1) << 32 | CR0_PE | CR0_PG, GP(0), 0, true },
    { "paging on", PROT32, 0, 0, 0, 0, CR0_PE | CR0_PG, NO_FAULT, CR0_PE | CR0_ET | CR0_PG, false },
    { "into IA-32e mode", PROT32, 0, 0, CR4_PAE, EFER_LME, CR0_PE | CR0_PG, NO_FAULT,
      CR0_PE | CR0_ET | CR0_PG, true },
    { "into IA-32e mode without PAE", PROT32, 0, 0, 0, EFER_LME, CR0_PE | CR0_PG, GP(0), 0, false },
    { "still in IA-32e mode", LONG64, 0, 0, 0, 0, CR0_PE | CR0_PG | CR0_WP, NO_FAULT,
      CR0_PE | CR0_ET | CR0_PG | CR0_WP, true },
    { "out of IA-32e mode", COMPAT, 0, 0, 0, 0, CR0_PE, NO_FAULT, CR0_PE | CR0_ET, false },
    { "out of 64-bit mode", LONG64, 0, 0, 0, 0, CR0_PE, GP(0), 0, true },
    { "paging off with PCIDs", COMPAT, 0, 0, CR4_PCIDE, 0, CR0_PE, GP(0), 0, true },
};

START_TEST(mov_to_cr0)
{
    struct arch_fault fault;

    box_setup(cr0[_i].mode, cr0[_i].cpl);
    state.cr0 |= cr0[_i].set_cr0;
    state.cr4 |= cr0[_i].set_cr4;
    state.efer |= cr0[_i].set_efer;
    before = state;
    fault = arch_mov_to_cr(&cpu, 0, cr0[_i].value);
    check_fault(fault, cr0[_i].expected, cr0[_i].name);
    ck_assert_int_eq(arch_long_mode(&state), cr0[_i].lma);
    if (fault.raised)
        check_unchanged(cr0[_i].name);
    else
        ck_assert_uint_eq(state.cr0, cr0[_i].cr0);
}
END_TEST

/* What else keeps a processor out of IA-32e mode (SDM 10.8.5). */
START_TEST(into_ia32e)
{
    for (int i = 0; i < 2; i++) {
        box_setup(PROT32, 0);
        state.cr4 |= CR4_PAE;
        state.efer |= EFER_LME;
        if (i)
            state.sreg[ARCH_CS].ar |= ARCH_AR_L;
        else
            state.tr.ar = AR_TSS16 | ARCH_TYPE_BUSY;
        before = state;
        check_fault(arch_mov_to_cr0(&cpu, CR0_PE | CR0_PG), (struct expected)GP(0), "IA-32e");
        check_unchanged("IA-32e");
    }
}
END_TEST

/* MOV to CR0, CR3 and CR4 that load the PDPTE registers, and do not. */
enum {
    TO_CR0,
    TO_CR3,
    TO_CR4
};

static const struct {
    const char *name;
    int cr;
    uint64_t cr0, cr4; /* before */
    uint64_t value;
    bool loads;
} pdptes[] = {
    { "PG on", TO_CR0, CR0_PE, CR4_PAE, CR0_PE | CR0_PG, true },
    { "CD on", TO_CR0, CR0_PE | CR0_PG, CR4_PAE, CR0_PE | CR0_PG | CR0_CD, true },
    { "WP on", TO_CR0, CR0_PE | CR0_PG, CR4_PAE, CR0_PE | CR0_PG | CR0_WP, false },
    { "PG on without PAE", TO_CR0, CR0_PE, 0, CR0_PE | CR0_PG, false },
    { "CR3", TO_CR3, CR0_PE | CR0_PG, CR4_PAE, 0x30000, true },
    { "CR3, paging off", TO_CR3, CR0_PE, CR4_PAE, 0x30000, false },
    { "CR3, no PAE", TO_CR3, CR0_PE | CR0_PG, 0, 0x30000, false },
    { "PAE on", TO_CR4, CR0_PE | CR0_PG, 0, CR4_PAE, true },
    { "PGE on", TO_CR4, CR0_PE | CR0_PG, CR4_PAE, CR4_PAE | CR4_PGE, true },
    { "SMEP on", TO_CR4, CR0_PE | CR0_PG, CR4_PAE, CR4_PAE | CR4_SMEP, true },
    { "TSD on", TO_CR4, CR0_PE | CR0_PG, CR4_PAE, CR4_PAE | CR4_TSD, false },
    { "PAE on, paging off", TO_CR4, CR0_PE, 0, CR4_PAE, false },
};

static struct arch_fault mov_to(int cr, uint64_t value)
{
    return cr == TO_CR0   ? arch_mov_to_cr0(&cpu, value)
           : cr == TO_CR3 ? arch_mov_to_cr3(&cpu, value)
                          : arch_mov_to_cr4(&cpu, value);
}

START_TEST(load_pdptes)
{
    for (int bad = 0; bad < 2; bad++) {
        struct arch_fault fault;

        box_setup(PROT32, 0);
        state.cr0 = pdptes[_i].cr0 | CR0_ET;
        state.cr4 = pdptes[_i].cr4;
        state.cr3 = 0x30000;
        poke(0x30000, 0x31001 | (bad ? 0x20 : 0), 8);
        before = state;
        fault = mov_to(pdptes[_i].cr, pdptes[_i].value);
        ck_assert_msg(fault.raised == (bad && pdptes[_i].loads), "%s", pdptes[_i].name);
        if (fault.raised)
            check_unchanged(pdptes[_i].name);
        else
            ck_assert_uint_eq(state.pdpte[0], pdptes[_i].loads ? 0x31001 : 0);
    }
}
END_TEST

static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    uint64_t set_cr4, value;
    struct expected expected;
    uint64_t cr3;
} cr3[] = {
    { "32 bits", PROT32, 0, 0, 0xfffff018, NO_FAULT, 0xfffff018 },
    { "64 bits", LONG64, 0, 0, 0x3fffffffffff, NO_FAULT, 0x3fffffffffff },
    { "past MAXPHYADDR", LONG64, 0, 0, 0x400000000000, GP(0), 0 },
    { "bit 63", LONG64, 0, 0, 0x8000000000001000, GP(0), 0 },
    { "bit 63 with PCIDs", LONG64, 0, CR4_PCIDE, 0x8000000000001005, NO_FAULT, 0x1005 },
    { "bit 62 with PCIDs", LONG64, 0, CR4_PCIDE, 0x4000000000001005, GP(0), 0 },
    { "CPL 3", LONG64, 3, 0, 0x1000, GP(0), 0 },
};

START_TEST(mov_to_cr3)
{
    struct arch_fault fault;

    box_setup(cr3[_i].mode, cr3[_i].cpl);
    state.cr4 |= cr3[_i].set_cr4;
    before = state;
    fault = arch_mov_to_cr(&cpu, 3, cr3[_i].value);
    check_fault(fault, cr3[_i].expected, cr3[_i].name);
    if (fault.raised)
        check_unchanged(cr3[_i].name);
    else
        ck_assert_uint_eq(state.cr3, cr3[_i].cr3);
}
END_TEST

/* Every bit of CR4: bits 15, 19, 22 and up stand for nothing here; one feature is not there. */
START_TEST(cr4_bits)
{
    uint64_t bit = UINT64_C(1) << _i;
    bool good = bit & 0x377fff;
    struct arch_fault fault;

    box_setup(PROT32, 0);
    limits.linear_width = bit == CR4_LA57 ? 57 : 48;
    good = good && bit != CR4_PCIDE; /* outside IA-32e mode */
    fault = arch_mov_to_cr(&cpu, 4, bit);
    check_fault(fault, good ? (struct expected)NO_FAULT : (struct expected)GP(0), "bit");
    ck_assert_uint_eq(state.cr4, good ? bit : 0);
    box_setup(PROT32, 0);
    limits.cr4_reserved = bit;
    check_fault(arch_mov_to_cr4(&cpu, bit), (struct expected)GP(0), "absent");
    ck_assert_uint_eq(state.cr4, 0);
}
END_TEST

static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    uint64_t cr3, set_cr4, value;
    struct expected expected;
} cr4[] = {
    { "PAE off in IA-32e mode", COMPAT, 0, 0x1000, 0, 0, GP(0) },
    { "PAE off", PROT32, 0, 0, CR4_PAE, 0, NO_FAULT },
    { "LA57 on in IA-32e mode", LONG64, 0, 0x1000, 0, CR4_PAE | CR4_LA57, GP(0) },
    { "LA57 off in IA-32e mode", LONG64, 0, 0x1000, CR4_LA57, CR4_PAE, GP(0) },
    { "LA57 on, where there is none", PROT32, 0, 0, 0, CR4_LA57, GP(0) },
    { "PCIDE on", LONG64, 0, 0x1000, 0, CR4_PAE | CR4_PCIDE, NO_FAULT },
    { "PCIDE on, PCID in CR3", LONG64, 0, 0x1001, 0, CR4_PAE | CR4_PCIDE, GP(0) },
    { "PCIDE stays", LONG64, 0, 0x1001, CR4_PCIDE, CR4_PAE | CR4_PCIDE, NO_FAULT },
    { "CPL 2", LONG64, 2, 0x1000, 0, CR4_PAE, GP(0) },
    { "high half", LONG64, 0, 0x1000, 0, UINT64_C(1) << 32 | CR4_PAE, GP(0) },
};

START_TEST(mov_to_cr4)
{
    struct arch_fault fault;

    box_setup(cr4[_i].mode, cr4[_i].cpl);
    state.cr3 = cr4[_i].cr3;
    state.cr4 |= cr4[_i].set_cr4;
    before = state;
    fault = arch_mov_to_cr4(&cpu, cr4[_i].value);
    check_fault(fault, cr4[_i].expected, cr4[_i].name);
    if (fault.raised)
        check_unchanged(cr4[_i].name);
    else
        ck_assert_uint_eq(state.cr4, cr4[_i].value);
}
END_TEST

/* By number: which there are, and that all are for CPL 0. */
START_TEST(cr_numbers)
{
    static const uint8_t exists[16] = { [0] = 1, [2] = 1, [3] = 1, [4] = 1, [8] = 1 };
    uint64_t value = 99;

    box_setup(LONG64, 0);
    state.cr2 = 0x2222;
    state.cr8 = 0x8;
    if (exists[_i]) {
        uint64_t want = _i == 2   ? 0x2222
                        : _i == 8 ? 8
                        : _i == 0 ? state.cr0
                        : _i == 3 ? state.cr3
                                  : state.cr4;

        ck_assert(!arch_mov_from_cr(&cpu, (unsigned)_i, &value).raised);
        ck_assert_uint_eq(value, want);
        ck_assert(!arch_mov_to_cr(&cpu, (unsigned)_i, value).raised);
        state.cpl = 3;
        check_fault(arch_mov_from_cr(&cpu, (unsigned)_i, &value), (struct expected)GP(0), "from");
        check_fault(arch_mov_to_cr(&cpu, (unsigned)_i, value), (struct expected)GP(0), "to");
    } else {
        check_fault(arch_mov_from_cr(&cpu, (unsigned)_i, &value), (struct expected)UD, "from");
        check_fault(arch_mov_to_cr(&cpu, (unsigned)_i, value), (struct expected)UD, "to");
    }
}
END_TEST

START_TEST(cr8)
{
    box_setup(LONG64, 0);
    ck_assert(!arch_mov_to_cr8(&cpu, 15).raised);
    ck_assert_uint_eq(state.cr8, 15);
    check_fault(arch_mov_to_cr8(&cpu, 16), (struct expected)GP(0), "16");
    ck_assert_uint_eq(state.cr8, 15);
}
END_TEST

START_TEST(lmsw_clts)
{
    uint64_t value;

    box_setup(REAL, 0);
    ck_assert(!arch_lmsw(&cpu, 0xffff).raised);
    ck_assert_uint_eq(state.cr0, CR0_PE | CR0_MP | CR0_EM | CR0_TS | CR0_ET | CR0_NE);
    ck_assert(!arch_clts(&cpu).raised);
    ck_assert(!(state.cr0 & CR0_TS));
    ck_assert(!arch_lmsw(&cpu, 0).raised);
    ck_assert_uint_eq(state.cr0, CR0_PE | CR0_ET | CR0_NE); /* PE cannot be cleared by it */
    ck_assert(!arch_smsw(&cpu, &value).raised);
    ck_assert_uint_eq(value, state.cr0);
    box_setup(PROT32, 3);
    check_fault(arch_lmsw(&cpu, 0), (struct expected)GP(0), "LMSW");
    check_fault(arch_clts(&cpu), (struct expected)GP(0), "CLTS");
    ck_assert(!arch_smsw(&cpu, &value).raised);
    state.cr4 |= CR4_UMIP;
    check_fault(arch_smsw(&cpu, &value), (struct expected)GP(0), "SMSW");
}
END_TEST

static const struct {
    const char *name;
    uint8_t cpl;
    uint64_t cr4;
    unsigned number;
    uint64_t value;
    struct expected expected;
    unsigned stored_in;
    uint64_t stored;
} dr[] = {
    { "DR0", 0, 0, 0, 0x123456789abcdef0, NO_FAULT, 0, 0x123456789abcdef0 },
    { "DR3", 0, 0, 3, 5, NO_FAULT, 3, 5 },
    { "DR4 is DR6", 0, 0, 4, 0, NO_FAULT, 6, 0xffff0ff0 },
    { "DR5 is DR7", 0, 0, 5, 0, NO_FAULT, 7, 0x400 },
    { "DR4 with DE", 0, CR4_DE, 4, 0, UD, 0, 0 },
    { "DR5 with DE", 0, CR4_DE, 5, 0, UD, 0, 0 },
    { "DR5 with DE at CPL 3", 3, CR4_DE, 5, 0, UD, 0, 0 },
    { "DR6", 0, 0, 6, 0xffffffff, NO_FAULT, 6, 0xffffefff },
    { "DR7", 0, 0, 7, 0xffffffff, NO_FAULT, 7, 0xffff27ff },
    { "DR6, high half", 0, 0, 6, 0x100000000, GP(0), 0, 0 },
    { "DR7, high half", 0, 0, 7, 0x100000000, GP(0), 0, 0 },
    { "DR8", 0, 0, 8, 0, UD, 0, 0 },
    { "CPL 3", 3, 0, 0, 0, GP(0), 0, 0 },
};

START_TEST(debug_registers)
{
    struct arch_fault fault;
    uint64_t value = 0;

    box_setup(LONG64, dr[_i].cpl);
    state.cr4 |= dr[_i].cr4;
    before = state;
    fault = arch_mov_to_dr(&cpu, dr[_i].number, dr[_i].value);
    check_fault(fault, dr[_i].expected, dr[_i].name);
    if (fault.raised) {
        check_unchanged(dr[_i].name);
        return;
    }
    ck_assert_uint_eq(state.dr[dr[_i].stored_in], dr[_i].stored);
    state.dr[7] &= ~DR7_GD;
    ck_assert(!arch_mov_from_dr(&cpu, dr[_i].number, &value).raised);
    ck_assert_uint_eq(value, dr[_i].stored & ~(dr[_i].stored_in == 7 ? DR7_GD : 0));
}
END_TEST

START_TEST(general_detect)
{
    uint64_t value = 0;

    box_setup(PROT32, 0);
    state.dr[7] |= DR7_GD;
    check_fault(arch_mov_to_dr(&cpu, 7, 0), (struct expected){ ARCH_DB, WITHOUT_ERROR }, "to");
    ck_assert_uint_eq(state.dr[7], 0x400 | DR7_GD);
    ck_assert_uint_eq(state.dr[6], 0xffff0ff0 | DR6_BD);
    check_fault(arch_mov_from_dr(&cpu, 0, &value), (struct expected){ ARCH_DB, WITHOUT_ERROR },
                "from");
}
END_TEST

/* LGDT and LIDT; the operand lies at 7000H. */
static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    unsigned opsize;
    uint64_t operand_base;
    struct expected expected;
    uint64_t base;
} tables[] = {
    { "32 bits", PROT32, 0, 4, 0x12345678, NO_FAULT, 0x12345678 },
    { "24 bits", PROT32, 0, 2, 0x12345678, NO_FAULT, 0x345678 },
    { "real mode", REAL, 0, 2, 0x12345678, NO_FAULT, 0x345678 },
    { "64 bits", LONG64, 0, 8, 0xffff800012345678, NO_FAULT, 0xffff800012345678 },
    { "not canonical", LONG64, 0, 8, 0x800012345678, GP(0), 0 },
    { "CPL 3", PROT32, 3, 4, 0x12345678, GP(0), 0 },
    { "V86", V86, 3, 4, 0x12345678, GP(0), 0 },
};

START_TEST(table_registers)
{
    for (int idt = 0; idt < 2; idt++) {
        struct arch_table *table = idt ? &state.idtr : &state.gdtr;
        size_t size = tables[_i].mode == LONG64 ? 10 : 6;
        struct arch_fault fault;

        box_setup(tables[_i].mode, tables[_i].cpl);
        poke(0x7000, 0x2345, 2);
        poke(0x7002, tables[_i].operand_base, 8);
        before = state;
        fault = idt ? arch_lidt(&cpu, ARCH_DS, 0x7000, tables[_i].opsize)
                    : arch_lgdt(&cpu, ARCH_DS, 0x7000, tables[_i].opsize);
        check_fault(fault, tables[_i].expected, tables[_i].name);
        if (fault.raised) {
            check_unchanged(tables[_i].name);
            continue;
        }
        ck_assert_uint_eq(table->base, tables[_i].base);
        ck_assert_uint_eq(table->limit, 0x2345);
        poke(0x7108, 0x7777777777, 8);
        ck_assert(
            !(idt ? arch_sidt(&cpu, ARCH_DS, 0x7100) : arch_sgdt(&cpu, ARCH_DS, 0x7100)).raised);
        ck_assert_uint_eq(peek(0x7100, 2), 0x2345);
        ck_assert_uint_eq(peek(0x7102, size - 2), tables[_i].base);
        ck_assert_uint_eq(peek(0x7100 + size, 1), size == 10 ? 0x77 : 0);
    }
}
END_TEST

START_TEST(umip)
{
    uint16_t selector = 0;

    box_setup(PROT32, 3);
    ck_assert(!arch_sgdt(&cpu, ARCH_DS, 0x7100).raised);
    ck_assert(!arch_sldt(&cpu, &selector).raised);
    ck_assert_uint_eq(selector, SEL_LDT);
    ck_assert(!arch_str(&cpu, &selector).raised);
    ck_assert_uint_eq(selector, SEL_TSS);
    state.cr4 |= CR4_UMIP;
    check_fault(arch_sgdt(&cpu, ARCH_DS, 0x7100), (struct expected)GP(0), "SGDT");
    check_fault(arch_sidt(&cpu, ARCH_DS, 0x7100), (struct expected)GP(0), "SIDT");
    check_fault(arch_sldt(&cpu, &selector), (struct expected)GP(0), "SLDT");
    check_fault(arch_str(&cpu, &selector), (struct expected)GP(0), "STR");
    box_setup(_i ? REAL : V86, 3);
    check_fault(arch_sldt(&cpu, &selector), (struct expected)UD, "SLDT");
    check_fault(arch_str(&cpu, &selector), (struct expected)UD, "STR");
}
END_TEST

/* CLI and STI (SDM vol. 2, CLI, STI): which flag they act on. */
static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    unsigned iopl;
    uint64_t cr4;
    uint64_t flag; /* 0: #GP(0) */
} interrupt_flags[] = {
    { "real mode", REAL, 0, 0, 0, RFLAGS_IF },
    { "CPL 0", PROT32, 0, 0, 0, RFLAGS_IF },
    { "CPL = IOPL", PROT32, 3, 3, 0, RFLAGS_IF },
    { "CPL > IOPL", PROT32, 3, 2, 0, 0 },
    { "CPL 1 > IOPL with PVI", PROT32, 1, 0, CR4_PVI, 0 },
    { "CPL 3 > IOPL with PVI", PROT32, 3, 0, CR4_PVI, RFLAGS_VIF },
    { "CPL 3 > IOPL with VME", PROT32, 3, 0, CR4_VME, 0 },
    { "CPL 3 = IOPL with PVI", PROT32, 3, 3, CR4_PVI, RFLAGS_IF },
    { "V86, IOPL 3", V86, 3, 3, CR4_VME, RFLAGS_IF },
    { "V86, IOPL 2", V86, 3, 2, CR4_PVI, 0 },
    { "V86, IOPL 2, VME", V86, 3, 2, CR4_VME, RFLAGS_VIF },
    { "64-bit mode, CPL 3", LONG64, 3, 0, 0, 0 },
};

static void start_flags(int row, uint64_t rflags)
{
    box_setup(interrupt_flags[row].mode, interrupt_flags[row].cpl);
    state.cr4 |= interrupt_flags[row].cr4;
    state.rflags |= interrupt_flags[row].iopl << 12 | rflags;
    before = state;
}

START_TEST(cli_sti)
{
    const char *name = interrupt_flags[_i].name;
    uint64_t flag = interrupt_flags[_i].flag;
    struct expected outcome = { flag ? -1 : ARCH_GP, 0 };

    start_flags(_i, RFLAGS_IF | RFLAGS_VIF);
    check_fault(arch_cli(&cpu), outcome, name);
    ck_assert_uint_eq(state.rflags, before.rflags & ~flag);
    start_flags(_i, 0);
    check_fault(arch_sti(&cpu), outcome, name);
    ck_assert_uint_eq(state.rflags, before.rflags | flag);
    /* One more instruction runs with interrupts blocked, if they just were unblocked. */
    ck_assert_int_eq(state.blocking_by_sti, flag == RFLAGS_IF);
    start_flags(_i, RFLAGS_IF);
    arch_sti(&cpu);
    ck_assert(!state.blocking_by_sti);
    start_flags(_i, RFLAGS_VIP);
    ck_assert_int_eq(arch_sti(&cpu).raised, flag != RFLAGS_IF);
}
END_TEST

/* POPF: all flags popped as 1 over zeroes; CHANGED are those that follow. */
#define STATUS (0xcd5 | RFLAGS_TF | RFLAGS_NT)
#define WIDE   (STATUS | RFLAGS_AC | RFLAGS_ID)

static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    unsigned iopl, opsize;
    uint64_t changed; /* 0: #GP(0) */
} popf[] = {
    { "real mode, 16 bits", REAL, 0, 0, 2, STATUS | RFLAGS_IF | RFLAGS_IOPL },
    { "real mode, 32 bits", REAL, 0, 0, 4, WIDE | RFLAGS_IF | RFLAGS_IOPL },
    { "CPL 0, 16 bits", PROT32, 0, 0, 2, STATUS | RFLAGS_IF | RFLAGS_IOPL },
    { "CPL 0, 32 bits", PROT32, 0, 0, 4, WIDE | RFLAGS_IF | RFLAGS_IOPL },
    { "CPL 0, 64 bits", LONG64, 0, 0, 8, WIDE | RFLAGS_IF | RFLAGS_IOPL },
    { "CPL = IOPL", PROT32, 2, 2, 4, WIDE | RFLAGS_IF },
    { "CPL > IOPL", PROT32, 2, 1, 4, WIDE },
    { "CPL > IOPL, 64 bits", LONG64, 3, 0, 8, WIDE },
    { "V86, IOPL 3, 16 bits", V86, 3, 3, 2, STATUS | RFLAGS_IF },
    { "V86, IOPL 3, 32 bits", V86, 3, 3, 4, WIDE | RFLAGS_IF },
    { "V86, IOPL 2, 16 bits", V86, 3, 2, 2, 0 },
    { "V86, IOPL 2, 32 bits", V86, 3, 2, 4, 0 },
};

START_TEST(pop_flags)
{
    for (int ones = 0; ones < 2; ones++) {
        uint64_t changed = popf[_i].changed;
        uint64_t fill = ones ? 0 : 0x3f7fd5 & ~(uint64_t)(RFLAGS_IOPL | RFLAGS_VM);
        struct arch_fault fault;

        box_setup(popf[_i].mode, popf[_i].cpl);
        state.rflags |= popf[_i].iopl << 12 | fill;
        poke(state.gpr[ARCH_RSP], ones ? ~UINT64_C(0) : 0, 8);
        before = state;
        fault = arch_popf(&cpu, popf[_i].opsize);
        check_fault(fault, (struct expected){ changed ? -1 : ARCH_GP, 0 }, popf[_i].name);
        if (fault.raised) {
            check_unchanged(popf[_i].name);
            continue;
        }
        ck_assert_uint_eq(state.rflags, ((before.rflags & ~changed) | (ones ? changed : 0)) &
                                            ~(uint64_t)RFLAGS_RF);
        ck_assert_uint_eq(state.gpr[ARCH_RSP], before.gpr[ARCH_RSP] + popf[_i].opsize);
    }
}
END_TEST

/* PUSHF and POPF under the virtual-mode extensions. */
START_TEST(virtual_flags)
{
    box_setup(V86, 3);
    state.cr4 |= CR4_VME;
    state.rflags |= RFLAGS_VIF | RFLAGS_DF | RFLAGS_CF;
    ck_assert(!arch_pushf(&cpu, 2).raised);
    ck_assert_uint_eq(peek(state.gpr[ARCH_RSP], 2), RFLAGS_IF | RFLAGS_DF | RFLAGS_IOPL | 3);
    check_fault(arch_pushf(&cpu, 4), (struct expected)GP(0), "PUSHFD");
    poke(state.gpr[ARCH_RSP], 0x3000, 2);
    ck_assert(!arch_popf(&cpu, 2).raised);
    ck_assert_uint_eq(state.rflags, RFLAGS_VM | RFLAGS_FIXED1);
    poke(state.gpr[ARCH_RSP], RFLAGS_TF, 2);
    check_fault(arch_popf(&cpu, 2), (struct expected)GP(0), "TF");
    state.rflags |= RFLAGS_VIP;
    poke(state.gpr[ARCH_RSP], RFLAGS_IF, 2);
    check_fault(arch_popf(&cpu, 2), (struct expected)GP(0), "VIP");
    state.cr4 = 0;
    check_fault(arch_pushf(&cpu, 2), (struct expected)GP(0), "no VME");
    state.rflags |= RFLAGS_IOPL;
    ck_assert(!arch_pushf(&cpu, 4).raised);
    ck_assert_uint_eq(peek(state.gpr[ARCH_RSP], 4), RFLAGS_VIP | RFLAGS_IOPL | 2);
}
END_TEST

START_TEST(push_flags)
{
    static const struct {
        enum arch_mode mode;
        unsigned opsize;
    } rows[] = { { REAL, 2 }, { REAL, 4 }, { PROT32, 2 }, { PROT32, 4 }, { LONG64, 8 } };
    unsigned opsize = rows[_i].opsize;

    box_setup(rows[_i].mode, 0);
    state.rflags |= 0x3f7fd5 & ~(uint64_t)RFLAGS_VM;
    before = state;
    ck_assert(!arch_pushf(&cpu, opsize).raised);
    ck_assert_uint_eq(state.gpr[ARCH_RSP], before.gpr[ARCH_RSP] - opsize);
    ck_assert_uint_eq(peek(state.gpr[ARCH_RSP], opsize), opsize == 2 ? 0x7fd7 : 0x3c7fd7);
}
END_TEST

START_TEST(swapgs)
{
    box_setup(LONG64, 0);
    state.sreg[ARCH_GS].base = 0x1111;
    state.kernel_gs_base = 0x2222;
    ck_assert(!arch_swapgs(&cpu).raised);
    ck_assert_uint_eq(state.sreg[ARCH_GS].base, 0x2222);
    ck_assert_uint_eq(state.kernel_gs_base, 0x1111);
    state.cpl = 3;
    check_fault(arch_swapgs(&cpu), (struct expected)GP(0), "CPL 3");
    box_setup(COMPAT, 0);
    check_fault(arch_swapgs(&cpu), (struct expected)UD, "compatibility mode");
}
END_TEST

START_TEST(privileged)
{
    box_setup(PROT32, 0);
    ck_assert(!arch_hlt(&cpu).raised);
    ck_assert_int_eq(state.activity, ARCH_HLT);
    state.cr4 = CR4_TSD;
    ck_assert(!arch_require_cpl0(&state).raised);
    ck_assert(!arch_check_rdtsc(&state).raised);
    ck_assert(!arch_check_rdpmc(&state).raised);
    box_setup(V86, 3);
    check_fault(arch_hlt(&cpu), (struct expected)GP(0), "HLT");
    ck_assert_int_eq(state.activity, ARCH_ACTIVE);
    check_fault(arch_require_cpl0(&state), (struct expected)GP(0), "CPL 3");
    ck_assert(!arch_check_rdtsc(&state).raised);
    check_fault(arch_check_rdpmc(&state), (struct expected)GP(0), "RDPMC");
    state.cr4 = CR4_TSD | CR4_PCE;
    check_fault(arch_check_rdtsc(&state), (struct expected)GP(0), "RDTSC");
    ck_assert(!arch_check_rdpmc(&state).raised);
}
END_TEST

/* The I/O permission bitmap begins at 80H of a TSS that ends at FFH; port 345H's bit is set. */
static const struct {
    const char *name;
    enum arch_mode mode;
    uint8_t cpl;
    unsigned iopl;
    uint32_t tr_ar;
    uint16_t port;
    unsigned size;
    bool allowed;
} io[] = {
    { "real mode", REAL, 0, 0, AR_TSS32 | 2, 0x345, 4, true },
    { "CPL = IOPL", PROT32, 3, 3, AR_TSS32 | 2, 0x345, 1, true },
    { "bit set", PROT32, 3, 0, AR_TSS32 | 2, 0x345, 1, false },
    { "bit clear", PROT32, 3, 0, AR_TSS32 | 2, 0x344, 1, true },
    { "second of two", PROT32, 3, 0, AR_TSS32 | 2, 0x344, 2, false },
    { "below", PROT32, 3, 0, AR_TSS32 | 2, 0x343, 2, true },
    { "last of four", PROT32, 3, 0, AR_TSS32 | 2, 0x342, 4, false },
    { "all four clear", PROT32, 3, 0, AR_TSS32 | 2, 0x341, 4, true },
    { "across bytes", PROT32, 3, 0, AR_TSS32 | 2, 0x346, 4, true },
    { "V86, whatever IOPL", V86, 3, 3, AR_TSS32 | 2, 0x345, 1, false },
    { "V86, bit clear", V86, 3, 0, AR_TSS32 | 2, 0x344, 1, true },
    { "64-bit TSS", LONG64, 3, 0, AR_TSS32 | 2, 0x344, 1, true },
    { "16-bit TSS", PROT32, 3, 0, AR_TSS16 | 2, 0x344, 1, false },
    { "last byte of the bitmap", PROT32, 3, 0, AR_TSS32 | 2, 0x3f7, 1, true },
    { "a byte past it is needed", PROT32, 3, 0, AR_TSS32 | 2, 0x3f8, 1, false },
};

START_TEST(io_permission)
{
    box_setup(io[_i].mode, io[_i].cpl);
    poke(BOX_TSS + 0x66, 0x80, 2);
    poke(BOX_TSS + 0x80 + 0x345 / 8, 1 << 0x345 % 8, 1);
    state.tr.ar = io[_i].tr_ar;
    state.tr.limit = 0xff;
    state.rflags |= io[_i].iopl << 12;
    check_fault(arch_io_allowed(&cpu, io[_i].port, io[_i].size),
                (struct expected){ io[_i].allowed ? -1 : ARCH_GP, 0 }, io[_i].name);
}
END_TEST

/* A TSS has a bitmap if the word that says where it is lies within it. */
START_TEST(io_base)
{
    box_setup(PROT32, 3);
    poke(BOX_TSS + 0x66, 0x20, 2);
    state.tr.limit = 0x67;
    check_fault(arch_io_allowed(&cpu, 0, 1), (struct expected)NO_FAULT, "just there");
    state.tr.limit = 0x66;
    check_fault(arch_io_allowed(&cpu, 0, 1), (struct expected)GP(0), "cut off");
}
END_TEST

/* All sixteen conditions on all values of the flags they look at, against the manual's formulas. */
START_TEST(conditions)
{
    for (unsigned bits = 0; bits < 32; bits++) {
        bool cf = bits & 1, pf = bits & 2, zf = bits & 4, sf = bits & 8, of = bits & 16;
        uint64_t rflags = (cf ? 0x1u : 0) | (pf ? 0x4u : 0) | (zf ? 0x40u : 0) | (sf ? 0x80u : 0) |
                          (of ? 0x800u : 0);
        bool want[16] = { of, !of, cf, !cf, zf,       !zf,      cf || zf,       !cf && !zf,
                          sf, !sf, pf, !pf, sf != of, sf == of, zf || sf != of, !zf && sf == of };

        for (unsigned cc = 0; cc < 16; cc++) {
            ck_assert_msg(arch_condition(cc, rflags) == want[cc], "condition %u, flags %x", cc,
                          bits);
            ck_assert(arch_condition(cc, rflags ^ ~UINT64_C(0x8c5)) == want[cc]);
        }
    }
}
END_TEST

START_TEST(loops)
{
    static const struct {
        uint64_t rcx;
        unsigned addr_size;
        bool jcxz, loop; /* LOOP with RCX before it counts */
    } rows[] = {
        { 0, 8, true, true },
        { 1, 8, false, false },
        { 2, 2, false, true },
        { 0x10000, 2, true, true },
        { 0x10001, 2, false, false },
        { 0x10000, 4, false, true },
        { 0x100000000, 4, true, true },
        { 0x100000001, 4, false, false },
        { 0x100000001, 8, false, true },
    };

    for (int i = 0; i < TEST_COUNT(rows); i++) {
        uint64_t rcx = rows[i].rcx;
        unsigned size = rows[i].addr_size;

        ck_assert_int_eq(arch_jcxz_taken(rcx, size), rows[i].jcxz);
        ck_assert_int_eq(arch_loop_taken(0xe2, rcx, size, 0), rows[i].loop);
        ck_assert_int_eq(arch_loop_taken(0xe2, rcx, size, RFLAGS_ZF), rows[i].loop);
        ck_assert_int_eq(arch_loop_taken(0xe1, rcx, size, RFLAGS_ZF), rows[i].loop);
        ck_assert_int_eq(arch_loop_taken(0xe0, rcx, size, 0), rows[i].loop);
        ck_assert(!arch_loop_taken(0xe1, rcx, size, 0));
        ck_assert(!arch_loop_taken(0xe0, rcx, size, RFLAGS_ZF));
    }
}
END_TEST

static TCase *registers(void)
{
    TCase *tcase = tcase_create("registers");

    tcase_add_loop_test(tcase, mov_to_cr0, 0, TEST_COUNT(cr0));
    tcase_add_test(tcase, into_ia32e);
    tcase_add_loop_test(tcase, load_pdptes, 0, TEST_COUNT(pdptes));
    tcase_add_loop_test(tcase, mov_to_cr3, 0, TEST_COUNT(cr3));
    tcase_add_loop_test(tcase, cr4_bits, 0, 64);
    tcase_add_loop_test(tcase, mov_to_cr4, 0, TEST_COUNT(cr4));
    tcase_add_loop_test(tcase, cr_numbers, 0, 16);
    tcase_add_test(tcase, cr8);
    tcase_add_test(tcase, lmsw_clts);
    tcase_add_loop_test(tcase, debug_registers, 0, TEST_COUNT(dr));
    tcase_add_test(tcase, general_detect);
    tcase_add_loop_test(tcase, table_registers, 0, TEST_COUNT(tables));
    tcase_add_loop_test(tcase, umip, 0, 2);
    return tcase;
}

static TCase *others(void)
{
    TCase *tcase = tcase_create("others");

    tcase_add_loop_test(tcase, cli_sti, 0, TEST_COUNT(interrupt_flags));
    tcase_add_loop_test(tcase, pop_flags, 0, TEST_COUNT(popf));
    tcase_add_test(tcase, virtual_flags);
    tcase_add_loop_test(tcase, push_flags, 0, 5);
    tcase_add_test(tcase, swapgs);
    tcase_add_test(tcase, privileged);
    tcase_add_loop_test(tcase, io_permission, 0, TEST_COUNT(io));
    tcase_add_test(tcase, io_base);
    tcase_add_test(tcase, conditions);
    tcase_add_test(tcase, loops);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("control");

    suite_add_tcase(suite, registers());
    suite_add_tcase(suite, others());
    return suite_run(suite);
}
