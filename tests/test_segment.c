/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptors, segment loads and the checks on accesses (SDM vol. 3A, chapters 3 and 5). */
#include "arch_box.h"

/* Descriptors as operating systems write them, and one with every field at work. */
static const struct {
    uint64_t descriptor;
    struct arch_seg seg;
} decodes[] = {
    { 0x00cf9a000000ffff, { 0, 0xc09a, 0xffffffff, 0 } },
    { 0x00cf93000000ffff, { 0, 0xc093, 0xffffffff, 0 } },
    { 0x00affb000000ffff, { 0, 0xa0fb, 0xffffffff, 0 } },
    { 0x00009b000000ffff, { 0, 0x009b, 0x0000ffff, 0 } },
    { 0x12d589abcdef4321, { 0, 0xd089, 0x54321fff, 0x12abcdef } },
    { 0xff4f92ffffff0fff, { 0, 0x4092, 0x000f0fff, 0xffffffff } },
    { 0x0000000000000000, { 0, 0, 0, 0 } },
};

START_TEST(decode)
{
    struct arch_seg seg = arch_seg_decode(0x33, decodes[_i].descriptor, 0x89abcdef);

    ck_assert_uint_eq(seg.selector, 0x33);
    ck_assert_uint_eq(seg.ar, decodes[_i].seg.ar);
    ck_assert_uint_eq(seg.limit, decodes[_i].seg.limit);
    ck_assert_uint_eq(seg.base, decodes[_i].seg.base | UINT64_C(0x89abcdef) << 32);
    ck_assert_uint_eq(arch_seg_encode(&seg), decodes[_i].descriptor);
}
END_TEST

#define SEL(rpl)  (SEL_FREE | (rpl))
#define NOT_P(ar) ((ar) & ~(uint32_t)ARCH_AR_P)

/* MOV to a segment register in protected mode: the descriptor at SEL_FREE has rights AR. */
static const struct {
    const char *name;
    enum arch_sreg sreg;
    uint8_t cpl;
    uint32_t ar;
    uint16_t selector;
    struct expected expected;
} loads[] = {
    { "DS, data", ARCH_DS, 0, AR_DATA, SEL(0), NO_FAULT },
    { "DS, read-only data", ARCH_DS, 0, AR_DATA_RO, SEL(0), NO_FAULT },
    { "DS, readable code", ARCH_DS, 0, AR_CODE, SEL(0), NO_FAULT },
    { "DS, execute-only code", ARCH_DS, 0, AR_CODE_XO, SEL(0), GP(SEL_FREE) },
    { "DS, TSS", ARCH_DS, 0, AR_TSS32, SEL(0), GP(SEL_FREE) },
    { "DS, CPL above DPL", ARCH_DS, 1, AR_DATA, SEL(0), GP(SEL_FREE) },
    { "DS, RPL above DPL", ARCH_DS, 0, AR_DATA, SEL(3), GP(SEL_FREE) },
    { "DS, RPL and CPL at DPL", ARCH_DS, 3, AR_DATA | AR_DPL3, SEL(3), NO_FAULT },
    { "DS, RPL below CPL", ARCH_DS, 3, AR_DATA | AR_DPL3, SEL(0), NO_FAULT },
    { "DS, DPL above CPL", ARCH_DS, 0, AR_DATA | AR_DPL3, SEL(0), NO_FAULT },
    { "DS, nonconforming code", ARCH_DS, 3, AR_CODE, SEL(3), GP(SEL_FREE) },
    { "DS, conforming code", ARCH_DS, 3, AR_CONFORMING, SEL(3), NO_FAULT },
    { "DS, not present", ARCH_DS, 0, NOT_P(AR_DATA), SEL(0), NP(SEL_FREE) },
    { "DS, not present and not allowed", ARCH_DS, 1, NOT_P(AR_DATA), SEL(0), GP(SEL_FREE) },
    { "DS, outside the GDT", ARCH_DS, 0, AR_DATA, 0x100, GP(0x100) },
    { "DS, in the LDT", ARCH_DS, 0, AR_DATA, 0x0c, NO_FAULT },
    { "DS, outside the LDT", ARCH_DS, 0, AR_DATA, 0x107, GP(0x104) },
    { "DS, null", ARCH_DS, 0, AR_DATA, 3, NO_FAULT },
    { "ES, outside the GDT", ARCH_ES, 0, AR_DATA, 0x100, GP(0x100) },
    { "FS, not present", ARCH_FS, 0, NOT_P(AR_DATA), SEL(0), NP(SEL_FREE) },
    { "GS, CPL above DPL", ARCH_GS, 3, AR_DATA, SEL(3), GP(SEL_FREE) },
    { "SS, data", ARCH_SS, 0, AR_DATA, SEL(0), NO_FAULT },
    { "SS, data at CPL 3", ARCH_SS, 3, AR_DATA | AR_DPL3, SEL(3), NO_FAULT },
    { "SS, read-only data", ARCH_SS, 0, AR_DATA_RO, SEL(0), GP(SEL_FREE) },
    { "SS, code", ARCH_SS, 0, AR_CODE, SEL(0), GP(SEL_FREE) },
    { "SS, system", ARCH_SS, 0, AR_LDT, SEL(0), GP(SEL_FREE) },
    { "SS, RPL not CPL", ARCH_SS, 0, AR_DATA | AR_DPL3, SEL(3), GP(SEL_FREE) },
    { "SS, DPL not CPL", ARCH_SS, 3, AR_DATA, SEL(3), GP(SEL_FREE) },
    { "SS, DPL below RPL and CPL", ARCH_SS, 3, AR_DATA | AR_DPL3, SEL(0), GP(SEL_FREE) },
    { "SS, not present", ARCH_SS, 0, NOT_P(AR_DATA), SEL(0), SS(SEL_FREE) },
    { "SS, outside the GDT", ARCH_SS, 0, AR_DATA, 0x100, GP(0x100) },
    { "SS, null", ARCH_SS, 0, AR_DATA, 0, GP(0) },
};

static const enum arch_mode protected_modes[] = { ARCH_MODE_PROT16, ARCH_MODE_PROT32,
                                                  ARCH_MODE_COMPAT, ARCH_MODE_LONG64 };

/* What a load that succeeded has done. */
static void check_loaded(enum arch_sreg sreg, uint16_t selector, uint32_t ar)
{
    const struct arch_seg *seg = &state.sreg[sreg];

    ck_assert_uint_eq(seg->selector, selector);
    if (selector < 4) {
        ck_assert(seg->ar & ARCH_AR_UNUSABLE);
        ck_assert_uint_eq(seg->base, 0);
        return;
    }
    ck_assert_uint_eq(seg->ar, ar);
    ck_assert_uint_eq(seg->base, 0x87654321);
    ck_assert_uint_eq(seg->limit, 0x54321);
}

START_TEST(load)
{
    for (int i = 0; i < TEST_COUNT(protected_modes); i++) {
        enum arch_mode mode = protected_modes[i];
        struct expected expected = loads[_i].expected;
        uint16_t selector = loads[_i].selector;
        struct arch_fault fault;

        box_setup(mode, loads[_i].cpl);
        gdt_put(SEL_FREE, descriptor(0x87654321, 0x54321, loads[_i].ar));
        poke(BOX_LDT + 0x08, descriptor(0x87654321, 0x54321, loads[_i].ar), 8);
        /* In 64-bit mode SS may be null. */
        if (mode == ARCH_MODE_LONG64 && loads[_i].sreg == ARCH_SS && selector == 0)
            expected.vector = -1;
        before = state;
        fault = arch_load_sreg(&cpu, loads[_i].sreg, selector);
        check_fault(fault, expected, loads[_i].name);
        if (fault.raised)
            ck_assert_mem_eq(&state, &before, sizeof(state));
        else
            check_loaded(loads[_i].sreg, selector, loads[_i].ar);
    }
}
END_TEST

/* A null SS in 64-bit mode: below CPL 3, with RPL = CPL. It keeps CPL as its DPL. */
START_TEST(null_stack)
{
    for (unsigned cpl = 0; cpl < 4; cpl++) {
        for (uint16_t rpl = 0; rpl < 4; rpl++) {
            struct expected good = NO_FAULT, bad = GP(0);
            bool allowed = cpl < 3 && rpl == cpl;

            box_setup(ARCH_MODE_LONG64, (uint8_t)cpl);
            check_fault(arch_load_sreg(&cpu, ARCH_SS, rpl), allowed ? good : bad, "null SS");
            if (allowed)
                ck_assert_uint_eq(state.sreg[ARCH_SS].ar, ARCH_AR_UNUSABLE | cpl << 5);
        }
    }
}
END_TEST

/* The accessed bit goes to memory, and only there where it was not set. */
START_TEST(accessed)
{
    box_setup(ARCH_MODE_PROT32, 0);
    gdt_put(SEL_FREE, descriptor(0, 0xffff, AR_DATA & ~1u));
    ck_assert(!arch_load_sreg(&cpu, ARCH_DS, SEL_FREE).raised);
    ck_assert_uint_eq(state.sreg[ARCH_DS].ar, AR_DATA);
    ck_assert_uint_eq(peek(BOX_GDT + SEL_FREE, 8), descriptor(0, 0xffff, AR_DATA));
    /* A GDT in a read-only page is good enough for descriptors that are marked already. */
    box_setup(ARCH_MODE_LONG64, 0);
    poke(BOX_PDPT, 0x85, 8);
    ck_assert(!arch_load_sreg(&cpu, ARCH_DS, ARCH_FLAT_DATA(0)).raised);
    gdt_put(SEL_FREE, descriptor(0, 0xffff, AR_DATA & ~1u));
    state.cr0 |= CR0_WP;
    check_fault(arch_load_sreg(&cpu, ARCH_DS, SEL_FREE), (struct expected)PF(3), "read-only GDT");
    ck_assert_uint_eq(state.sreg[ARCH_DS].selector, ARCH_FLAT_DATA(0));
}
END_TEST

/* Descriptor tables are read as a supervisor, whatever CPL is. */
START_TEST(implicit_supervisor)
{
    box_setup(ARCH_MODE_LONG64, 3);
    poke(BOX_PDPT, 0x83, 8);
    ck_assert(!arch_load_sreg(&cpu, ARCH_DS, ARCH_FLAT_DATA(3)).raised);
    box_setup(ARCH_MODE_LONG64, 0);
    state.cr4 |= CR4_SMAP;
    state.rflags |= RFLAGS_AC; /* of no help to it */
    check_fault(arch_load_sreg(&cpu, ARCH_DS, ARCH_FLAT_DATA(0)), (struct expected)PF(1), "SMAP");
}
END_TEST

START_TEST(real_mode)
{
    static const struct {
        enum arch_mode mode;
        uint32_t ar, limit;
        uint32_t want_ar, want_limit;
    } rows[] = {
        { ARCH_MODE_REAL, 0x93, 0xffff, 0x93, 0xffff },
        { ARCH_MODE_REAL, 0xc093, 0xffffffff, 0xc093, 0xffffffff }, /* "unreal" */
        { ARCH_MODE_REAL, ARCH_AR_UNUSABLE, 0, 0x93, 0 },
        { ARCH_MODE_V86, 0xf3, 0xffff, 0xf3, 0xffff },
        { ARCH_MODE_V86, ARCH_AR_UNUSABLE, 0, 0xf3, 0xffff },
    };

    box_setup(rows[_i].mode, 0);
    state.sreg[ARCH_FS].ar = rows[_i].ar;
    state.sreg[ARCH_FS].limit = rows[_i].limit;
    ck_assert(!arch_load_sreg(&cpu, ARCH_FS, 0xfedc).raised);
    ck_assert_uint_eq(state.sreg[ARCH_FS].selector, 0xfedc);
    ck_assert_uint_eq(state.sreg[ARCH_FS].base, 0xfedc0);
    ck_assert_uint_eq(state.sreg[ARCH_FS].ar, rows[_i].want_ar);
    ck_assert_uint_eq(state.sreg[ARCH_FS].limit, rows[_i].want_limit);
}
END_TEST

/* LLDT and LTR: the descriptor at SEL_FREE is of AR, and HIGH its second half. */
enum {
    LDTR,
    TR
};

static const struct {
    const char *name;
    int reg;
    enum arch_mode mode;
    uint8_t cpl;
    uint32_t ar;
    uint64_t high;
    uint16_t selector;
    struct expected expected;
} system_loads[] = {
    { "LLDT", LDTR, ARCH_MODE_PROT32, 0, AR_LDT, 0, SEL_FREE, NO_FAULT },
    { "LLDT, null", LDTR, ARCH_MODE_PROT32, 0, AR_LDT, 0, 3, NO_FAULT },
    { "LLDT in real mode", LDTR, ARCH_MODE_REAL, 0, AR_LDT, 0, SEL_FREE, UD },
    { "LLDT in V86 mode", LDTR, ARCH_MODE_V86, 3, AR_LDT, 0, SEL_FREE, UD },
    { "LLDT at CPL 3", LDTR, ARCH_MODE_PROT32, 3, AR_LDT, 0, SEL_FREE, GP(0) },
    { "LLDT of the LDT", LDTR, ARCH_MODE_PROT32, 0, AR_LDT, 0, 0xc, GP(0xc) },
    { "LLDT, TSS", LDTR, ARCH_MODE_PROT32, 0, AR_TSS32, 0, SEL_FREE, GP(SEL_FREE) },
    { "LLDT, data of type 2", LDTR, ARCH_MODE_PROT32, 0, AR_LDT | ARCH_AR_S, 0, SEL_FREE,
      GP(SEL_FREE) },
    { "LLDT, not present", LDTR, ARCH_MODE_PROT32, 0, NOT_P(AR_LDT), 0, SEL_FREE, NP(SEL_FREE) },
    { "LLDT outside the GDT", LDTR, ARCH_MODE_PROT32, 0, AR_LDT, 0, 0x100, GP(0x100) },
    { "LLDT, 16 bytes", LDTR, ARCH_MODE_LONG64, 0, AR_LDT, 0xffff8001, SEL_FREE, NO_FAULT },
    { "LLDT, base not canonical", LDTR, ARCH_MODE_LONG64, 0, AR_LDT, 0x8000, SEL_FREE,
      GP(SEL_FREE) },
    { "LLDT, second type", LDTR, ARCH_MODE_LONG64, 0, AR_LDT, UINT64_C(1) << 44, SEL_FREE,
      GP(SEL_FREE) },
    { "LLDT, second half outside", LDTR, ARCH_MODE_LONG64, 0, AR_LDT, 0, 0xf8, GP(0xf8) },
    { "LTR, 32-bit TSS", TR, ARCH_MODE_PROT32, 0, AR_TSS32, 0, SEL_FREE, NO_FAULT },
    { "LTR, 16-bit TSS", TR, ARCH_MODE_PROT32, 0, AR_TSS16, 0, SEL_FREE, NO_FAULT },
    { "LTR, busy", TR, ARCH_MODE_PROT32, 0, AR_TSS32 | 2, 0, SEL_FREE, GP(SEL_FREE) },
    { "LTR, null", TR, ARCH_MODE_PROT32, 0, AR_TSS32, 0, 0, GP(0) },
    { "LTR, not present", TR, ARCH_MODE_PROT32, 0, NOT_P(AR_TSS32), 0, SEL_FREE, NP(SEL_FREE) },
    { "LTR at CPL 1", TR, ARCH_MODE_PROT32, 1, AR_TSS32, 0, SEL_FREE, GP(0) },
    { "LTR in real mode", TR, ARCH_MODE_REAL, 0, AR_TSS32, 0, SEL_FREE, UD },
    { "LTR, 64-bit TSS", TR, ARCH_MODE_LONG64, 0, AR_TSS32, 0xffff8001, SEL_FREE, NO_FAULT },
    { "LTR, 16-bit TSS in IA-32e mode", TR, ARCH_MODE_LONG64, 0, AR_TSS16, 0, SEL_FREE,
      GP(SEL_FREE) },
    { "LTR in compatibility mode", TR, ARCH_MODE_COMPAT, 0, AR_TSS32, 0x7fff, SEL_FREE, NO_FAULT },
};

START_TEST(system_load)
{
    int reg = system_loads[_i].reg;
    struct arch_seg *seg = reg == TR ? &state.tr : &state.ldtr;
    uint32_t busy = reg == TR ? ARCH_TYPE_BUSY : 0;
    uint16_t selector = system_loads[_i].selector;
    struct arch_fault fault;

    box_setup(system_loads[_i].mode, system_loads[_i].cpl);
    gdt_put(SEL_FREE, descriptor(0x87654321, 0x54321, system_loads[_i].ar));
    gdt_put(SEL_FREE + 8, system_loads[_i].high);
    gdt_put(0xf8, descriptor(0, 0xff, system_loads[_i].ar));
    before = state;
    fault = reg == TR ? arch_load_tr(&cpu, selector) : arch_load_ldtr(&cpu, selector);
    check_fault(fault, system_loads[_i].expected, system_loads[_i].name);
    if (fault.raised) {
        ck_assert_mem_eq(&state, &before, sizeof(state));
        return;
    }
    ck_assert_uint_eq(seg->selector, selector);
    if (selector < 4) {
        ck_assert(seg->ar & ARCH_AR_UNUSABLE);
        return;
    }
    ck_assert_uint_eq(seg->ar, system_loads[_i].ar | busy);
    ck_assert_uint_eq(seg->limit, 0x54321);
    ck_assert_uint_eq(seg->base, 0x87654321 | system_loads[_i].high << 32);
    ck_assert_uint_eq(peek(BOX_GDT + SEL_FREE, 8),
                      descriptor(0x87654321, 0x54321, system_loads[_i].ar | busy));
}
END_TEST

/* A table that ends within a descriptor. */
START_TEST(cut_off)
{
    box_setup(ARCH_MODE_PROT32, 0);
    gdt_put(SEL_FREE, descriptor(0, 0xffff, AR_DATA));
    state.gdtr.limit = SEL_FREE + 7;
    ck_assert(!arch_load_sreg(&cpu, ARCH_DS, SEL_FREE).raised);
    state.gdtr.limit = SEL_FREE + 6;
    check_fault(arch_load_sreg(&cpu, ARCH_DS, SEL_FREE), (struct expected)GP(SEL_FREE), "cut off");
}
END_TEST

/* No LDT: nothing can be loaded from it. */
START_TEST(no_ldt)
{
    box_setup(ARCH_MODE_PROT32, 0);
    ck_assert(!arch_load_ldtr(&cpu, 0).raised);
    check_fault(arch_load_sreg(&cpu, ARCH_DS, 0x0c), (struct expected)GP(0x0c), "no LDT");
}
END_TEST

/* Accesses through DS, or SS, with the rights and limit given, at base 87654321H. */
static const struct {
    const char *name;
    enum arch_mode mode;
    enum arch_sreg sreg;
    uint32_t ar, limit;
    enum arch_access access;
    uint64_t offset;
    uint8_t size;
    struct expected expected;
    uint64_t linear;
} accesses[] = {
    { "read", ARCH_MODE_PROT32, ARCH_DS, AR_DATA, 0xfff, ARCH_READ, 0xff8, 8, NO_FAULT,
      0x87655319 },
    { "read past the limit", ARCH_MODE_PROT32, ARCH_DS, AR_DATA, 0xfff, ARCH_READ, 0xff9, 8, GP(0),
      0 },
    { "read past the limit of SS", ARCH_MODE_PROT32, ARCH_SS, AR_DATA, 0xfff, ARCH_READ, 0xff9, 8,
      SS(0), 0 },
    { "last byte", ARCH_MODE_PROT32, ARCH_DS, AR_DATA, 0, ARCH_READ, 0, 1, NO_FAULT, 0x87654321 },
    { "second of one byte", ARCH_MODE_PROT32, ARCH_DS, AR_DATA, 0, ARCH_READ, 1, 1, GP(0), 0 },
    { "base + offset wraps", ARCH_MODE_PROT32, ARCH_DS, AR_DATA, 0xffffffff, ARCH_READ, 0x80000000,
      1, NO_FAULT, 0x07654321 },
    { "offset wraps", ARCH_MODE_PROT32, ARCH_DS, AR_DATA, 0xffffffff, ARCH_READ, 0xfffffffe, 4,
      GP(0), 0 },
    { "write", ARCH_MODE_PROT32, ARCH_DS, AR_DATA, 0xfff, ARCH_WRITE, 0, 4, NO_FAULT, 0x87654321 },
    { "write to read-only", ARCH_MODE_PROT32, ARCH_DS, AR_DATA_RO, 0xfff, ARCH_WRITE, 0, 4, GP(0),
      0 },
    { "read of read-only", ARCH_MODE_PROT32, ARCH_DS, AR_DATA_RO, 0xfff, ARCH_READ, 0, 4, NO_FAULT,
      0x87654321 },
    { "write to code", ARCH_MODE_PROT32, ARCH_DS, AR_CODE, 0xfff, ARCH_WRITE, 0, 4, GP(0), 0 },
    { "read of code", ARCH_MODE_PROT32, ARCH_DS, AR_CODE, 0xfff, ARCH_READ, 0, 4, NO_FAULT,
      0x87654321 },
    { "read of execute-only", ARCH_MODE_PROT32, ARCH_CS, AR_CODE_XO, 0xfff, ARCH_READ, 0, 4, GP(0),
      0 },
    { "fetch of execute-only", ARCH_MODE_PROT32, ARCH_CS, AR_CODE_XO, 0xfff, ARCH_FETCH, 0, 4,
      NO_FAULT, 0x87654321 },
    { "unusable", ARCH_MODE_PROT32, ARCH_DS, ARCH_AR_UNUSABLE, 0xffffffff, ARCH_READ, 0, 1, GP(0),
      0 },
    { "unusable SS", ARCH_MODE_COMPAT, ARCH_SS, ARCH_AR_UNUSABLE, 0xffffffff, ARCH_READ, 0, 1,
      SS(0), 0 },
    { "expand-down, below", ARCH_MODE_PROT32, ARCH_DS, AR_DATA | 4, 0xfff, ARCH_READ, 0xfff, 1,
      GP(0), 0 },
    { "expand-down, first", ARCH_MODE_PROT32, ARCH_DS, AR_DATA | 4, 0xfff, ARCH_READ, 0x1000, 1,
      NO_FAULT, 0x87655321 },
    { "expand-down, B clear, last", ARCH_MODE_PROT32, ARCH_DS, AR_DATA | 4, 0xfff, ARCH_READ,
      0xfffc, 4, NO_FAULT, 0x8766431d },
    { "expand-down, B clear, above", ARCH_MODE_PROT32, ARCH_DS, AR_DATA | 4, 0xfff, ARCH_READ,
      0xfffd, 4, GP(0), 0 },
    { "expand-down, B set", ARCH_MODE_PROT32, ARCH_DS, AR_DATA | 4 | ARCH_AR_DB, 0xfff, ARCH_READ,
      0xfffd, 4, NO_FAULT, 0x8766431e },
    { "expand-down SS", ARCH_MODE_PROT32, ARCH_SS, AR_DATA | 4 | ARCH_AR_DB, 0xfff, ARCH_WRITE, 0,
      4, SS(0), 0 },
    { "real mode, limit", ARCH_MODE_REAL, ARCH_DS, 0x93, 0xffff, ARCH_READ, 0xffff, 2, GP(0), 0 },
    { "real mode, limit of SS", ARCH_MODE_REAL, ARCH_SS, 0x93, 0xffff, ARCH_READ, 0xffff, 2, SS(0),
      0 },
    { "real mode, write to code", ARCH_MODE_REAL, ARCH_CS, 0x9b, 0xffff, ARCH_WRITE, 0, 2, NO_FAULT,
      0x87654321 },
    { "compatibility mode, FS", ARCH_MODE_COMPAT, ARCH_FS, AR_DATA, 0xfff, ARCH_READ, 0x10, 1,
      NO_FAULT, 0x87654331 },
    { "64-bit mode, DS has no base", ARCH_MODE_LONG64, ARCH_DS, ARCH_AR_UNUSABLE, 0, ARCH_WRITE,
      0x7ffffffffff8, 8, NO_FAULT, 0x7ffffffffff8 },
    { "64-bit mode, FS has one", ARCH_MODE_LONG64, ARCH_FS, ARCH_AR_UNUSABLE, 0, ARCH_WRITE, 0x10,
      8, NO_FAULT, 0x87654331 },
    { "64-bit mode, not canonical", ARCH_MODE_LONG64, ARCH_DS, AR_DATA, 0, ARCH_READ,
      0x800000000000, 1, GP(0), 0 },
    { "64-bit mode, end not canonical", ARCH_MODE_LONG64, ARCH_DS, AR_DATA, 0, ARCH_READ,
      0x7ffffffffff9, 8, GP(0), 0 },
    { "64-bit mode, SS not canonical", ARCH_MODE_LONG64, ARCH_SS, AR_DATA, 0, ARCH_READ,
      0x7ffffffffff9, 8, SS(0), 0 },
    { "64-bit mode, over the top", ARCH_MODE_LONG64, ARCH_DS, AR_DATA, 0, ARCH_READ,
      0xfffffffffffffffc, 8, NO_FAULT, 0xfffffffffffffffc },
};

START_TEST(access_checks)
{
    struct arch_seg *seg = &state.sreg[accesses[_i].sreg];
    uint64_t linear = 0;

    box_setup(accesses[_i].mode, 0);
    seg->ar = accesses[_i].ar;
    seg->limit = accesses[_i].limit;
    seg->base = 0x87654321;
    check_fault(arch_seg_linear(&state, &limits, accesses[_i].sreg, accesses[_i].offset,
                                accesses[_i].size, accesses[_i].access, &linear),
                accesses[_i].expected, accesses[_i].name);
    ck_assert_uint_eq(linear, accesses[_i].linear);
}
END_TEST

START_TEST(read_and_write)
{
    static const uint64_t value = 0x8877665544332211;

    for (unsigned size = 1; size <= 8; size++) {
        uint64_t back = 0, want = size == 8 ? value : value & ((UINT64_C(1) << 8 * size) - 1);

        box_setup(ARCH_MODE_PROT32, 3);
        state.sreg[ARCH_ES].base = 0x1000;
        ck_assert(!arch_write(&cpu, ARCH_ES, 0x7ffd, size, value).raised);
        ck_assert_uint_eq(peek(0x8ffd, 8), want);
        ck_assert(!arch_read(&cpu, ARCH_ES, 0x7ffd, size, &back).raised);
        ck_assert_uint_eq(back, want);
    }
}
END_TEST

/* Alignment checking: at CPL 3 alone, with CR0.AM and EFLAGS.AC both set. */
START_TEST(alignment)
{
    for (unsigned bits = 0; bits < 8; bits++) {
        bool on = bits == 7;

        for (unsigned offset = 0; offset < 8; offset++) {
            for (unsigned size = 1; size <= 8; size *= 2) {
                struct expected ac = { on && offset % size ? ARCH_AC : -1, 0 };
                uint64_t value = 0;

                box_setup(ARCH_MODE_PROT32, bits & 1 ? 3 : 2);
                state.cr0 |= bits & 2 ? CR0_AM : 0;
                state.rflags |= bits & 4 ? RFLAGS_AC : 0;
                check_fault(arch_write(&cpu, ARCH_DS, 0x7000 + offset, size, 0xff), ac, "write");
                ck_assert_uint_eq(peek(0x7000 + offset, 1), ac.vector < 0 ? 0xff : 0);
                check_fault(arch_read(&cpu, ARCH_DS, 0x7000 + offset, size, &value), ac, "read");
            }
        }
    }
}
END_TEST

/* What the set-ups promise: GDTs made of their registers give them back. */
START_TEST(set_up)
{
    for (enum arch_mode mode = ARCH_MODE_PROT16; mode < ARCH_MODES; mode++) {
        box_setup(mode, (uint8_t)_i);
        ck_assert_int_eq(state.cpl, _i);
        ck_assert_uint_eq(arch_long_mode(&state), mode >= ARCH_MODE_COMPAT);
        ck_assert_uint_eq(arch_code_bits(&state), mode == ARCH_MODE_LONG64   ? 64
                                                  : mode == ARCH_MODE_PROT16 ? 16
                                                                             : 32);
        for (int sreg = 0; sreg < ARCH_SREGS; sreg++) {
            struct arch_seg *seg = &state.sreg[sreg];
            struct arch_seg again =
                arch_seg_decode(seg->selector, peek(BOX_GDT + (seg->selector & 0xfff8), 8), 0);

            ck_assert_int_eq(seg->selector & 3, _i);
            ck_assert_uint_eq(again.ar, seg->ar);
            ck_assert_uint_eq(again.limit, seg->limit);
            ck_assert_uint_eq(again.base, seg->base);
        }
    }
}
END_TEST

START_TEST(reset)
{
    struct ev_context context;

    arch_reset(&state);
    context = arch_context(&state);
    ck_assert_uint_eq(arch_linear_ip(&state, state.rip), 0xfffffff0);
    ck_assert(arch_real_mode(&state));
    ck_assert_uint_eq(arch_code_bits(&state), 16);
    ck_assert_uint_eq(context.cs_base, 0xffff0000);
    ck_assert_uint_eq(context.cpl, 0);
    ck_assert(!context.lma && !context.cs_l && !context.cs_d && !context.pae);
    ck_assert_uint_eq(state.cr0, 0x60000010);
    ck_assert_uint_eq(state.rflags, 2);
    ck_assert_uint_eq(state.dr[6], 0xffff0ff0);
    ck_assert_uint_eq(state.dr[7], 0x400);
}
END_TEST

START_TEST(contexts)
{
    struct ev_context context;

    box_setup(ARCH_MODE_LONG64, 3);
    state.sreg[ARCH_CS].base = 0x1000; /* of no effect in 64-bit mode */
    state.rflags |= RFLAGS_IF;
    context = arch_context(&state);
    ck_assert_uint_eq(context.cs_base, 0);
    ck_assert_uint_eq(context.cr3, BOX_PML4);
    ck_assert(context.lma && context.cs_l && !context.cs_d && !context.pae && context.rflags_if);
    box_setup(ARCH_MODE_COMPAT, 3);
    state.sreg[ARCH_CS].base = 0x1000;
    context = arch_context(&state);
    ck_assert_uint_eq(context.cs_base, 0x1000);
    ck_assert(context.lma && !context.cs_l && context.cs_d && !context.pae);
    box_setup(ARCH_MODE_V86, 0);
    state.cr0 |= CR0_PG;
    state.cr4 |= CR4_PAE;
    context = arch_context(&state);
    ck_assert_uint_eq(context.cpl, 3);
    ck_assert(context.pae && !context.lma && !context.cs_d && !context.rflags_if);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("segment");
    TCase *tcase = tcase_create("segment");

    tcase_add_loop_test(tcase, decode, 0, TEST_COUNT(decodes));
    tcase_add_loop_test(tcase, load, 0, TEST_COUNT(loads));
    tcase_add_test(tcase, null_stack);
    tcase_add_test(tcase, accessed);
    tcase_add_test(tcase, implicit_supervisor);
    tcase_add_loop_test(tcase, real_mode, 0, 5);
    tcase_add_loop_test(tcase, system_load, 0, TEST_COUNT(system_loads));
    tcase_add_test(tcase, cut_off);
    tcase_add_test(tcase, no_ldt);
    tcase_add_loop_test(tcase, access_checks, 0, TEST_COUNT(accesses));
    tcase_add_test(tcase, read_and_write);
    tcase_add_test(tcase, alignment);
    tcase_add_loop_test(tcase, set_up, 0, 4);
    tcase_add_test(tcase, reset);
    tcase_add_test(tcase, contexts);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
