/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "linux_kernel.h"

#include <string.h>

#include "../models/arch/fault.h"
#include "../models/arch/segment.h"
#include "../models/bits.h"

/* Linux's selectors (arch/x86/include/asm/segment.h of its source). SYSRET wants the user's SS 8
 * and CS 16 above IA32_STAR[63:48]. */
enum {
    KERNEL_CS = 0x10,
    KERNEL_SS = 0x18,
    USER32_CS = 0x23,
    USER_SS = 0x2b,
    USER_CS = 0x33,
    TSS_SELECTOR = 0x40,
    GDT_SIZE = 0x50,
    TSS_SIZE = 0x68,
};

/* The data page, and the stack's page above it. */
#define DATA      (LINUX_KERNEL + 0x1000)
#define GDT       DATA
#define TSS       (DATA + 0x100)
#define IDT       (DATA + 0x200)
#define STACK_TOP (DATA + 2 * AS_PAGE)

#define TSS_RSP0   0x04 /* SDM vol. 3A, figure 7-11 */
#define TSS_IOBASE 0x66

static const uint8_t sysretq[] = { 0x48, 0x0f, 0x07 };

/* RFLAGS bits that SYSCALL clears under Linux. */
#define FMASK                                                                                      \
    (RFLAGS_CF | RFLAGS_PF | RFLAGS_AF | RFLAGS_ZF | RFLAGS_SF | RFLAGS_TF | RFLAGS_IF |           \
     RFLAGS_DF | RFLAGS_OF | RFLAGS_IOPL | RFLAGS_NT | RFLAGS_RF | RFLAGS_AC | RFLAGS_ID)

static void write64(struct address_space *as, uint64_t address, uint64_t value)
{
    uint8_t bytes[8];

    le_store(bytes, value, sizeof(bytes));
    as_write(as, address, bytes, sizeof(bytes));
}

static struct arch_seg flat_segment(uint16_t selector, bool code)
{
    uint32_t type = ARCH_TYPE_ACCESSED | ARCH_TYPE_WRITABLE | (code ? ARCH_TYPE_CODE : 0);

    return (struct arch_seg){
        .selector = selector,
        .ar = type | ARCH_AR_S | (uint32_t)(selector & 3) << ARCH_AR_DPL_SHIFT | ARCH_AR_P |
              ARCH_AR_G | (code ? ARCH_AR_L : ARCH_AR_DB),
        .limit = UINT32_MAX,
    };
}

static void write_descriptor(struct address_space *as, const struct arch_seg *seg)
{
    write64(as, GDT + (seg->selector & ~7u), arch_seg_encode(seg));
}

static void setup_segments(struct address_space *as, struct arch_state *state)
{
    struct arch_seg user_cs = flat_segment(USER_CS, true);
    struct arch_seg user_ss = flat_segment(USER_SS, false);

    state->sreg[ARCH_CS] = flat_segment(KERNEL_CS, true);
    state->sreg[ARCH_SS] = flat_segment(KERNEL_SS, false);
    for (unsigned i = ARCH_DS; i <= ARCH_GS; i++)
        state->sreg[i] = (struct arch_seg){ .ar = ARCH_AR_UNUSABLE };
    state->sreg[ARCH_ES] = state->sreg[ARCH_DS];
    state->tr = (struct arch_seg){ .selector = TSS_SELECTOR,
                                   .ar = ARCH_TYPE_TSS32_BUSY | ARCH_AR_P,
                                   .base = TSS,
                                   .limit = TSS_SIZE - 1 };
    write_descriptor(as, &state->sreg[ARCH_CS]);
    write_descriptor(as, &state->sreg[ARCH_SS]);
    write_descriptor(as, &user_cs);
    write_descriptor(as, &user_ss);
    write_descriptor(as, &state->tr);
    write64(as, GDT + TSS_SELECTOR + 8, TSS >> 32);
    write64(as, TSS + TSS_RSP0, STACK_TOP);
    as_write(as, TSS + TSS_IOBASE, &(uint8_t){ TSS_SIZE }, 1); /* no I/O bitmap */
    state->gdtr = (struct arch_table){ .base = GDT, .limit = GDT_SIZE - 1 };
}

/* Interrupt gates (SDM vol. 3A, figure 6-8), which a program may enter with INT3 and INTO alone. */
static void setup_idt(struct address_space *as, struct arch_state *state)
{
    for (unsigned vector = 0; vector < LINUX_VECTORS; vector++) {
        uint64_t entry = LINUX_EXCEPTION_ENTRY(vector);
        uint64_t gate = BIT(47) | bits_put(0, 43, 40, ARCH_TYPE_INT_GATE32);

        gate = bits_put(gate, 46, 45, vector == ARCH_BP || vector == ARCH_OF ? 3 : 0);
        gate = bits_put(gate, 31, 16, KERNEL_CS);
        gate = bits_put(gate, 15, 0, entry);
        gate = bits_put(gate, 63, 48, entry >> 16);
        write64(as, IDT + 16 * vector, gate);
        write64(as, IDT + 16 * vector + 8, entry >> 32);
    }
    state->idtr = (struct arch_table){ .base = IDT, .limit = 16 * LINUX_VECTORS - 1 };
}

bool linux_kernel_setup(struct address_space *as, struct arch_state *state, uint64_t entry,
                        uint64_t rsp)
{
    if (!as_map(as, LINUX_KERNEL, AS_PAGE, AS_READ | AS_EXECUTE | AS_SUPERVISOR) ||
        !as_map(as, DATA, 2 * AS_PAGE, AS_READ | AS_WRITE | AS_SUPERVISOR))
        return false;
    as_write(as, LINUX_SYSCALL_ENTRY, sysretq, sizeof(sysretq));

    arch_setup(state, ARCH_MODE_LONG64, 0);
    state->cr0 |= CR0_MP | CR0_WP | CR0_AM;
    state->cr3 = as->cr3;
    state->cr4 |= CR4_PGE | CR4_OSFXSR | CR4_OSXMMEXCPT;
    state->efer |= EFER_SCE;
    state->star = (uint64_t)USER32_CS << 48 | (uint64_t)KERNEL_CS << 32;
    state->lstar = LINUX_SYSCALL_ENTRY;
    state->fmask = FMASK;
    setup_segments(as, state);
    setup_idt(as, state);

    memset(state->gpr, 0, sizeof(state->gpr));
    state->gpr[ARCH_RCX] = entry;
    state->gpr[ARCH_R11] = RFLAGS_FIXED1 | RFLAGS_IF;
    state->gpr[ARCH_RSP] = rsp;
    state->rip = LINUX_SYSCALL_ENTRY;
    return true;
}
