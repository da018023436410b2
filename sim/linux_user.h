/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Linux program in user mode on a machine. Its kernel is linux_kernel.h; the system calls of
 * syscalls.def are answered here, those on files by the host.
 *
 * What the program sees is the same on every host and in every run: addresses, AT_RANDOM and
 * getrandom() are fixed, its clocks are the machine's TSC, and its ids are LINUX_PID and LINUX_UID.
 * Only what it is given differs: arguments, environment, files and standard input. */
#ifndef PTSIM_SIM_LINUX_USER_H
#define PTSIM_SIM_LINUX_USER_H

#include <stdbool.h>

#include "elf.h"
#include "machine.h"

#define LINUX_PID       1000
#define LINUX_UID       1000
/* The time of day, in seconds since 1970, when the TSC is 0: 2024-01-01. */
#define LINUX_BOOT_TIME 1704067200

/* All of the stack is mapped from the start. */
#define LINUX_STACK_SIZE (UINT64_C(8) << 20)

/* The guest memory that a program and its page tables can have. */
#define LINUX_MEMORY (UINT64_C(4) << 30)

struct linux_program {
    const char *path;
    const struct elf *elf;
    char *const *argv;
    char *const *envp;
};

enum linux_end {
    LINUX_EXITED, /* status is what it passed to exit() */
    LINUX_KILLED, /* status is the signal */
    LINUX_STUCK,  /* it cannot go on here: not a fault of its own */
};

struct linux_result {
    enum linux_end end;
    int status;
    char message[256]; /* why, for LINUX_KILLED and LINUX_STUCK; a line without its end, or "" */
};

struct linux_user;

/* Loads PROGRAM into MACHINE, which is new, has LINUX_MEMORY bytes and must outlive what this
 * returns, and leaves it in the kernel, about to return to the program's first instruction. NULL on
 * an error; ERROR then holds one line of what was wrong. */
struct linux_user *linux_user_new(struct machine *machine, const struct linux_program *program,
                                  char *error, size_t error_size);
void linux_user_free(struct linux_user *user);

/* Takes COUNT page frames that lie side by side from the program's memory; 0 where there are no
 * more, else the physical address of the first. */
uint64_t linux_user_frames(struct linux_user *user, uint64_t count);

/* Calls FN with each range of pages that the program may execute now, in ascending order, and what
 * they hold. False as soon as FN returns false or memory runs out. */
typedef bool linux_code_fn(void *ctx, uint64_t address, const void *code, size_t size);
bool linux_user_code(struct linux_user *user, linux_code_fn *fn, void *ctx);

/* Runs the program to its end. */
struct linux_result linux_user_run(struct linux_user *user);

#endif
