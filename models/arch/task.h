/* SPDX-License-Identifier: MIT */
/* Task switches (SDM vol. 3A, chapter 8). For the files of this folder. */
#ifndef PTSIM_ARCH_TASK_H
#define PTSIM_ARCH_TASK_H

#include "descriptor.h"

enum arch_task_source {
    ARCH_TASK_JMP,
    ARCH_TASK_CALL,
    ARCH_TASK_IRET,
    ARCH_TASK_EVENT, /* an interrupt or exception through a task gate of the IDT */
};

struct arch_task {
    enum arch_task_source source;
    unsigned ext;
    uint64_t rip;    /* what the old task's TSS gets as EIP */
    uint64_t rflags; /* and as EFLAGS, but for NT */
    bool has_error;  /* push ERROR on the new task's stack */
    uint32_t error;
};

/* Switches to the task of the TSS that SELECTOR names, the privilege having been checked. A
 * fault of steps 1 to 8 (SDM 8.3) leaves the state as it was. Later ones, and the #DB of the TSS's
 * T flag, are raised in the new task: its state is loaded as far as that went, and RIP is
 * where it begins. */
struct arch_fault arch_task_switch(const struct arch_cpu *cpu, uint16_t selector,
                                   const struct arch_task *how);

#endif
