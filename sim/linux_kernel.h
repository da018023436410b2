/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a processor needs of a Linux kernel to run a program at CPL 3: code where SYSCALL and the
 * exceptions go, a stack, and the descriptor tables. The kernel's own work is done by calls that
 * machine_at() places at these addresses; only its SYSRET is code that runs. */
#ifndef PTSIM_SIM_LINUX_KERNEL_H
#define PTSIM_SIM_LINUX_KERNEL_H

#include "../models/arch/state.h"
#include "address_space.h"

#define LINUX_VECTORS                 32
/* Everything of the kernel lies from here on. */
#define LINUX_KERNEL                  UINT64_C(0xffffffff81000000)
/* IA32_LSTAR. The instruction there is SYSRET. */
#define LINUX_SYSCALL_ENTRY           LINUX_KERNEL
/* Where the IDT's gate for VECTOR goes. */
#define LINUX_EXCEPTION_ENTRY(vector) (LINUX_KERNEL + 0x100 + 0x10 * (uint64_t)(vector))

/* Maps the kernel into AS and sets STATE up as the kernel has it when it is about to return from
 * execve(): at the SYSRET, for a program that starts at ENTRY with its stack at RSP. False when out
 * of memory. */
bool linux_kernel_setup(struct address_space *as, struct arch_state *state, uint64_t entry,
                        uint64_t rsp);

#endif
