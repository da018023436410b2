/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PTSIM_SIM_LINUX_STACK_H
#define PTSIM_SIM_LINUX_STACK_H

#include "linux_user.h"

/* Makes the stack that PROGRAM starts with, at the top of the user addresses. The stack pointer; 0
 * when out of memory, or where arguments and environment take more than a quarter of the stack. */
uint64_t linux_stack_setup(struct linux_user *user, const struct linux_program *program);

#endif
