/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A processor in a box: flat memory, a GDT, an LDT, an IDT, a TSS and stacks at fixed places, for
 * the tests of models/arch. */
#ifndef PTSIM_TESTS_ARCH_BOX_H
#define PTSIM_TESTS_ARCH_BOX_H

#include "../models/arch/segment.h"
#include "flat_mem.h"
#include "suite.h"

/* Physical, and with paging the same linear. */
enum {
    BOX_GDT = 0x1000,
    BOX_LDT = 0x2000,
    BOX_IDT = 0x3000,
    BOX_TSS = 0x5000,
    BOX_TSS_B = 0x6000,
    BOX_STACK0 = 0x8000, /* tops */
    BOX_STACK1 = 0x9000,
    BOX_STACK2 = 0xa000,
    BOX_STACK3 = 0xb000,
    BOX_IST1 = 0xc000,
    BOX_CODE = 0x10000,
    BOX_PML4 = 0x20000,
    BOX_PDPT = 0x21000,
};

/* The GDT: what arch_setup() puts into CS and the others at every CPL (08H to 40H), then these. */
enum {
    SEL_CONFORMING = 0x48, /* code, DPL 0 */
    SEL_CODE16 = 0x50,     /* DPL 0, not for 64 bits, nor the next */
    SEL_CODE32 = 0x58,
    SEL_COMPAT3 = 0x60, /* 32-bit code, DPL 3 */
    SEL_DATA16 = 0x68,  /* DPL 0, B clear */
    SEL_LDT = 0x70,
    SEL_TSS = 0x80,
    SEL_TSS_B = 0x90,
    SEL_FREE = 0xa0, /* 16 bytes for the test, and so on to the limit */
    SEL_LDT_B = 0xd0,
    BOX_GDT_LIMIT = 0xff,
};

static struct arch_state state;
static struct arch_state before; /* for box_unchanged() */
static struct arch_limits limits;
static const struct arch_cpu cpu = { &state, &limits, &flat_port };

/* Access rights in the layout of struct arch_seg. */
enum {
    AR_CODE = ARCH_AR_P | ARCH_AR_S | 0xb,
    AR_CODE_XO = ARCH_AR_P | ARCH_AR_S | 0x9,
    AR_CONFORMING = ARCH_AR_P | ARCH_AR_S | 0xf,
    AR_DATA = ARCH_AR_P | ARCH_AR_S | 0x3,
    AR_DATA_RO = ARCH_AR_P | ARCH_AR_S | 0x1,
    AR_LDT = ARCH_AR_P | ARCH_TYPE_LDT,
    AR_TSS16 = ARCH_AR_P | ARCH_TYPE_TSS16,
    AR_TSS32 = ARCH_AR_P | ARCH_TYPE_TSS32,
    AR_DPL1 = 1 << ARCH_AR_DPL_SHIFT,
    AR_DPL2 = 2 << ARCH_AR_DPL_SHIFT,
    AR_DPL3 = 3 << ARCH_AR_DPL_SHIFT,
    AR_FLAT32 = ARCH_AR_G | ARCH_AR_DB,
    AR_FLAT64 = ARCH_AR_G | ARCH_AR_L,
};

static inline uint64_t descriptor(uint32_t base, uint32_t limit, uint32_t ar)
{
    struct arch_seg seg = { .ar = ar, .limit = limit, .base = base };

    return arch_seg_encode(&seg);
}

/* A gate; PARAMS is IST in an IDT of IA-32e mode. */
static inline uint64_t gate(unsigned type, unsigned dpl, uint16_t selector, uint32_t offset,
                            unsigned params)
{
    return (offset & 0xffff) | (uint64_t)selector << 16 | (uint64_t)params << 32 |
           (uint64_t)type << 40 | (uint64_t)dpl << 45 | (uint64_t)1 << 47 |
           (uint64_t)(offset >> 16) << 48;
}

static inline void gdt_put(unsigned selector, uint64_t low)
{
    poke(BOX_GDT + (selector & 0xfff8), low, 8);
}

/* Entry VECTOR of the IDT, in the size that the mode has. */
static inline void idt_put(unsigned vector, uint64_t low)
{
    unsigned size = arch_long_mode(&state) ? 16 : 8;

    poke(BOX_IDT + vector * size, low, 8);
}

/* One 1-GByte page, for everyone, at linear 0. */
static inline void box_map_identity(void)
{
    poke(BOX_PML4, BOX_PDPT | 0x7, 8);
    poke(BOX_PDPT, 0x87, 8);
    state.cr3 = BOX_PML4;
}

static inline void box_gdt(enum arch_mode mode)
{
    uint32_t code = mode == ARCH_MODE_LONG64 ? AR_FLAT64 : mode == ARCH_MODE_PROT16 ? 0 : AR_FLAT32;
    uint32_t limit = mode == ARCH_MODE_PROT16 ? 0xffff : 0xffffffff;
    uint32_t data = mode == ARCH_MODE_PROT16 ? 0 : AR_FLAT32;

    for (unsigned dpl = 0; dpl < 4; dpl++) {
        uint32_t ar = dpl << ARCH_AR_DPL_SHIFT;

        gdt_put(ARCH_FLAT_CODE(dpl), descriptor(0, limit, AR_CODE | code | ar));
        gdt_put(ARCH_FLAT_DATA(dpl), descriptor(0, limit, AR_DATA | data | ar));
    }
    gdt_put(SEL_CONFORMING, descriptor(0, limit, AR_CONFORMING | code));
    gdt_put(SEL_CODE16, descriptor(0, 0xffff, AR_CODE));
    gdt_put(SEL_CODE32, descriptor(0, 0xffffffff, AR_CODE | AR_FLAT32));
    gdt_put(SEL_COMPAT3, descriptor(0, 0xffffffff, AR_CODE | AR_FLAT32 | AR_DPL3));
    gdt_put(SEL_DATA16, descriptor(0, 0xffff, AR_DATA));
    gdt_put(SEL_LDT, descriptor(BOX_LDT, 0xff, AR_LDT));
    gdt_put(SEL_TSS, descriptor(BOX_TSS, 0xff, AR_TSS32 | ARCH_TYPE_BUSY));
    gdt_put(SEL_TSS_B, descriptor(BOX_TSS_B, 0xff, AR_TSS32));
}

/* The stacks of the inner levels, in the TSS of the mode. */
static inline void box_tss(void)
{
    static const uint32_t top[] = { BOX_STACK0, BOX_STACK1, BOX_STACK2 };

    for (unsigned cpl = 0; cpl < 3; cpl++) {
        poke(BOX_TSS + 4 + 8 * cpl, top[cpl], 8);
        if (!arch_long_mode(&state))
            poke(BOX_TSS + 8 + 8 * cpl, ARCH_FLAT_DATA(cpl), 4);
    }
    if (arch_long_mode(&state))
        poke(BOX_TSS + 0x24, BOX_IST1, 8);
    state.tr = (struct arch_seg){
        .selector = SEL_TSS, .ar = AR_TSS32 | ARCH_TYPE_BUSY, .limit = 0xff, .base = BOX_TSS
    };
}

/* All of it anew, running in MODE at CPL. */
static inline void box_setup(enum arch_mode mode, uint8_t cpl)
{
    static const uint32_t top[] = { BOX_STACK0, BOX_STACK1, BOX_STACK2, BOX_STACK3 };

    memset(flat, 0, sizeof(flat));
    limits = (struct arch_limits){ .maxphyaddr = 46, .linear_width = 48 };
    arch_setup(&state, mode, cpl);
    if (arch_long_mode(&state))
        box_map_identity();
    state.gdtr = (struct arch_table){ .base = BOX_GDT, .limit = BOX_GDT_LIMIT };
    state.idtr = (struct arch_table){ .base = BOX_IDT, .limit = 0xfff };
    state.ldtr =
        (struct arch_seg){ .selector = SEL_LDT, .ar = AR_LDT, .limit = 0xff, .base = BOX_LDT };
    state.rip = BOX_CODE;
    state.gpr[ARCH_RSP] = top[state.cpl] - 0x100;
    box_gdt(mode);
    box_tss();
    if (mode == ARCH_MODE_REAL || mode == ARCH_MODE_V86 || mode == ARCH_MODE_PROT16)
        state.rip = 0x100;
}

/* What the new task of box_task_b() has. */
enum {
    TASK_B_EIP = 0x1357,
    TASK_B_FLAGS = 0x0893,
    TASK_B_GPR = 0x7700
};

/* A TSS for a new task, of 32 or 16 bits (SIZE 4 or 2), with something else in every field. */
static inline void box_task_b(unsigned size)
{
    static const uint16_t selector[] = { ARCH_FLAT_DATA(3), ARCH_FLAT_CODE(0), ARCH_FLAT_DATA(0),
                                         ARCH_FLAT_DATA(0), SEL_CONFORMING,    0 };
    unsigned gpr = size == 4 ? 0x28 : 0x12, sreg = size == 4 ? 0x48 : 0x22;

    gdt_put(SEL_TSS_B,
            descriptor(BOX_TSS_B, size == 4 ? 0x67 : 0x2b, size == 4 ? AR_TSS32 : AR_TSS16));
    gdt_put(SEL_LDT_B, descriptor(0x12340, 0x7f, AR_LDT));
    poke(BOX_TSS_B + (size == 4 ? 0x20 : 0x0e), TASK_B_EIP, size);
    poke(BOX_TSS_B + (size == 4 ? 0x24 : 0x10), TASK_B_FLAGS, size);
    for (unsigned i = 0; i < 8; i++)
        poke(BOX_TSS_B + gpr + i * size, i == ARCH_RSP ? BOX_STACK0 : TASK_B_GPR + i, size);
    for (unsigned i = 0; i < (size == 4 ? 6 : 4); i++)
        poke(BOX_TSS_B + sreg + i * size, selector[i], size);
    poke(BOX_TSS_B + (size == 4 ? 0x60 : 0x2a), SEL_LDT_B, size);
}

/* What a row of a table says must happen: a fault, or with NO_FAULT none. */
struct expected {
    int vector;
    uint32_t error;
};
#define NO_FAULT                                                                                   \
    {                                                                                              \
        -1, 0                                                                                      \
    }
#define WITHOUT_ERROR UINT32_MAX
#define GP(error_code)                                                                             \
    {                                                                                              \
        ARCH_GP, error_code                                                                        \
    }
#define TS(error_code)                                                                             \
    {                                                                                              \
        ARCH_TS, error_code                                                                        \
    }
#define NP(error_code)                                                                             \
    {                                                                                              \
        ARCH_NP, error_code                                                                        \
    }
#define SS(error_code)                                                                             \
    {                                                                                              \
        ARCH_SS_FAULT, error_code                                                                  \
    }
#define PF(error_code)                                                                             \
    {                                                                                              \
        ARCH_PF, error_code                                                                        \
    }
#define UD                                                                                         \
    {                                                                                              \
        ARCH_UD, WITHOUT_ERROR                                                                     \
    }

static inline void check_fault(struct arch_fault fault, struct expected expected, const char *name)
{
    ck_assert_msg(fault.raised == (expected.vector >= 0), "%s: raised %d (vector %u, error %x)",
                  name, fault.raised, fault.vector, fault.error);
    if (!fault.raised)
        return;
    ck_assert_msg(fault.vector == expected.vector, "%s: vector %u, error %x", name, fault.vector,
                  fault.error);
    ck_assert_msg(fault.has_error == (expected.error != WITHOUT_ERROR), "%s: error or none", name);
    if (fault.has_error)
        ck_assert_msg(fault.error == expected.error, "%s: error %x", name, fault.error);
}

#endif
