/* SPDX-License-Identifier: MIT */
#include "state.h"

#include <string.h>

/* Real-address mode as RESET leaves it: present, accessed, read/write, 64 KBytes. */
#define REAL_DATA_AR 0x93u
#define REAL_CODE_AR 0x9bu
/* What virtual-8086 mode gives every segment: the same at DPL 3 (SDM vol. 3B, 21.2.1). */
#define V86_AR       0xf3u

void arch_reset(struct arch_state *state)
{
    static const struct arch_state reset = {
        .rip = 0xfff0,
        .rflags = RFLAGS_FIXED1,
        .ldtr = { .ar = ARCH_TYPE_LDT | ARCH_AR_P, .limit = 0xffff },
        .tr = { .ar = ARCH_TYPE_TSS32_BUSY | ARCH_AR_P, .limit = 0xffff },
        .gdtr = { .limit = 0xffff },
        .idtr = { .limit = 0xffff },
        .cr0 = CR0_CD | CR0_NW | CR0_ET,
        .dr = { [6] = 0xffff0ff0, [7] = 0x400 },
        .pat = UINT64_C(0x0007040600070406),
        .xcr0 = 1,
        .activity = ARCH_ACTIVE,
    };

    *state = reset;
    for (int i = 0; i < ARCH_SREGS; i++)
        state->sreg[i] = (struct arch_seg){ .ar = REAL_DATA_AR, .limit = 0xffff };
    state->sreg[ARCH_CS] = (struct arch_seg){
        .selector = 0xf000, .ar = REAL_CODE_AR, .limit = 0xffff, .base = 0xffff0000
    };
}

void arch_init(struct arch_state *state, uint32_t signature)
{
    const struct arch_state was = *state;
    const uint64_t caching = CR0_CD | CR0_NW;

    arch_reset(state);
    state->gpr[ARCH_RDX] = signature;
    state->cr0 = (state->cr0 & ~caching) | (was.cr0 & caching);
    state->star = was.star;
    state->lstar = was.lstar;
    state->cstar = was.cstar;
    state->fmask = was.fmask;
    state->kernel_gs_base = was.kernel_gs_base;
    state->sysenter_cs = was.sysenter_cs;
    state->sysenter_esp = was.sysenter_esp;
    state->sysenter_eip = was.sysenter_eip;
    state->tsc_aux = was.tsc_aux;
    state->pat = was.pat;
    state->xcr0 = was.xcr0;
}

/* What the modes differ in: one row each. */
struct mode_setup {
    uint64_t cr0, cr4, efer;
    uint32_t rflags;
    uint32_t code_ar; /* at DPL 0 */
    uint32_t data_ar;
    uint32_t limit;
    bool selectors; /* of a descriptor table */
};

#define FLAT_CODE (ARCH_AR_P | ARCH_AR_S | 0xb)
#define FLAT_DATA (ARCH_AR_P | ARCH_AR_S | 0x3)

static const struct mode_setup mode_setups[ARCH_MODES] = {
    [ARCH_MODE_REAL] = { .code_ar = REAL_CODE_AR, .data_ar = REAL_DATA_AR, .limit = 0xffff },
    [ARCH_MODE_V86] = { .cr0 = CR0_PE,
                        .rflags = RFLAGS_VM,
                        .code_ar = V86_AR,
                        .data_ar = V86_AR,
                        .limit = 0xffff },
    [ARCH_MODE_PROT16] = { .cr0 = CR0_PE,
                           .code_ar = FLAT_CODE,
                           .data_ar = FLAT_DATA,
                           .limit = 0xffff,
                           .selectors = true },
    [ARCH_MODE_PROT32] = { .cr0 = CR0_PE,
                           .code_ar = FLAT_CODE | ARCH_AR_DB | ARCH_AR_G,
                           .data_ar = FLAT_DATA | ARCH_AR_DB | ARCH_AR_G,
                           .limit = 0xffffffff,
                           .selectors = true },
    [ARCH_MODE_COMPAT] = { .cr0 = CR0_PE | CR0_PG,
                           .cr4 = CR4_PAE,
                           .efer = EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE,
                           .code_ar = FLAT_CODE | ARCH_AR_DB | ARCH_AR_G,
                           .data_ar = FLAT_DATA | ARCH_AR_DB | ARCH_AR_G,
                           .limit = 0xffffffff,
                           .selectors = true },
    [ARCH_MODE_LONG64] = { .cr0 = CR0_PE | CR0_PG,
                           .cr4 = CR4_PAE,
                           .efer = EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE,
                           .code_ar = FLAT_CODE | ARCH_AR_L | ARCH_AR_G,
                           .data_ar = FLAT_DATA | ARCH_AR_DB | ARCH_AR_G,
                           .limit = 0xffffffff,
                           .selectors = true },
};

void arch_setup(struct arch_state *state, enum arch_mode mode, uint8_t cpl)
{
    const struct mode_setup *setup = &mode_setups[mode];
    uint32_t dpl;

    arch_reset(state);
    state->rip = 0;
    state->cr0 = setup->cr0 | CR0_ET | CR0_NE;
    state->cr4 = setup->cr4;
    state->efer = setup->efer;
    state->rflags |= setup->rflags;
    state->cpl = mode == ARCH_MODE_REAL ? 0 : mode == ARCH_MODE_V86 ? 3 : cpl;
    dpl = setup->selectors ? (uint32_t)cpl << ARCH_AR_DPL_SHIFT : 0;
    for (int i = 0; i < ARCH_SREGS; i++)
        state->sreg[i] = (struct arch_seg){
            .selector = setup->selectors ? ARCH_FLAT_DATA(cpl) : 0,
            .ar = setup->data_ar | dpl,
            .limit = setup->limit,
        };
    state->sreg[ARCH_CS].ar = setup->code_ar | dpl;
    if (setup->selectors)
        state->sreg[ARCH_CS].selector = ARCH_FLAT_CODE(cpl);
}

struct ev_context arch_context(const struct arch_state *state)
{
    const struct arch_seg *cs = &state->sreg[ARCH_CS];
    bool lma = arch_long_mode(state);

    return (struct ev_context){
        .cr3 = state->cr3,
        .cs_base = arch_64bit_mode(state) ? 0 : cs->base,
        .cpl = state->cpl,
        .cs_l = cs->ar & ARCH_AR_L,
        .cs_d = cs->ar & ARCH_AR_DB,
        .lma = lma,
        .pae = (state->cr0 & CR0_PG) && (state->cr4 & CR4_PAE) && !lma,
        .rflags_if = state->rflags & RFLAGS_IF,
    };
}
