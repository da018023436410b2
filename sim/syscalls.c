/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syscalls.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t (*call)(struct linux_user *user, const uint64_t arg[6]); /* NULL: not provided */
} calls[] = {
#define SYSCALL(number, name)    [number] = { #name, syscall_##name },
#define UNPROVIDED(number, name) [number] = { #name, NULL },
#include "syscalls.def"
#undef SYSCALL
#undef UNPROVIDED
};

void syscall_dispatch(struct linux_user *user)
{
    uint64_t *gpr = user->lp->arch.gpr;
    const uint64_t arg[6] = { gpr[ARCH_RDI], gpr[ARCH_RSI], gpr[ARCH_RDX],
                              gpr[ARCH_R10], gpr[ARCH_R8],  gpr[ARCH_R9] };
    uint64_t number = gpr[ARCH_RAX];

    if (number >= sizeof(calls) / sizeof(calls[0]) || !calls[number].name)
        gpr[ARCH_RAX] = (uint64_t)-ENOSYS;
    else if (calls[number].call)
        gpr[ARCH_RAX] = (uint64_t)calls[number].call(user, arg);
    else
        linux_stuck(user, "system call %u (%s) is not provided", (unsigned)number,
                    calls[number].name);
}

bool user_read(struct linux_user *user, uint64_t address, void *buf, size_t size)
{
    struct lp *lp = user->lp;

    return !arch_linear_read(&lp->arch, &lp->limits, &lp->mem, address, buf, size, 3).raised;
}

bool user_write(struct linux_user *user, uint64_t address, const void *buf, size_t size)
{
    struct lp *lp = user->lp;

    return !arch_linear_write(&lp->arch, &lp->limits, &lp->mem, address, buf, size, 3).raised;
}

int64_t user_string(struct linux_user *user, uint64_t address, char *buf, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!user_read(user, address + i, &buf[i], 1))
            return -EFAULT;
        if (!buf[i])
            return (int64_t)i;
    }
    return -ENAMETOOLONG;
}

static void end(struct linux_user *user, enum linux_end how, int status)
{
    user->result.end = how;
    user->result.status = status;
    user->ended = true;
    machine_stop(user->machine);
}

void linux_exit(struct linux_user *user, int status)
{
    end(user, LINUX_EXITED, status);
}

void linux_stuck(struct linux_user *user, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(user->result.message, sizeof(user->result.message), format, args);
    va_end(args);
    end(user, LINUX_STUCK, 0);
}

/* Signals whose default is to be ignored: SIGCHLD, SIGCONT, SIGURG, SIGWINCH. */
static bool ignored_by_default(int signal)
{
    return signal == 17 || signal == 18 || signal == 23 || signal == 28;
}

void linux_signal(struct linux_user *user, int signal, const char *format, ...)
{
    uint64_t handler = user->action[signal].handler;
    char why[160];
    va_list args;

    if (handler == LINUX_SIG_IGN || (handler == LINUX_SIG_DFL && ignored_by_default(signal)))
        return;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    if (handler != LINUX_SIG_DFL) {
        linux_stuck(user, "%s; the program's handler for this signal cannot be run", why);
        return;
    }
    snprintf(user->result.message, sizeof(user->result.message), "%s", why);
    end(user, LINUX_KILLED, signal);
}

/* splitmix64: any fixed sequence would do. */
uint64_t linux_random(struct linux_user *user)
{
    uint64_t z = user->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t linux_nanoseconds(const struct linux_user *user)
{
    const struct cpu_profile *profile = user->lp->profile;
    uint64_t hz = (uint64_t)profile->crystal_hz * profile->tsc_ratio_num / profile->tsc_ratio_den;
    uint64_t tsc = clock_tsc_at(&user->lp->clock, user->lp->clock.core);

    return tsc / hz * 1000000000 + tsc % hz * 1000000000 / hz;
}
