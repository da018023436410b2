/* SPDX-License-Identifier: MIT */
/* Control and debug registers. */
#include "control.h"

#include "../bits.h"

#define CR0_BITS                                                                                   \
    (CR0_PE | CR0_MP | CR0_EM | CR0_TS | CR0_ET | CR0_NE | CR0_WP | CR0_AM | CR0_NW | CR0_CD |     \
     CR0_PG)
#define CR4_BITS                                                                                   \
    (CR4_VME | CR4_PVI | CR4_TSD | CR4_DE | CR4_PSE | CR4_PAE | CR4_MCE | CR4_PGE | CR4_PCE |      \
     CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_UMIP | CR4_LA57 | CR4_VMXE | CR4_SMXE | CR4_FSGSBASE |      \
     CR4_PCIDE | CR4_OSXSAVE | CR4_SMEP | CR4_SMAP)

struct arch_fault arch_require_cpl0(const struct arch_state *state)
{
    return state->cpl ? arch_fault_error(ARCH_GP, 0) : ARCH_NO_FAULT;
}

/* Loads the PDPTE registers where CR0, CR4 and EFER of NEXT are those of PAE paging. */
static struct arch_fault load_pdptes_if_pae(const struct arch_cpu *cpu, struct arch_state *next)
{
    if (!(next->cr0 & CR0_PG) || !(next->cr4 & CR4_PAE) || arch_long_mode(next))
        return ARCH_NO_FAULT;
    return arch_load_pdptes(next, cpu->limits, cpu->mem, next->cr3);
}

/* Whether CR0 may become VALUE (SDM 2.5), but for what IA-32e mode asks. */
static bool cr0_allowed(const struct arch_state *state, uint64_t value)
{
    if (value & BITS(63, 32))
        return false;
    if ((value & CR0_PG) && !(value & CR0_PE))
        return false;
    if ((value & CR0_NW) && !(value & CR0_CD))
        return false;
    return (value & CR0_PG) || !(state->cr4 & CR4_PCIDE);
}

/* A change of CR0.PG with EFER.LME set: into or out of IA-32e mode (SDM 10.8.5). */
static bool switch_ia32e(struct arch_state *state, bool on)
{
    bool tss16 = arch_ar_type(state->tr.ar) == ARCH_TYPE_TSS16_BUSY;

    if (on && (!(state->cr4 & CR4_PAE) || (state->sreg[ARCH_CS].ar & ARCH_AR_L) || tss16))
        return false;
    if (!on && arch_64bit_mode(state))
        return false;
    state->efer = on ? state->efer | EFER_LMA : state->efer & ~EFER_LMA;
    return true;
}

struct arch_fault arch_mov_to_cr0(const struct arch_cpu *cpu, uint64_t value)
{
    struct arch_state next = *cpu->state;
    uint64_t changed;

    ARCH_TRY(arch_require_cpl0(&next));
    if (!cr0_allowed(&next, value))
        return arch_fault_error(ARCH_GP, 0);
    value = (value & CR0_BITS) | CR0_ET;
    changed = next.cr0 ^ value;
    if ((changed & CR0_PG) && (next.efer & EFER_LME) && !switch_ia32e(&next, value & CR0_PG))
        return arch_fault_error(ARCH_GP, 0);
    next.cr0 = value;
    if (changed & (CR0_CD | CR0_NW | CR0_PG))
        ARCH_TRY(load_pdptes_if_pae(cpu, &next));
    *cpu->state = next;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_mov_to_cr3(const struct arch_cpu *cpu, uint64_t value)
{
    struct arch_state next = *cpu->state;

    ARCH_TRY(arch_require_cpl0(&next));
    /* With PCIDs bit 63 says that the TLB may be kept, and is not stored (SDM 4.10.4.1). */
    if (next.cr4 & CR4_PCIDE)
        value &= ~BIT(63);
    if (value & BITS(63, cpu->limits->maxphyaddr))
        return arch_fault_error(ARCH_GP, 0);
    next.cr3 = value;
    ARCH_TRY(load_pdptes_if_pae(cpu, &next));
    *cpu->state = next;
    return ARCH_NO_FAULT;
}

uint64_t arch_cr4_bits(const struct arch_limits *limits)
{
    uint64_t absent = limits->cr4_reserved | (limits->linear_width < 57 ? CR4_LA57 : 0);

    return CR4_BITS & ~absent;
}

/* Whether CR4 may become VALUE (SDM 2.5). */
static bool cr4_allowed(const struct arch_cpu *cpu, uint64_t value)
{
    const struct arch_state *state = cpu->state;
    uint64_t set = value & ~state->cr4;
    uint64_t changed = value ^ state->cr4;

    if (value & ~arch_cr4_bits(cpu->limits))
        return false;
    if (arch_long_mode(state) && (changed & (CR4_PAE | CR4_LA57)))
        return false;
    if ((set & CR4_PCIDE) && (!arch_long_mode(state) || (state->cr3 & BITS(11, 0))))
        return false;
    return true;
}

struct arch_fault arch_mov_to_cr4(const struct arch_cpu *cpu, uint64_t value)
{
    struct arch_state next = *cpu->state;
    uint64_t changed = next.cr4 ^ value;

    ARCH_TRY(arch_require_cpl0(&next));
    if (!cr4_allowed(cpu, value))
        return arch_fault_error(ARCH_GP, 0);
    next.cr4 = value;
    if (changed & (CR4_PAE | CR4_PGE | CR4_PSE | CR4_SMEP))
        ARCH_TRY(load_pdptes_if_pae(cpu, &next));
    *cpu->state = next;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_mov_to_cr8(const struct arch_cpu *cpu, uint64_t value)
{
    ARCH_TRY(arch_require_cpl0(cpu->state));
    if (value & BITS(63, 4))
        return arch_fault_error(ARCH_GP, 0);
    cpu->state->cr8 = value;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_mov_to_cr(const struct arch_cpu *cpu, unsigned number, uint64_t value)
{
    switch (number) {
    case 0:
        return arch_mov_to_cr0(cpu, value);
    case 2:
        ARCH_TRY(arch_require_cpl0(cpu->state));
        cpu->state->cr2 = value;
        return ARCH_NO_FAULT;
    case 3:
        return arch_mov_to_cr3(cpu, value);
    case 4:
        return arch_mov_to_cr4(cpu, value);
    case 8:
        return arch_mov_to_cr8(cpu, value);
    default:
        return arch_fault(ARCH_UD);
    }
}

struct arch_fault arch_mov_from_cr(const struct arch_cpu *cpu, unsigned number, uint64_t *value)
{
    const struct arch_state *state = cpu->state;
    const uint64_t *const cr[16] = { [0] = &state->cr0,
                                     [2] = &state->cr2,
                                     [3] = &state->cr3,
                                     [4] = &state->cr4,
                                     [8] = &state->cr8 };

    if (number >= 16 || !cr[number])
        return arch_fault(ARCH_UD);
    ARCH_TRY(arch_require_cpl0(state));
    *value = *cr[number];
    return ARCH_NO_FAULT;
}

struct arch_fault arch_lmsw(const struct arch_cpu *cpu, uint16_t value)
{
    struct arch_state *state = cpu->state;
    uint64_t kept = state->cr0 & CR0_PE; /* LMSW cannot clear it */

    ARCH_TRY(arch_require_cpl0(state));
    state->cr0 = bits_put(state->cr0, 3, 0, value) | kept;
    return ARCH_NO_FAULT;
}

/* The instructions that only show system state are for everyone, unless CR4.UMIP says
 * otherwise. */
static struct arch_fault check_umip(const struct arch_state *state)
{
    return state->cr4 & CR4_UMIP ? arch_require_cpl0(state) : ARCH_NO_FAULT;
}

struct arch_fault arch_smsw(const struct arch_cpu *cpu, uint64_t *value)
{
    ARCH_TRY(check_umip(cpu->state));
    *value = cpu->state->cr0;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_clts(const struct arch_cpu *cpu)
{
    ARCH_TRY(arch_require_cpl0(cpu->state));
    cpu->state->cr0 &= ~CR0_TS;
    return ARCH_NO_FAULT;
}

/* What MOV to and from a debug register checks first (SDM 18.2); DR4 and DR5 become the DR6 and
 * DR7 that they are other names of. */
static struct arch_fault check_dr(struct arch_state *state, unsigned *number)
{
    if (*number > 7)
        return arch_fault(ARCH_UD);
    if (*number == 4 || *number == 5) {
        if (state->cr4 & CR4_DE)
            return arch_fault(ARCH_UD);
        *number += 2;
    }
    ARCH_TRY(arch_require_cpl0(state));
    if (state->dr[7] & DR7_GD) {
        state->dr[6] |= DR6_BD;
        return arch_fault(ARCH_DB);
    }
    return ARCH_NO_FAULT;
}

struct arch_fault arch_mov_to_dr(const struct arch_cpu *cpu, unsigned number, uint64_t value)
{
    ARCH_TRY(check_dr(cpu->state, &number));
    if (number >= 6 && (value & BITS(63, 32)))
        return arch_fault_error(ARCH_GP, 0);
    if (number == 6) /* reserved bits read as 1 or 0 (SDM figure 18-1) */
        value = (value & 0xe00f) | 0xffff0ff0;
    if (number == 7)
        value = (value & 0xffff23ff) | 0x400;
    cpu->state->dr[number] = value;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_mov_from_dr(const struct arch_cpu *cpu, unsigned number, uint64_t *value)
{
    ARCH_TRY(check_dr(cpu->state, &number));
    *value = cpu->state->dr[number];
    return ARCH_NO_FAULT;
}

/* SREG:OFFSET has the limit and the base of a table: 2 and 4 bytes, in 64-bit mode 2 and 8. */
static struct arch_fault load_table(const struct arch_cpu *cpu, enum arch_sreg sreg,
                                    uint64_t offset, unsigned opsize, struct arch_table *table)
{
    bool long64 = arch_64bit_mode(cpu->state);
    uint64_t limit, base;

    ARCH_TRY(arch_require_cpl0(cpu->state));
    ARCH_TRY(arch_read(cpu, sreg, offset, 2, &limit));
    ARCH_TRY(arch_read(cpu, sreg, offset + 2, long64 ? 8 : 4, &base));
    if (long64 && !is_canonical(base, cpu->limits->linear_width))
        return arch_fault_error(ARCH_GP, 0);
    if (!long64 && opsize == 2)
        base &= BITS(23, 0);
    *table = (struct arch_table){ .base = base, .limit = (uint16_t)limit };
    return ARCH_NO_FAULT;
}

static struct arch_fault store_table(const struct arch_cpu *cpu, enum arch_sreg sreg,
                                     uint64_t offset, const struct arch_table *table)
{
    const struct arch_state *state = cpu->state;
    size_t base_size = arch_64bit_mode(state) ? 8 : 4;
    uint8_t raw[10];
    uint64_t linear;

    ARCH_TRY(check_umip(state));
    ARCH_TRY(arch_seg_linear(state, cpu->limits, sreg, offset, 2 + base_size, ARCH_WRITE, &linear));
    le_store(raw, table->limit, 2);
    le_store(raw + 2, table->base, base_size);
    return arch_linear_write(state, cpu->limits, cpu->mem, linear, raw, 2 + base_size, state->cpl);
}

struct arch_fault arch_lgdt(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset,
                            unsigned opsize)
{
    return load_table(cpu, sreg, offset, opsize, &cpu->state->gdtr);
}

struct arch_fault arch_lidt(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset,
                            unsigned opsize)
{
    return load_table(cpu, sreg, offset, opsize, &cpu->state->idtr);
}

struct arch_fault arch_sgdt(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset)
{
    return store_table(cpu, sreg, offset, &cpu->state->gdtr);
}

struct arch_fault arch_sidt(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset)
{
    return store_table(cpu, sreg, offset, &cpu->state->idtr);
}

static struct arch_fault store_selector(const struct arch_state *state, const struct arch_seg *seg,
                                        uint16_t *selector)
{
    if (arch_real_mode(state) || arch_v86_mode(state))
        return arch_fault(ARCH_UD);
    ARCH_TRY(check_umip(state));
    *selector = seg->selector;
    return ARCH_NO_FAULT;
}

struct arch_fault arch_sldt(const struct arch_cpu *cpu, uint16_t *selector)
{
    return store_selector(cpu->state, &cpu->state->ldtr, selector);
}

struct arch_fault arch_str(const struct arch_cpu *cpu, uint16_t *selector)
{
    return store_selector(cpu->state, &cpu->state->tr, selector);
}
