/* SPDX-License-Identifier: MIT */
/* The far transfers that instructions make (SDM vol. 2, each instruction's
 * page; vol. 3A, 5.8 and 8.3). state->rip is the instruction itself on entry; on success it is
 * the target. A fault leaves STATE as it was, unless fault.new_task says otherwise. OPSIZE is the
 * operand size in bytes: 2, 4 or 8; NEXT_RIP the offset of the instruction that follows. */
#ifndef PTSIM_ARCH_FAR_H
#define PTSIM_ARCH_FAR_H

#include "segment.h"

/* JMP ptr16:16/32 and m16:16/32/64, through code segments, call gates and task gates. */
struct arch_fault arch_far_jmp(const struct arch_cpu *cpu, uint16_t selector, uint64_t offset,
                               unsigned opsize, uint64_t next_rip);
/* CALL, the same forms. */
struct arch_fault arch_far_call(const struct arch_cpu *cpu, uint16_t selector, uint64_t offset,
                                unsigned opsize, uint64_t next_rip);
/* RETF; RELEASE is the imm16 of CA, 0 for CB. */
struct arch_fault arch_far_ret(const struct arch_cpu *cpu, unsigned opsize, unsigned release);
/* IRET, IRETD, IRETQ, to the same or an outer privilege level, to and in virtual-8086 mode,
 * from a nested task. Unblocks NMIs, even where it faults. */
struct arch_fault arch_iret(const struct arch_cpu *cpu, unsigned opsize, uint64_t next_rip);

struct arch_fault arch_syscall(const struct arch_cpu *cpu, uint64_t next_rip);
struct arch_fault arch_sysret(const struct arch_cpu *cpu, unsigned opsize);
struct arch_fault arch_sysenter(const struct arch_cpu *cpu);
struct arch_fault arch_sysexit(const struct arch_cpu *cpu, unsigned opsize);

#endif
