/* SPDX-License-Identifier: MIT */
/* The architectural state of one logical processor, all of it in one struct.
 *
 * The one description: the engine loads and stores it, fault delivery, SMM and
 * VMX read and write it. x87, SSE and later vector state are not here: they
 * stay in the engine. */
#ifndef PTSIM_ARCH_STATE_H
#define PTSIM_ARCH_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "../event.h"

/* General registers in encoding order (SDM vol. 2, table 3-1). */
enum arch_gpr {
    ARCH_RAX,
    ARCH_RCX,
    ARCH_RDX,
    ARCH_RBX,
    ARCH_RSP,
    ARCH_RBP,
    ARCH_RSI,
    ARCH_RDI,
    ARCH_R8,
    ARCH_R9,
    ARCH_R10,
    ARCH_R11,
    ARCH_R12,
    ARCH_R13,
    ARCH_R14,
    ARCH_R15,
    ARCH_GPRS
};

/* Segment registers in encoding order. */
enum arch_sreg {
    ARCH_ES,
    ARCH_CS,
    ARCH_SS,
    ARCH_DS,
    ARCH_FS,
    ARCH_GS,
    ARCH_SREGS
};

/* Access rights in the layout of the VMCS fields (SDM 25.4.1, table 25-2):
 * 3:0 type, 4 S, 6:5 DPL, 7 P, 12 AVL, 13 L, 14 D/B, 15 G, 16 unusable. */
enum {
    ARCH_AR_TYPE = 0xf,
    ARCH_AR_S = 1 << 4,
    ARCH_AR_DPL_SHIFT = 5,
    ARCH_AR_P = 1 << 7,
    ARCH_AR_AVL = 1 << 12,
    ARCH_AR_L = 1 << 13,
    ARCH_AR_DB = 1 << 14,
    ARCH_AR_G = 1 << 15,
    ARCH_AR_UNUSABLE = 1 << 16,
};

/* Types of code and data segments, S = 1 (SDM vol. 3A, table 3-1): bits of the type field. */
enum {
    ARCH_TYPE_ACCESSED = 1 << 0,
    ARCH_TYPE_WRITABLE = 1 << 1, /* data */
    ARCH_TYPE_READABLE = 1 << 1, /* code */
    ARCH_TYPE_DOWN = 1 << 2,     /* data: expand-down */
    ARCH_TYPE_CONFORMING = 1 << 2,
    ARCH_TYPE_CODE = 1 << 3,
};

/* Types of system segments and gates, S = 0 (SDM vol. 3A, table 3-2). In IA-32e mode only
 * those of LDT, TSS32, busy TSS32 and the 32-bit gates exist, and mean their 64-bit forms. */
enum {
    ARCH_TYPE_TSS16 = 1,
    ARCH_TYPE_LDT = 2,
    ARCH_TYPE_TSS16_BUSY = 3,
    ARCH_TYPE_CALL_GATE16 = 4,
    ARCH_TYPE_TASK_GATE = 5,
    ARCH_TYPE_INT_GATE16 = 6,
    ARCH_TYPE_TRAP_GATE16 = 7,
    ARCH_TYPE_TSS32 = 9,
    ARCH_TYPE_TSS32_BUSY = 11,
    ARCH_TYPE_CALL_GATE32 = 12,
    ARCH_TYPE_INT_GATE32 = 14,
    ARCH_TYPE_TRAP_GATE32 = 15,
    ARCH_TYPE_BUSY = 2, /* the bit that makes a TSS busy */
};

static inline unsigned arch_ar_type(uint32_t ar)
{
    return ar & ARCH_AR_TYPE;
}

static inline unsigned arch_ar_dpl(uint32_t ar)
{
    return ar >> ARCH_AR_DPL_SHIFT & 3;
}

static inline bool arch_ar_is_code(uint32_t ar)
{
    return (ar & ARCH_AR_S) && (ar & ARCH_TYPE_CODE);
}

static inline bool arch_ar_is_writable_data(uint32_t ar)
{
    return (ar & ARCH_AR_S) && !(ar & ARCH_TYPE_CODE) && (ar & ARCH_TYPE_WRITABLE);
}

/* A segment register with its hidden part. limit is in bytes, already scaled by G. */
struct arch_seg {
    uint16_t selector;
    uint32_t ar;
    uint32_t limit;
    uint64_t base;
};

/* GDTR and IDTR. */
struct arch_table {
    uint64_t base;
    uint16_t limit;
};

enum arch_activity {
    ARCH_ACTIVE,
    ARCH_HLT,
    ARCH_MWAIT, /* asleep after MWAIT, UMWAIT or TPAUSE; ARCH_ACTIVE to VMX and SMM */
    ARCH_SHUTDOWN,
    ARCH_WAIT_FOR_SIPI,
};

struct arch_state {
    uint64_t gpr[ARCH_GPRS];
    uint64_t rip; /* an offset in CS, not a linear address */
    uint64_t rflags;
    struct arch_seg sreg[ARCH_SREGS];
    struct arch_seg ldtr;
    struct arch_seg tr;
    struct arch_table gdtr;
    struct arch_table idtr;
    uint64_t cr0;
    uint64_t cr2;
    uint64_t cr3;
    uint64_t cr4;
    uint64_t cr8;
    uint64_t pdpte[4]; /* the PDPTE registers of PAE paging (SDM 4.4.1) */
    uint64_t dr[8];
    uint64_t efer;
    uint64_t star;
    uint64_t lstar;
    uint64_t cstar;
    uint64_t fmask;
    uint64_t kernel_gs_base;
    uint64_t sysenter_cs;
    uint64_t sysenter_esp;
    uint64_t sysenter_eip;
    uint64_t tsc_aux;
    uint64_t pat;
    uint64_t xcr0;
    uint8_t cpl;
    enum arch_activity activity;
    bool blocking_by_sti;
    bool blocking_by_mov_ss;
    bool blocking_by_nmi;
};

enum {
    RFLAGS_CF = 1 << 0,
    RFLAGS_FIXED1 = 1 << 1,
    RFLAGS_PF = 1 << 2,
    RFLAGS_AF = 1 << 4,
    RFLAGS_ZF = 1 << 6,
    RFLAGS_SF = 1 << 7,
    RFLAGS_TF = 1 << 8,
    RFLAGS_IF = 1 << 9,
    RFLAGS_DF = 1 << 10,
    RFLAGS_OF = 1 << 11,
    RFLAGS_IOPL = 3 << 12,
    RFLAGS_NT = 1 << 14,
    RFLAGS_RF = 1 << 16,
    RFLAGS_VM = 1 << 17,
    RFLAGS_AC = 1 << 18,
    RFLAGS_VIF = 1 << 19,
    RFLAGS_VIP = 1 << 20,
    RFLAGS_ID = 1 << 21,
};

#define CR0_PE (UINT64_C(1) << 0)
#define CR0_MP (UINT64_C(1) << 1)
#define CR0_EM (UINT64_C(1) << 2)
#define CR0_TS (UINT64_C(1) << 3)
#define CR0_ET (UINT64_C(1) << 4)
#define CR0_NE (UINT64_C(1) << 5)
#define CR0_WP (UINT64_C(1) << 16)
#define CR0_AM (UINT64_C(1) << 18)
#define CR0_NW (UINT64_C(1) << 29)
#define CR0_CD (UINT64_C(1) << 30)
#define CR0_PG (UINT64_C(1) << 31)

#define CR4_VME        (UINT64_C(1) << 0)
#define CR4_PVI        (UINT64_C(1) << 1)
#define CR4_TSD        (UINT64_C(1) << 2)
#define CR4_DE         (UINT64_C(1) << 3)
#define CR4_PSE        (UINT64_C(1) << 4)
#define CR4_PAE        (UINT64_C(1) << 5)
#define CR4_MCE        (UINT64_C(1) << 6)
#define CR4_PGE        (UINT64_C(1) << 7)
#define CR4_PCE        (UINT64_C(1) << 8)
#define CR4_OSFXSR     (UINT64_C(1) << 9)
#define CR4_OSXMMEXCPT (UINT64_C(1) << 10)
#define CR4_UMIP       (UINT64_C(1) << 11)
#define CR4_LA57       (UINT64_C(1) << 12)
#define CR4_VMXE       (UINT64_C(1) << 13)
#define CR4_SMXE       (UINT64_C(1) << 14)
#define CR4_FSGSBASE   (UINT64_C(1) << 16)
#define CR4_PCIDE      (UINT64_C(1) << 17)
#define CR4_OSXSAVE    (UINT64_C(1) << 18)
#define CR4_SMEP       (UINT64_C(1) << 20)
#define CR4_SMAP       (UINT64_C(1) << 21)

#define EFER_SCE (UINT64_C(1) << 0)
#define EFER_LME (UINT64_C(1) << 8)
#define EFER_LMA (UINT64_C(1) << 10)
#define EFER_NXE (UINT64_C(1) << 11)

#define DR6_BD (UINT64_C(1) << 13)
#define DR6_BS (UINT64_C(1) << 14)
#define DR6_BT (UINT64_C(1) << 15)
#define DR7_GD (UINT64_C(1) << 13)

/* The state that RESET leaves (SDM vol. 3A, table 10-1). EDX, which then has the processor's
 * signature, is the caller's to set. */
void arch_reset(struct arch_state *state);
/* What INIT leaves of STATE (SDM vol. 3A, 9.1.1, table 9-1): MSRs and the caching bits of CR0 stay;
 * SIGNATURE is CPUID.01H:EAX, which goes to EDX. */
void arch_init(struct arch_state *state, uint32_t signature);

enum arch_mode {
    ARCH_MODE_REAL,
    ARCH_MODE_V86,
    ARCH_MODE_PROT16,
    ARCH_MODE_PROT32,
    ARCH_MODE_COMPAT, /* 32-bit code in IA-32e mode */
    ARCH_MODE_LONG64,
    ARCH_MODES
};

/* A state from which code can run in MODE at privilege level CPL, as software that set the
 * processor up would have left it after reset: flat segments (in real and virtual-8086 mode: base
 * 0, limit FFFFH), interrupts masked, RIP and RSP 0. CPL counts only in protected and IA-32e mode.
 * Paging is on in IA-32e mode alone (4-level, NX), and off elsewhere. Left to the caller: CR3,
 * GDTR, IDTR, LDTR, TR, RIP, RSP. Selectors, where there are any, are ARCH_FLAT_CODE(cpl) in CS and
 * ARCH_FLAT_DATA(cpl) in the others; arch_seg_encode() of the registers gives the descriptors for a
 * GDT that agrees. */
void arch_setup(struct arch_state *state, enum arch_mode mode, uint8_t cpl);

#define ARCH_FLAT_CODE(cpl) ((uint16_t)(0x08 + 0x10 * (cpl) + (cpl)))
#define ARCH_FLAT_DATA(cpl) ((uint16_t)(0x10 + 0x10 * (cpl) + (cpl)))

/* What tracing looks at, taken from STATE. */
struct ev_context arch_context(const struct arch_state *state);

static inline bool arch_real_mode(const struct arch_state *state)
{
    return !(state->cr0 & CR0_PE);
}

static inline bool arch_v86_mode(const struct arch_state *state)
{
    return (state->cr0 & CR0_PE) && (state->rflags & RFLAGS_VM);
}

/* IA-32e mode: 64-bit or compatibility mode. */
static inline bool arch_long_mode(const struct arch_state *state)
{
    return state->efer & EFER_LMA;
}

static inline bool arch_64bit_mode(const struct arch_state *state)
{
    return arch_long_mode(state) && (state->sreg[ARCH_CS].ar & ARCH_AR_L);
}

/* The size of code in CS, in bits: 16, 32 or 64. */
static inline unsigned arch_code_bits(const struct arch_state *state)
{
    if (arch_64bit_mode(state))
        return 64;
    return state->sreg[ARCH_CS].ar & ARCH_AR_DB ? 32 : 16;
}

/* The width of canonical addresses in the paging mode in use: 57 with 5-level paging, else 48. */
static inline unsigned arch_linear_bits(const struct arch_state *state)
{
    return state->cr4 & CR4_LA57 ? 57 : 48;
}

/* The linear address of the instruction at offset RIP in CS. */
static inline uint64_t arch_linear_ip(const struct arch_state *state, uint64_t rip)
{
    if (arch_64bit_mode(state))
        return rip;
    return (uint32_t)(state->sreg[ARCH_CS].base + rip);
}

#endif
