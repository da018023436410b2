/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hidden.h"

#include <assert.h>
#include <string.h>

#include "../models/bits.h"
#include "../models/ports.h"

enum ptsim_status hidden_of(const struct arch_state *state, struct hidden *out)
{
    const struct arch_seg *sreg = state->sreg;

    *out = (struct hidden){
        .cr0 = state->cr0,
        .cr4 = state->cr4,
        .efer = state->efer,
        /* what Unicorn knows of: x87 and SSE */
        .xcr0 = (state->xcr0 & 3) | 1,
        .fs = sreg[ARCH_FS].selector,
        .gs = sreg[ARCH_GS].selector,
        .cpl = state->cpl,
        .code_bits = (uint8_t)arch_code_bits(state),
        .v86 = arch_v86_mode(state),
    };
    if (out->code_bits == 64)
        return PTSIM_OK;
    out->stack32 = sreg[ARCH_SS].ar & ARCH_AR_DB;
    for (unsigned i = ARCH_ES; i <= ARCH_DS; i++) {
        out->base[i] = (uint32_t)sreg[i].base;
        if (out->v86 && out->base[i] != (uint32_t)sreg[i].selector << 4)
            return PTSIM_INVALID;
    }
    return PTSIM_OK;
}

bool hidden_equal(const struct hidden *a, const struct hidden *b)
{
    return a->cr0 == b->cr0 && a->cr4 == b->cr4 && a->efer == b->efer && a->xcr0 == b->xcr0 &&
           !memcmp(a->base, b->base, sizeof(a->base)) && a->fs == b->fs && a->gs == b->gs &&
           a->cpl == b->cpl && a->code_bits == b->code_bits && a->stack32 == b->stack32 &&
           a->v86 == b->v86;
}

static bool same_seg_selectors(const struct arch_state *a, const struct arch_state *b)
{
    for (unsigned i = ARCH_ES; i <= ARCH_DS; i++) {
        if (a->sreg[i].selector != b->sreg[i].selector)
            return false;
    }
    return true;
}

static bool same_seg(const struct arch_seg *a, const struct arch_seg *b)
{
    return a->selector == b->selector && a->base == b->base && a->limit == b->limit &&
           a->ar == b->ar;
}

static bool same_table(const struct arch_table *a, const struct arch_table *b)
{
    return a->base == b->base && a->limit == b->limit;
}

bool near_equal(const struct arch_state *a, const struct arch_state *b)
{
    return same_seg_selectors(a, b) && a->sreg[ARCH_FS].base == b->sreg[ARCH_FS].base &&
           a->sreg[ARCH_GS].base == b->sreg[ARCH_GS].base && same_table(&a->gdtr, &b->gdtr) &&
           same_table(&a->idtr, &b->idtr) && same_seg(&a->ldtr, &b->ldtr) &&
           same_seg(&a->tr, &b->tr);
}

/* The stub's three ways to the state wanted. Each first loads XCR0, ES, DS and SS. */
#define LOAD_REGISTERS                                                                             \
    0x0f, 0x01, 0xd1, /* xsetbv */                                                                 \
        0x8e, 0xc6,   /* mov es, esi */                                                            \
        0x8e, 0xdf,   /* mov ds, edi */                                                            \
        0x8e, 0xd5    /* mov ss, ebp */

static const uint8_t far_jump[] = { LOAD_REGISTERS, 0x2e, 0xff, 0x2b /* jmp far cs:[ebx] */ };
static const uint8_t iret32[] = { LOAD_REGISTERS, 0xcf /* iretd */ };
static const uint8_t iret64[] = { LOAD_REGISTERS, 0x48, 0xcf /* iretq */ };

enum {
    /* Offsets in the page. The code lies always in the same places, so that Unicorn
     * translates it once. */
    FAR_JUMP = 0x00,
    IRET32 = 0x10,
    IRET64 = 0x20,
    FAR_POINTER = 0x200,
    FRAME = 0x300,
    /* Indices into the GDT. */
    CODE = 1,
    STACK = 2,
    DS_DATA = 3,
    ES_DATA = 4,
    FLAT_DATA = 5,
    FLAT_STACK = 6,
};

/* Segment types with the accessed bit, so that loading one does not write. */
enum {
    DATA_RW = 0x3,
    CODE_XR = 0xb
};

/* A 4-GByte segment (SDM 3.4.5). */
static uint64_t descriptor(uint32_t base, unsigned type, unsigned dpl, uint64_t l_db)
{
    return BITS(15, 0) | (uint64_t)(base & 0xffffff) << 16 | (uint64_t)type << 40 | BIT(44) |
           (uint64_t)dpl << 45 | BIT(47) | BITS(51, 48) | l_db << 53 | BIT(55) |
           (uint64_t)(base >> 24) << 56;
}

static void put_gdt(const struct hidden *want, uint8_t *gdt)
{
    uint64_t code_size = want->code_bits == 64 ? 1 : want->code_bits == 32 ? 2 : 0;
    uint64_t table[FLAT_STACK + 1] = {
        [CODE] = descriptor(want->base[ARCH_CS], CODE_XR, want->cpl, code_size),
        [STACK] = descriptor(want->base[ARCH_SS], DATA_RW, want->cpl, want->stack32 ? 2 : 0),
        /* DPL 3, or a return to an outer level would clear the register */
        [DS_DATA] = descriptor(want->base[ARCH_DS], DATA_RW, 3, 2),
        [ES_DATA] = descriptor(want->base[ARCH_ES], DATA_RW, 3, 2),
        [FLAT_DATA] = descriptor(0, DATA_RW, 3, 2),
        [FLAT_STACK] = descriptor(0, DATA_RW, 0, 2),
    };

    static_assert(STUB_GDT_LIMIT == sizeof(table) - 1, "the limit covers the table");
    static_assert(STUB_FLAT_DATA == STUB_GDT + 8 * FLAT_DATA, "the place of FLAT_DATA");
    for (unsigned i = 0; i <= FLAT_STACK; i++)
        le_store(gdt + 8 * i, table[i], 8);
}

/* What IRET pops, SIZE bytes each. */
static void put_frame(const struct hidden *want, unsigned size, uint8_t *frame)
{
    uint64_t slots[] = {
        0, CODE << 3 | want->cpl, RFLAGS_FIXED1, 0, STACK << 3 | want->cpl, 0, 0, 0, 0,
    };

    if (want->v86) {
        slots[1] = want->base[ARCH_CS] >> 4;
        slots[2] |= RFLAGS_VM;
        slots[4] = want->base[ARCH_SS] >> 4;
        slots[5] = want->base[ARCH_ES] >> 4;
        slots[6] = want->base[ARCH_DS] >> 4;
        slots[7] = want->fs;
        slots[8] = want->gs;
    }
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
        le_store(frame + i * size, slots[i], size);
}

void hidden_stub(const struct hidden *want, struct stub *out)
{
    bool lma = want->efer & EFER_LMA;
    bool jump = !lma && want->cpl == 0;

    *out = (struct stub){
        .entry = STUB_CODE + (lma    ? IRET64
                              : jump ? FAR_JUMP
                                     : IRET32),
        .rax = want->xcr0,
        .rbx = STUB_DATA + FAR_POINTER,
        .rsi = ES_DATA << 3,
        .rdi = DS_DATA << 3,
        .rbp = (jump ? STACK : FLAT_STACK) * 8,
        .rsp = STUB_DATA + FRAME,
    };
    memcpy(out->page + FAR_JUMP, far_jump, sizeof(far_jump));
    memcpy(out->page + IRET32, iret32, sizeof(iret32));
    memcpy(out->page + IRET64, iret64, sizeof(iret64));
    put_gdt(want, out->page + (STUB_GDT - STUB_DATA));
    le_store(out->page + FAR_POINTER + 4, CODE << 3, 2);
    put_frame(want, lma ? 8 : 4, out->page + FRAME);
}
