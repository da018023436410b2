/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SYSCALL, SYSRET, SYSENTER and SYSEXIT (SDM vol. 2, each instruction's page). */
#include "../models/arch/far.h"

#include "arch_box.h"

#define NEXT   UINT64_C(0xffff800000001234)
#define PROT32 ARCH_MODE_PROT32
#define LONG64 ARCH_MODE_LONG64
#define COMPAT ARCH_MODE_COMPAT

enum instruction {
    SYSCALL,
    SYSRET32,
    SYSRET64,
    SYSENTER,
    SYSEXIT32,
    SYSEXIT64
};

/* A setting in which each of them works. */
static void start(enum arch_mode mode, uint8_t cpl)
{
    box_setup(mode, cpl);
    state.star = UINT64_C(0x0023001000000000);
    state.lstar = 0x7f1122334455;
    state.fmask = 0x4702;     /* TF, IF, DF, NT; bit 1, which is always set, stays */
    state.sysenter_cs = 0x13; /* RPL is of no account */
    state.sysenter_esp = UINT64_C(0xffff800087654320);
    state.sysenter_eip = UINT64_C(0xffff800012345678);
    state.gpr[ARCH_RCX] = 0x7f00aabbccdd;
    state.gpr[ARCH_RDX] = 0x7f0011223344;
    state.gpr[ARCH_R11] = ~UINT64_C(0);
    state.rflags |= 0xfd5 & ~(uint64_t)RFLAGS_TF;
}

static struct arch_fault execute(enum instruction instruction)
{
    before = state;
    switch (instruction) {
    case SYSCALL:
        return arch_syscall(&cpu, NEXT);
    case SYSRET32:
        return arch_sysret(&cpu, 4);
    case SYSRET64:
        return arch_sysret(&cpu, 8);
    case SYSENTER:
        return arch_sysenter(&cpu);
    case SYSEXIT32:
        return arch_sysexit(&cpu, 4);
    case SYSEXIT64:
        break;
    }
    return arch_sysexit(&cpu, 8);
}

/* Where each goes: selectors, rights, RIP, RSP (0: it stays), CPL. */
static const struct {
    const char *name;
    enum instruction instruction;
    enum arch_mode mode;
    uint8_t cpl;
    uint16_t cs, ss;
    uint32_t cs_ar, ss_ar;
    uint64_t rip, rsp;
} targets[] = {
    { "SYSCALL", SYSCALL, LONG64, 3, 0x10, 0x18, 0xa09b, 0xc093, 0x7f1122334455, 0 },
    { "SYSCALL at CPL 0", SYSCALL, LONG64, 0, 0x10, 0x18, 0xa09b, 0xc093, 0x7f1122334455, 0 },
    { "SYSRET to 64-bit", SYSRET64, LONG64, 0, 0x33, 0x2b, 0xa0fb, 0xc0f3, 0x7f00aabbccdd, 0 },
    { "SYSRET to 32-bit", SYSRET32, LONG64, 0, 0x23, 0x2b, 0xc0fb, 0xc0f3, 0xaabbccdd, 0 },
    { "SYSENTER", SYSENTER, PROT32, 3, 0x10, 0x18, 0xc09b, 0xc093, 0x12345678, 0x87654320 },
    { "SYSENTER in V86 mode", SYSENTER, ARCH_MODE_V86, 3, 0x10, 0x18, 0xc09b, 0xc093, 0x12345678,
      0x87654320 },
    { "SYSENTER in IA-32e mode", SYSENTER, COMPAT, 3, 0x10, 0x18, 0xa09b, 0xc093,
      0xffff800012345678, 0xffff800087654320 },
    { "SYSEXIT", SYSEXIT32, PROT32, 0, 0x23, 0x2b, 0xc0fb, 0xc0f3, 0x11223344, 0xaabbccdd },
    { "SYSEXIT to compatibility", SYSEXIT32, LONG64, 0, 0x23, 0x2b, 0xc0fb, 0xc0f3, 0x11223344,
      0xaabbccdd },
    { "SYSEXIT to 64-bit", SYSEXIT64, LONG64, 0, 0x33, 0x3b, 0xa0fb, 0xc0f3, 0x7f0011223344,
      0x7f00aabbccdd },
};

START_TEST(target)
{
    start(targets[_i].mode, targets[_i].cpl);
    ck_assert_msg(!execute(targets[_i].instruction).raised, "%s", targets[_i].name);
    ck_assert_uint_eq(state.sreg[ARCH_CS].selector, targets[_i].cs);
    ck_assert_uint_eq(state.sreg[ARCH_SS].selector, targets[_i].ss);
    ck_assert_uint_eq(state.sreg[ARCH_CS].ar, targets[_i].cs_ar);
    ck_assert_uint_eq(state.sreg[ARCH_SS].ar, targets[_i].ss_ar);
    ck_assert_uint_eq(state.sreg[ARCH_CS].base | state.sreg[ARCH_SS].base, 0);
    ck_assert_uint_eq(state.sreg[ARCH_CS].limit & state.sreg[ARCH_SS].limit, 0xffffffff);
    ck_assert_uint_eq(state.cpl, targets[_i].cs & 3u);
    ck_assert_uint_eq(state.rip, targets[_i].rip);
    ck_assert_uint_eq(state.gpr[ARCH_RSP],
                      targets[_i].rsp ? targets[_i].rsp : before.gpr[ARCH_RSP]);
}
END_TEST

/* Flags, with all that are ever set in them before. */
START_TEST(flags)
{
    start(LONG64, 3);
    state.rflags |= RFLAGS_RF | RFLAGS_TF | RFLAGS_AC;
    ck_assert(!execute(SYSCALL).raised);
    ck_assert_uint_eq(state.gpr[ARCH_RCX], NEXT);
    ck_assert_uint_eq(state.gpr[ARCH_R11], before.rflags & ~(uint64_t)RFLAGS_RF);
    ck_assert_uint_eq(state.rflags,
                      before.rflags & ~(uint64_t)(RFLAGS_RF | RFLAGS_TF | RFLAGS_IF | RFLAGS_DF));
    start(LONG64, 0);
    ck_assert(!execute(SYSRET64).raised);
    ck_assert_uint_eq(state.rflags, 0x3c7fd7); /* not RF, not VM */
    start(ARCH_MODE_V86, 3);
    state.rflags |= RFLAGS_RF;
    ck_assert(!execute(SYSENTER).raised);
    ck_assert_uint_eq(state.rflags, before.rflags & ~(uint64_t)(RFLAGS_VM | RFLAGS_IF | RFLAGS_RF));
    start(PROT32, 0);
    ck_assert(!execute(SYSEXIT32).raised);
    ck_assert_uint_eq(state.rflags, before.rflags);
}
END_TEST

/* Faults, each from a change of one thing. */
enum change {
    NOTHING,
    NO_SCE,
    NO_SYSENTER_CS,
    LEAST_SYSENTER_CS,
    BAD_RCX,
    BAD_RDX
};

static const struct {
    const char *name;
    enum instruction instruction;
    enum arch_mode mode;
    uint8_t cpl;
    enum change change;
    struct expected expected;
} faults[] = {
    { "SYSCALL, SCE clear", SYSCALL, LONG64, 3, NO_SCE, UD },
    { "SYSCALL in compatibility mode", SYSCALL, COMPAT, 3, NOTHING, UD },
    { "SYSCALL in protected mode", SYSCALL, PROT32, 3, NOTHING, UD },
    { "SYSRET, SCE clear", SYSRET64, LONG64, 0, NO_SCE, UD },
    { "SYSRET in compatibility mode", SYSRET32, COMPAT, 0, NOTHING, UD },
    { "SYSRET at CPL 3", SYSRET64, LONG64, 3, NOTHING, GP(0) },
    { "SYSRET, RCX not canonical", SYSRET64, LONG64, 0, BAD_RCX, GP(0) },
    { "SYSRET to 32-bit, RCX not canonical", SYSRET32, LONG64, 0, BAD_RCX, NO_FAULT },
    { "SYSENTER in real mode", SYSENTER, ARCH_MODE_REAL, 0, NOTHING, GP(0) },
    { "SYSENTER, no CS", SYSENTER, PROT32, 3, NO_SYSENTER_CS, GP(0) },
    { "SYSENTER, least CS", SYSENTER, PROT32, 3, LEAST_SYSENTER_CS, NO_FAULT },
    { "SYSEXIT in real mode", SYSEXIT32, ARCH_MODE_REAL, 0, NOTHING, GP(0) },
    { "SYSEXIT, no CS", SYSEXIT32, PROT32, 0, NO_SYSENTER_CS, GP(0) },
    { "SYSEXIT at CPL 1", SYSEXIT32, PROT32, 1, NOTHING, GP(0) },
    { "SYSEXIT in V86 mode", SYSEXIT32, ARCH_MODE_V86, 3, NOTHING, GP(0) },
    { "SYSEXIT, RCX not canonical", SYSEXIT64, LONG64, 0, BAD_RCX, GP(0) },
    { "SYSEXIT, RDX not canonical", SYSEXIT64, LONG64, 0, BAD_RDX, GP(0) },
    { "SYSEXIT to 32-bit, RDX not canonical", SYSEXIT32, LONG64, 0, BAD_RDX, NO_FAULT },
};

START_TEST(refused)
{
    struct arch_fault fault;

    start(faults[_i].mode, faults[_i].cpl);
    if (faults[_i].change == NO_SCE)
        state.efer &= ~EFER_SCE;
    if (faults[_i].change == NO_SYSENTER_CS)
        state.sysenter_cs = 0x10003;
    if (faults[_i].change == LEAST_SYSENTER_CS)
        state.sysenter_cs = 4;
    if (faults[_i].change == BAD_RCX)
        state.gpr[ARCH_RCX] = UINT64_C(0x800000000000);
    if (faults[_i].change == BAD_RDX)
        state.gpr[ARCH_RDX] = UINT64_C(0x800000000000);
    fault = execute(faults[_i].instruction);
    check_fault(fault, faults[_i].expected, faults[_i].name);
    if (fault.raised)
        ck_assert_mem_eq(&state, &before, sizeof(state));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("syscall");
    TCase *tcase = tcase_create("syscall");

    tcase_add_loop_test(tcase, target, 0, TEST_COUNT(targets));
    tcase_add_test(tcase, flags);
    tcase_add_loop_test(tcase, refused, 0, TEST_COUNT(faults));
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
