/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the Linux layer: the process, and what its system calls are made of. */
#ifndef PTSIM_SIM_SYSCALLS_H
#define PTSIM_SIM_SYSCALLS_H

#include "address_space.h"
#include "linux_user.h"

#define LINUX_FDS     256
#define LINUX_SIGNALS 64

/* struct sigaction of the kernel: handler, flags, restorer, mask. */
struct linux_sigaction {
    uint64_t handler; /* LINUX_SIG_DFL, LINUX_SIG_IGN or an address */
    uint64_t flags;
    uint64_t restorer;
    uint64_t mask;
};

#define LINUX_SIG_DFL 0
#define LINUX_SIG_IGN 1

struct linux_user {
    struct machine *machine;
    struct lp *lp;
    struct address_space as;
    struct linux_result result; /* valid once ended */
    bool ended;

    uint64_t brk_start;
    uint64_t brk;
    uint64_t mmap_floor; /* below it no mapping was placed yet */

    char *exe;         /* the program's absolute path */
    int fd[LINUX_FDS]; /* the host's descriptor for each of the program's, or -1 */
    uint64_t random;   /* what random bytes come from */
    struct linux_sigaction action[LINUX_SIGNALS + 1];
    uint64_t signal_mask;
};

/* A system call: its result or -errno, in the numbers of Linux. */
#define SYSCALL(number, name)                                                                      \
    int64_t syscall_##name(struct linux_user *user, const uint64_t arg[6]);
#define UNPROVIDED(number, name)
#include "syscalls.def"
#undef SYSCALL
#undef UNPROVIDED

/* Answers the system call that the state of the machine's registers makes. */
void syscall_dispatch(struct linux_user *user);

/* The program's memory, with its own rights: false, which is EFAULT, where a byte is out of reach.
 * What comes before that byte may have been written. */
bool user_read(struct linux_user *user, uint64_t address, void *buf, size_t size);
bool user_write(struct linux_user *user, uint64_t address, const void *buf, size_t size);
/* A string of the program: its length, -EFAULT, or -ENAMETOOLONG where it does not fit in SIZE. */
int64_t user_string(struct linux_user *user, uint64_t address, char *buf, size_t size);

/* VALUE, or -errno where it is negative: what a call of the host gives. */
int64_t linux_status(int64_t value);
/* The host's descriptor for the program's FD; -1 where it has none. */
int linux_host_fd(const struct linux_user *user, uint64_t fd);
/* Gives HOST, a descriptor of the host or -1 with errno, the program's lowest free one from FROM
 * on. Closes it where there is none. */
int64_t linux_new_fd(struct linux_user *user, int host, uint64_t from);
/* The host's flags for open() from Linux's. */
int linux_open_flags(uint64_t flags);

/* The program is over; the machine stops after the call that says so. */
void linux_exit(struct linux_user *user, int status);
/* SIGNAL arrives, for the reason that the format tells. What the program asked to be done about it
 * is done: nothing, or the end. A handler cannot be run here. */
__attribute__((format(printf, 3, 4))) void linux_signal(struct linux_user *user, int signal,
                                                        const char *format, ...);
__attribute__((format(printf, 2, 3))) void linux_stuck(struct linux_user *user, const char *format,
                                                       ...);

/* The next 8 of the program's random bytes. */
uint64_t linux_random(struct linux_user *user);

/* Nanoseconds since the TSC was 0. */
uint64_t linux_nanoseconds(const struct linux_user *user);

#endif
