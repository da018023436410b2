/* SPDX-License-Identifier: MIT */
/* Descriptors in the GDT and LDT (SDM vol. 3A, 3.4.5, 3.5, 5.8.3): fetched for a selector, and
 * marked accessed or busy. For the files of this folder. */
#ifndef PTSIM_ARCH_DESCRIPTOR_H
#define PTSIM_ARCH_DESCRIPTOR_H

#include "../bits.h"
#include "segment.h"

struct arch_descriptor {
    uint16_t selector;
    struct arch_seg seg; /* what it decodes to as a segment */
    uint64_t linear;     /* where it lies */
    uint64_t low;        /* its first eight bytes */
    uint64_t high;       /* the other eight of a 16-byte one, else 0 */
};

static inline bool arch_selector_null(uint16_t selector)
{
    return !(selector & 0xfffc);
}

static inline unsigned arch_selector_rpl(uint16_t selector)
{
    return selector & 3;
}

/* SELECTOR refers to the LDT. */
static inline bool arch_selector_ti(uint16_t selector)
{
    return selector & 4;
}

/* The fault VECTOR that names SELECTOR; EXT is 1 while an external event is delivered
 * (SDM 6.13). */
static inline struct arch_fault arch_selector_fault(enum arch_vector vector, uint16_t selector,
                                                    unsigned ext)
{
    return arch_fault_error(vector, (selector & 0xfffcu) | ext);
}

/* A call, interrupt, trap or task gate (SDM vol. 3A, figures 5-8, 6-2, 6-8 and 8-6). */
struct arch_gate {
    unsigned type;
    unsigned dpl;
    bool present;
    uint16_t selector;
    uint64_t offset; /* as wide as the type has it */
    unsigned params; /* of a call gate, in its own operand size */
    unsigned ist;    /* of an IDT gate in IA-32e mode */
};

/* The gate whose bytes are LOW and, in IA-32e mode, HIGH, else 0. */
struct arch_gate arch_gate_decode(uint64_t low, uint64_t high);

/* Reads the descriptor of SELECTOR, which is not null, from the GDT or LDT: 16 bytes for a
 * system descriptor in IA-32e mode. Fault VECTOR where it lies outside the table, and for a
 * second half of a type other than 0. */
struct arch_fault arch_descriptor_read(const struct arch_cpu *cpu, uint16_t selector,
                                       enum arch_vector vector, unsigned ext,
                                       struct arch_descriptor *out);

/* Sets (or clears) TYPE_BITS in the type of DESC, in memory and in the copy. */
struct arch_fault arch_descriptor_set(const struct arch_cpu *cpu, struct arch_descriptor *desc,
                                      unsigned type_bits);
struct arch_fault arch_descriptor_clear(const struct arch_cpu *cpu, struct arch_descriptor *desc,
                                        unsigned type_bits);

/* Marks the code or data segment DESC accessed, in memory. Whoever loads it does so last, when
 * nothing else can fault. */
static inline struct arch_fault arch_mark_accessed(const struct arch_cpu *cpu,
                                                   struct arch_descriptor *desc)
{
    return arch_descriptor_set(cpu, desc, ARCH_TYPE_ACCESSED);
}

/* The checks on loading SS (SDM vol. 2, MOV) for code that will run at CPL: VECTOR, or #SS where
 * the segment is not present. */
struct arch_fault arch_check_stack_segment(const struct arch_descriptor *desc, unsigned cpl,
                                           enum arch_vector vector, unsigned ext);
/* The checks on loading DS, ES, FS or GS: VECTOR, or #NP. */
struct arch_fault arch_check_data_segment(const struct arch_descriptor *desc, unsigned cpl,
                                          enum arch_vector vector, unsigned ext);
/* The null SELECTOR in SREG, unchecked: unusable, base 0. SS keeps CPL as its DPL. */
void arch_seg_load_null(struct arch_state *state, enum arch_sreg sreg, uint16_t selector);

/* Reads and writes at LINEAR that the processor makes for itself: to descriptor tables
 * and TSSs. */
struct arch_fault arch_system_read(const struct arch_cpu *cpu, uint64_t linear, size_t size,
                                   uint64_t *value);
struct arch_fault arch_system_write(const struct arch_cpu *cpu, uint64_t linear, size_t size,
                                    uint64_t value);

#endif
