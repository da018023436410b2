/* SPDX-License-Identifier: MIT */
/* Delivery of interrupts and exceptions (SDM vol. 3A, chapter 6; vol. 3B, real-address
 * mode: 21.1.4; virtual-8086 mode: 21.3): through the IVT, and through interrupt, trap and task
 * gates of the IDT, with stack switch, IST and error code. */
#ifndef PTSIM_ARCH_INTERRUPT_H
#define PTSIM_ARCH_INTERRUPT_H

#include "segment.h"

/* The interruption types of the VMCS (SDM 25.8.3, table 25-17). */
enum arch_int_type {
    ARCH_INT_EXTERNAL = 0,
    ARCH_INT_NMI = 2,
    ARCH_INT_HW_EXCEPTION = 3,
    ARCH_INT_SW_INTERRUPT = 4,      /* INT n: the gate's DPL is checked, and IOPL in V86 */
    ARCH_INT_PRIV_SW_EXCEPTION = 5, /* INT1 */
    ARCH_INT_SW_EXCEPTION = 6,      /* INT3, INTO */
};

struct arch_interruption {
    enum arch_int_type type;
    uint8_t vector;
    bool has_error;
    uint32_t error;
    bool in_repeat;      /* it arrives between two iterations of a repeated string instruction */
    uint64_t return_rip; /* what is pushed: the instruction itself for a fault, the next one
                            for everything else */
};

/* The interruption that delivering FAULT means, with CR2 set in STATE for a page fault. */
struct arch_interruption arch_fault_interruption(struct arch_state *state,
                                                 const struct arch_fault *fault);

enum arch_delivery {
    ARCH_DELIVERED,
    ARCH_DELIVERY_FAULT, /* FAULT is set; STATE is as it was before, but for CR2, which a page
                            fault sets even where a double fault comes of it, and for what
                            FAULT->new_task says. The caller combines it with
                            arch_combine_faults() and delivers what that gives. */
};

/* Delivers WHAT once. On ARCH_DELIVERED state->rip is the handler's first instruction, the
 * processor is active, blocking by STI and MOV SS has ended, and after an NMI that by NMI has
 * begun. What DR6 reports of a #DB is the caller's to set before. */
enum arch_delivery arch_deliver(const struct arch_cpu *cpu, const struct arch_interruption *what,
                                struct arch_fault *fault);

/* What is delivered when SECOND is raised by the delivery of FIRST: SECOND itself, a double
 * fault, or, where .raised is false, a triple fault: shutdown (SDM tables 6-4 and 6-5). */
struct arch_fault arch_combine_faults(const struct arch_interruption *first,
                                      const struct arch_fault *second);

#endif
