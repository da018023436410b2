/* SPDX-License-Identifier: MIT */
/* The fast system calls (SDM vol. 2, each instruction's page; vol. 3A, 5.8.7, 5.8.8). Their
 * segments are fixed, not read from a descriptor table. */
#include "../bits.h"
#include "far.h"

/* CS and SS as these instructions make them: flat, in the code size of BITS. */
static void load_flat(struct arch_state *state, uint16_t cs, uint16_t ss, unsigned cpl,
                      unsigned bits)
{
    uint32_t common = ARCH_AR_P | ARCH_AR_S | cpl << ARCH_AR_DPL_SHIFT | ARCH_AR_G;
    uint32_t code = ARCH_TYPE_CODE | ARCH_TYPE_READABLE | ARCH_TYPE_ACCESSED;

    state->sreg[ARCH_CS] = (struct arch_seg){
        .selector = cs,
        .ar = common | code | (bits == 64 ? (uint32_t)ARCH_AR_L : (uint32_t)ARCH_AR_DB),
        .limit = 0xffffffff,
    };
    state->sreg[ARCH_SS] = (struct arch_seg){
        .selector = ss,
        .ar = common | ARCH_TYPE_WRITABLE | ARCH_TYPE_ACCESSED | ARCH_AR_DB,
        .limit = 0xffffffff,
    };
    state->cpl = (uint8_t)cpl;
}

struct arch_fault arch_syscall(const struct arch_cpu *cpu, uint64_t next_rip)
{
    struct arch_state *state = cpu->state;
    uint16_t cs = (uint16_t)(bits_get(state->star, 47, 32) & 0xfffc);

    if (!arch_64bit_mode(state) || !(state->efer & EFER_SCE))
        return arch_fault(ARCH_UD);
    state->gpr[ARCH_RCX] = next_rip;
    state->rflags &= ~(uint64_t)RFLAGS_RF;
    state->gpr[ARCH_R11] = state->rflags;
    state->rflags = (state->rflags & ~(state->fmask & 0xffffffff)) | RFLAGS_FIXED1;
    state->rip = state->lstar;
    load_flat(state, cs, (uint16_t)(bits_get(state->star, 47, 32) + 8), 0, 64);
    return ARCH_NO_FAULT;
}

struct arch_fault arch_sysret(const struct arch_cpu *cpu, unsigned opsize)
{
    static const uint64_t loadable = 0x3c7fd7; /* all but RF, VM and the reserved bits */
    struct arch_state *state = cpu->state;
    uint16_t base = (uint16_t)bits_get(state->star, 63, 48);
    bool to64 = opsize == 8;

    if (!arch_64bit_mode(state) || !(state->efer & EFER_SCE))
        return arch_fault(ARCH_UD);
    if (state->cpl)
        return arch_fault_error(ARCH_GP, 0);
    if (to64 && !is_canonical(state->gpr[ARCH_RCX], arch_linear_bits(state)))
        return arch_fault_error(ARCH_GP, 0);
    state->rip = to64 ? state->gpr[ARCH_RCX] : (uint32_t)state->gpr[ARCH_RCX];
    state->rflags = (state->gpr[ARCH_R11] & loadable) | RFLAGS_FIXED1;
    load_flat(state, (uint16_t)((base + (to64 ? 16 : 0)) | 3), (uint16_t)((base + 8) | 3), 3,
              to64 ? 64 : 32);
    return ARCH_NO_FAULT;
}

/* Neither SYSENTER nor SYSEXIT works before IA32_SYSENTER_CS has a selector. */
static bool sysenter_usable(const struct arch_state *state)
{
    return !arch_real_mode(state) && bits_get(state->sysenter_cs, 15, 2);
}

struct arch_fault arch_sysenter(const struct arch_cpu *cpu)
{
    struct arch_state *state = cpu->state;
    bool lma = arch_long_mode(state);
    uint16_t cs = (uint16_t)(state->sysenter_cs & 0xfffc);

    if (!sysenter_usable(state))
        return arch_fault_error(ARCH_GP, 0);
    state->rflags &= ~(uint64_t)(RFLAGS_VM | RFLAGS_IF | RFLAGS_RF);
    state->gpr[ARCH_RSP] = lma ? state->sysenter_esp : (uint32_t)state->sysenter_esp;
    state->rip = lma ? state->sysenter_eip : (uint32_t)state->sysenter_eip;
    load_flat(state, cs, (uint16_t)(cs + 8), 0, lma ? 64 : 32);
    return ARCH_NO_FAULT;
}

struct arch_fault arch_sysexit(const struct arch_cpu *cpu, unsigned opsize)
{
    struct arch_state *state = cpu->state;
    uint64_t rip = state->gpr[ARCH_RDX];
    uint64_t rsp = state->gpr[ARCH_RCX];
    bool to64 = opsize == 8;
    uint16_t cs = (uint16_t)((state->sysenter_cs + (to64 ? 32 : 16)) | 3);

    if (!sysenter_usable(state) || state->cpl)
        return arch_fault_error(ARCH_GP, 0);
    if (to64 && (!is_canonical(rip, arch_linear_bits(state)) ||
                 !is_canonical(rsp, arch_linear_bits(state))))
        return arch_fault_error(ARCH_GP, 0);
    state->rip = to64 ? rip : (uint32_t)rip;
    state->gpr[ARCH_RSP] = to64 ? rsp : (uint32_t)rsp;
    state->rflags &= ~(uint64_t)RFLAGS_RF;
    load_flat(state, cs, (uint16_t)(cs + 8), 3, to64 ? 64 : 32);
    return ARCH_NO_FAULT;
}
