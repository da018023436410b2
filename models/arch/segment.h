/* SPDX-License-Identifier: MIT */
/* Segment registers: descriptors, loads and the checks on accesses through them
 * (SDM vol. 3A, chapters 3 and 5). */
#ifndef PTSIM_ARCH_SEGMENT_H
#define PTSIM_ARCH_SEGMENT_H

#include "paging.h"

/* The hidden part that an 8-byte descriptor describes. BASE_HIGH is bits 63:32 of the base
 * from a 16-byte system descriptor, else 0. */
struct arch_seg arch_seg_decode(uint16_t selector, uint64_t descriptor, uint32_t base_high);

/* The descriptor that decodes to SEG: arch_seg_decode() undone. */
uint64_t arch_seg_encode(const struct arch_seg *seg);

/* MOV to SREG, POP SREG, LDS and the like, in every mode; not CS. */
struct arch_fault arch_load_sreg(const struct arch_cpu *cpu, enum arch_sreg sreg,
                                 uint16_t selector);
/* LLDT and LTR. */
struct arch_fault arch_load_ldtr(const struct arch_cpu *cpu, uint16_t selector);
struct arch_fault arch_load_tr(const struct arch_cpu *cpu, uint16_t selector);

/* The linear address of SIZE bytes at OFFSET in segment SREG, after the limit, type and
 * canonical checks: #GP(0), or #SS(0) for SS. */
struct arch_fault arch_seg_linear(const struct arch_state *state, const struct arch_limits *limits,
                                  enum arch_sreg sreg, uint64_t offset, size_t size,
                                  enum arch_access access, uint64_t *linear);

/* #AC(0) where alignment checking is on and an operand of SIZE bytes (1, 2, 4 or 8) at LINEAR is
 * not aligned (SDM vol. 3A, 6.15, interrupt 17). A page fault comes before it. */
struct arch_fault arch_check_alignment(const struct arch_state *state, uint64_t linear,
                                       size_t size);

/* Reads or writes SIZE (1 to 8) bytes at SREG:OFFSET at the current CPL, with the alignment that
 * an operand of that size has. */
struct arch_fault arch_read(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset,
                            size_t size, uint64_t *value);
struct arch_fault arch_write(const struct arch_cpu *cpu, enum arch_sreg sreg, uint64_t offset,
                             size_t size, uint64_t value);

#endif
