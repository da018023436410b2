/* SPDX-License-Identifier: MIT */
/* An architectural fault, as a value. Functions that can fault return one;
 * where it is raised, they have changed nothing the guest can see, except what
 * the manual says happens before the fault. */
#ifndef PTSIM_ARCH_FAULT_H
#define PTSIM_ARCH_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* Vectors (SDM vol. 3A, table 6-1). */
enum arch_vector {
    ARCH_DE = 0,
    ARCH_DB = 1,
    ARCH_NMI = 2,
    ARCH_BP = 3,
    ARCH_OF = 4,
    ARCH_BR = 5,
    ARCH_UD = 6,
    ARCH_NM = 7,
    ARCH_DF = 8,
    ARCH_TS = 10,
    ARCH_NP = 11,
    ARCH_SS_FAULT = 12,
    ARCH_GP = 13,
    ARCH_PF = 14,
    ARCH_MF = 16,
    ARCH_AC = 17,
    ARCH_MC = 18,
    ARCH_XM = 19,
    ARCH_VE = 20,
    ARCH_CP = 21,
};

struct arch_fault {
    bool raised;
    bool new_task; /* raised by a task switch after it had left the old task: the state has
                      changed, and RIP is where the new task begins */
    uint8_t vector;
    bool has_error;
    uint32_t error;
    uint64_t address; /* of a page fault: what CR2 gets on delivery */
};

#define ARCH_NO_FAULT ((struct arch_fault){ .raised = false })

/* A fault without an error code. */
static inline struct arch_fault arch_fault(enum arch_vector vector)
{
    return (struct arch_fault){ .raised = true, .vector = (uint8_t)vector };
}

/* A fault with one. */
static inline struct arch_fault arch_fault_error(enum arch_vector vector, uint32_t error)
{
    return (struct arch_fault){
        .raised = true, .vector = (uint8_t)vector, .has_error = true, .error = error
    };
}

static inline struct arch_fault arch_page_fault(uint64_t address, uint32_t error)
{
    return (struct arch_fault){
        .raised = true, .vector = ARCH_PF, .has_error = true, .error = error, .address = address
    };
}

/* Hands the fault of EXPR, if it raised one, on to the caller. */
#define ARCH_TRY(expr)                                                                             \
    do {                                                                                           \
        struct arch_fault arch_try_ = (expr);                                                      \
        if (arch_try_.raised)                                                                      \
            return arch_try_;                                                                      \
    } while (0)

#endif
