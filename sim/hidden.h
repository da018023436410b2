/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state that Unicorn keeps out of its interface's reach: privilege level, code and stack
 * size, segment bases and what follows from the control registers. Only running code changes
 * it, so here is also that code: a stub, on a page of its own, that ends in the state wanted. */
#ifndef PTSIM_SIM_HIDDEN_H
#define PTSIM_SIM_HIDDEN_H

#include "../models/arch/state.h"
#include "../models/status.h"

struct hidden {
    uint64_t cr0;
    uint64_t cr4;
    uint64_t efer;
    uint64_t xcr0;
    uint32_t base[ARCH_DS + 1]; /* of ES, CS, SS and DS; 0 in 64-bit mode */
    uint16_t fs;
    uint16_t gs;
    uint8_t cpl;
    uint8_t code_bits; /* 16, 32 or 64 */
    bool stack32;      /* SS.B */
    bool v86;
};

/* The hidden part of STATE. PTSIM_INVALID: no processor can be in STATE. */
enum ptsim_status hidden_of(const struct arch_state *state, struct hidden *out);
bool hidden_equal(const struct hidden *a, const struct hidden *b);

/* Whether A and B agree in what the interface does reach, but general registers, RIP and
 * RFLAGS. */
bool near_equal(const struct arch_state *a, const struct arch_state *b);

/* The stub: one page, seen at two linear addresses. Its code runs in the last page of the
 * 64-bit linear address space, in 32-bit mode too, where no guest has code; it finds its data,
 * which no guest address can collide with as long as only the stub runs, below 4 GBytes. */
#define STUB_CODE UINT64_C(0xfffffffffffff000)
#define STUB_DATA UINT64_C(0x1000)

enum {
    STUB_SIZE = 4096,
    STUB_GDT_LIMIT = 0x37,
    STUB_SCRATCH = 0x800, /* the stub leaves the page free from here on */
};
#define STUB_GDT       (STUB_DATA + 0x100)
/* A descriptor in it of a flat data segment that every CPL may load. */
#define STUB_FLAT_DATA (STUB_GDT + 0x28)

/* Starts flat at CPL 0 at linear address ENTRY, in 64-bit mode if the state wanted has
 * EFER.LMA, else in 32-bit protected mode, with CR4.OSXSAVE set, these registers and
 * its GDT at STUB_GDT. Ends
 * at IP 0 of the wanted code segment with everything of struct hidden as wanted but CR0, CR4,
 * EFER and, but in virtual-8086 mode, FS and GS. */
struct stub {
    uint8_t page[STUB_SIZE];
    uint64_t entry;
    uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp;
};

void hidden_stub(const struct hidden *want, struct stub *out);

#endif
