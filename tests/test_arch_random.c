/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transfers from random descriptors, gates, frames and TSSs: whatever they hold, a fault leaves the
 * state as it was, and what succeeds leaves one that a processor can be in. */
#include "../models/arch/far.h"
#include "../models/arch/interrupt.h"

#include "../models/bits.h"
#include "arch_box.h"

enum {
    ROUNDS = 5000,
    VECTOR = 0x41
};

static uint64_t seed;

static uint64_t random64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static unsigned random_below(unsigned n)
{
    return (unsigned)(random64() >> 16) % n;
}

/* A selector that is mostly one of the GDT's. */
static uint16_t random_selector(void)
{
    uint64_t value = random64() >> 8;

    return (uint16_t)(value & 0x700 ? value & 0xff : value);
}

/* A descriptor or gate that is mostly of some use. */
static uint64_t random_descriptor(void)
{
    uint64_t value = random64();

    value = (value & ~UINT64_C(0xffff0000)) | (uint64_t)random_selector() << 16;
    if (random_below(4))
        value |= (uint64_t)ARCH_AR_P << 40;
    if (random_below(2))
        value = (value & UINT64_C(0x0000ff00ffffffff)) | UINT64_C(0x00af000000000000);
    return value;
}

static void random_box(void)
{
    enum arch_mode mode = (enum arch_mode)random_below(ARCH_MODES);
    uint64_t rsp;

    box_setup(mode, (uint8_t)random_below(4));
    rsp = state.gpr[ARCH_RSP];
    for (unsigned i = 0; i < 5; i++)
        gdt_put(SEL_FREE + 0x10 * i, random_descriptor());
    if (random_below(2))
        gdt_put(8 + 8 * random_below(20), random_descriptor());
    idt_put(VECTOR, random_descriptor());
    for (unsigned i = 0; i < 12; i++)
        poke(rsp + 4 * i, random_below(2) ? random_selector() : random64(), 4);
    for (unsigned i = 0; i < 26; i++)
        if (!random_below(4))
            poke(BOX_TSS_B + 4 * i, random_below(2) ? random_selector() : random64(), 4);
    poke(BOX_TSS, random_below(2) ? SEL_TSS_B : random_selector(), 2);
    state.rflags |= random64() & (RFLAGS_IOPL | RFLAGS_IF | RFLAGS_AC | RFLAGS_VIP);
    if (mode != ARCH_MODE_REAL && mode != ARCH_MODE_V86 && !random_below(4))
        state.rflags |= RFLAGS_NT;
    state.cr4 |= random64() & (CR4_VME | CR4_PVI | CR4_SMEP);
    state.tr.limit = random_below(8) ? 0xff : random_below(0x80);
    state.efer |= EFER_SCE;
    state.star = random64();
    state.lstar = 0x1000;
    state.sysenter_cs = random_selector();
    state.gpr[ARCH_RCX] = random64() >> random_below(32);
    state.gpr[ARCH_RDX] = random64() >> random_below(32);
    state.gpr[ARCH_R11] = random64();
}

static struct arch_fault random_delivery(void)
{
    static const enum arch_int_type types[] = {
        ARCH_INT_EXTERNAL,     ARCH_INT_NMI,          ARCH_INT_HW_EXCEPTION,
        ARCH_INT_SW_INTERRUPT, ARCH_INT_SW_EXCEPTION, ARCH_INT_PRIV_SW_EXCEPTION,
    };
    struct arch_interruption what = { .type = types[random_below(6)],
                                      .vector = VECTOR,
                                      .has_error = random_below(2),
                                      .return_rip = state.rip };
    struct arch_fault fault;

    arch_deliver(&cpu, &what, &fault);
    return fault;
}

static struct arch_fault random_transfer(void)
{
    unsigned opsize = 2u << random_below(arch_64bit_mode(&state) ? 3 : 2);

    switch (random_below(10)) {
    case 0:
        return arch_far_jmp(&cpu, random_selector(), random64(), opsize, 0x1234);
    case 1:
        return arch_far_call(&cpu, random_selector(), random64(), opsize, 0x1234);
    case 2:
        return arch_far_ret(&cpu, opsize, 4 * random_below(3));
    case 3:
    case 4:
        return arch_iret(&cpu, opsize, 0x1234);
    case 5:
        return arch_syscall(&cpu, 0x1234);
    case 6:
        return arch_sysret(&cpu, opsize);
    case 7:
        return arch_sysenter(&cpu);
    case 8:
        return arch_sysexit(&cpu, opsize);
    default:
        return random_delivery();
    }
}

/* What the manual lets a fault change, it may have. */
static void check_unchanged(void)
{
    before.blocking_by_nmi = state.blocking_by_nmi;
    before.cr2 = state.cr2;
    ck_assert_mem_eq(&state, &before, sizeof(state));
}

static void check_possible(void)
{
    const struct arch_seg *cs = &state.sreg[ARCH_CS], *ss = &state.sreg[ARCH_SS];
    uint32_t both = ARCH_AR_L | ARCH_AR_DB;

    ck_assert(state.rflags & RFLAGS_FIXED1);
    ck_assert_uint_eq(state.rflags & ~UINT64_C(0x3f7fd7), 0);
    if (arch_real_mode(&state) || arch_v86_mode(&state)) {
        ck_assert_uint_eq(state.cpl, arch_v86_mode(&state) ? 3 : 0);
        ck_assert_uint_eq(cs->base, (uint64_t)cs->selector << 4);
        ck_assert_uint_le(state.rip, cs->limit);
        return;
    }
    ck_assert_uint_eq(cs->selector & 3, state.cpl);
    ck_assert(arch_ar_is_code(cs->ar) && (cs->ar & ARCH_AR_P));
    ck_assert(cs->ar & ARCH_TYPE_CONFORMING ? arch_ar_dpl(cs->ar) <= state.cpl
                                            : arch_ar_dpl(cs->ar) == state.cpl);
    ck_assert_uint_eq(arch_ar_dpl(ss->ar), state.cpl);
    if (ss->ar & ARCH_AR_UNUSABLE)
        ck_assert(arch_64bit_mode(&state) && state.cpl < 3);
    else
        ck_assert(arch_ar_is_writable_data(ss->ar) && (ss->ar & ARCH_AR_P));
    if (arch_long_mode(&state))
        ck_assert((cs->ar & both) != both);
    if (!arch_64bit_mode(&state))
        ck_assert_uint_le(state.rip, cs->limit);
    else
        ck_assert(is_canonical(state.rip, 48));
}

START_TEST(random_transfers)
{
    unsigned done = 0;

    seed = 0x9e3779b97f4a7c15 + (uint64_t)_i;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct arch_fault fault;

        random_box();
        before = state;
        fault = random_transfer();
        if (!fault.raised) {
            done++;
            check_possible();
        } else if (!fault.new_task) {
            check_unchanged();
        }
    }
    ck_assert_uint_gt(done, ROUNDS / 10); /* it is not all faults */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arch_random");
    TCase *tcase = tcase_create("arch_random");

    tcase_add_loop_test(tcase, random_transfers, 0, 4);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
