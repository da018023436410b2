/* SPDX-License-Identifier: MIT */
/* The instructions that change or show system state without a transfer (SDM vol. 2, each
 * instruction's page; vol. 3A, chapter 2). Each does all of its instruction but the advance of RIP;
 * a fault has changed nothing, except where it says so. Operands are those of the instruction,
 * zero-extended where they have fewer than 64 bits. */
#ifndef PTSIM_ARCH_CONTROL_H
#define PTSIM_ARCH_CONTROL_H

#include "segment.h"

/* #GP(0) unless CPL is 0: all of INVLPG, INVD, WBINVD, RDMSR, WRMSR and others that asks no more.
 */
struct arch_fault arch_require_cpl0(const struct arch_state *state);

/* Control registers. MOV to CR0 enters and leaves IA-32e mode (SDM 10.8.5): EFER.LMA follows
 * CR0.PG where EFER.LME is set. With PAE paging, MOV to CR0, CR3 and CR4 load the PDPTE registers
 * (4.4.1). */
struct arch_fault arch_mov_to_cr0(const struct arch_cpu *cpu, uint64_t value);
struct arch_fault arch_mov_to_cr3(const struct arch_cpu *cpu, uint64_t value);
struct arch_fault arch_mov_to_cr4(const struct arch_cpu *cpu, uint64_t value);
struct arch_fault arch_mov_to_cr8(const struct arch_cpu *cpu, uint64_t value);
/* By number, 0 to 15: #UD for one that there is not. */
struct arch_fault arch_mov_to_cr(const struct arch_cpu *cpu, unsigned number, uint64_t value);
struct arch_fault arch_mov_from_cr(const struct arch_cpu *cpu, unsigned number, uint64_t *value);
struct arch_fault arch_lmsw(const struct arch_cpu *cpu, uint16_t value);
struct arch_fault arch_smsw(const struct arch_cpu *cpu, uint64_t *value);
struct arch_fault arch_clts(const struct arch_cpu *cpu);

/* The bits of CR4 that this processor has. */
uint64_t arch_cr4_bits(const struct arch_limits *limits);

/* Debug registers by number, 0 to 15. With DR7.GD set the #DB has set DR6.BD. */
struct arch_fault arch_mov_to_dr(const struct arch_cpu *cpu, unsigned number, uint64_t value);
struct arch_fault arch_mov_from_dr(const struct arch_cpu *cpu, unsigned number, uint64_t *value);

/* Descriptor-table registers, from and to memory at SREG:OFFSET. LLDT and LTR are in segment.h. */
struct arch_fault arch_lgdt(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset,
                            unsigned opsize);
struct arch_fault arch_lidt(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset,
                            unsigned opsize);
struct arch_fault arch_sgdt(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset);
struct arch_fault arch_sidt(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset);
struct arch_fault arch_sldt(const struct arch_cpu *cpu, uint16_t *selector);
struct arch_fault arch_str(const struct arch_cpu *cpu, uint16_t *selector);

/* Flags. STI begins blocking_by_sti where IF was clear; the caller ends it after the next
 * instruction. */
struct arch_fault arch_cli(const struct arch_cpu *cpu);
struct arch_fault arch_sti(const struct arch_cpu *cpu);
struct arch_fault arch_pushf(const struct arch_cpu *cpu, unsigned opsize);
struct arch_fault arch_popf(const struct arch_cpu *cpu, unsigned opsize);

struct arch_fault arch_swapgs(const struct arch_cpu *cpu);
/* HLT: the activity state becomes HLT. */
struct arch_fault arch_hlt(const struct arch_cpu *cpu);
/* RDTSC and RDTSCP: #GP(0) where CR4.TSD keeps them to CPL 0; RDPMC: unless CR4.PCE opens it. */
struct arch_fault arch_check_rdtsc(const struct arch_state *state);
struct arch_fault arch_check_rdpmc(const struct arch_state *state);
/* IN, OUT, INS and OUTS of SIZE bytes (1, 2 or 4) at PORT: #GP(0) where neither IOPL nor the I/O
 * permission bitmap of the TSS allows it (SDM vol. 1, 19.5). */
struct arch_fault arch_io_allowed(const struct arch_cpu *cpu, uint16_t port, unsigned size);

#endif
