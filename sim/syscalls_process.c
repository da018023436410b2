/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls on the process itself, its signals and its clocks. */
#include <errno.h>
#include <string.h>

#include "syscalls.h"

#define NANOSECONDS UINT64_C(1000000000)

int64_t syscall_exit(struct linux_user *user, const uint64_t arg[6])
{
    linux_exit(user, (int)(arg[0] & 0xff));
    return 0;
}

int64_t syscall_exit_group(struct linux_user *user, const uint64_t arg[6])
{
    return syscall_exit(user, arg);
}

int64_t syscall_arch_prctl(struct linux_user *user, const uint64_t arg[6])
{
    struct arch_state *state = &user->lp->arch;
    uint64_t base = arg[1];
    uint8_t bytes[8];

    switch (arg[0]) {
    case 0x1001: /* ARCH_SET_GS */
    case 0x1002: /* ARCH_SET_FS */
        if (base >= AS_USER_END)
            return -EPERM;
        state->sreg[arg[0] == 0x1002 ? ARCH_FS : ARCH_GS].base = base;
        return 0;
    case 0x1003: /* ARCH_GET_FS */
    case 0x1004: /* ARCH_GET_GS */
        le_store(bytes, state->sreg[arg[0] == 0x1003 ? ARCH_FS : ARCH_GS].base, 8);
        return user_write(user, arg[1], bytes, sizeof(bytes)) ? 0 : -EFAULT;
    default:
        return -EINVAL;
    }
}

int64_t syscall_prctl(struct linux_user *user, const uint64_t arg[6])
{
    (void)user;
    return arg[0] == 15 /* PR_SET_NAME */ ? 0 : -EINVAL;
}

/* The only thread there is. */
int64_t syscall_set_tid_address(struct linux_user *user, const uint64_t arg[6])
{
    (void)user;
    (void)arg;
    return LINUX_PID;
}

int64_t syscall_set_robust_list(struct linux_user *user, const uint64_t arg[6])
{
    (void)user;
    return arg[1] == 24 ? 0 : -EINVAL;
}

/* struct rseq begins with cpu_id_start and cpu_id: the program stays on processor 0. */
int64_t syscall_rseq(struct linux_user *user, const uint64_t arg[6])
{
    static const uint8_t cpu0[8];

    return arg[2] & 1 || user_write(user, arg[0], cpu0, sizeof(cpu0)) ? 0 : -EFAULT;
}

/* Nobody waits: there is one thread. */
int64_t syscall_futex(struct linux_user *user, const uint64_t arg[6])
{
    if ((arg[1] & 0x7f) != 1) /* FUTEX_WAKE */
        linux_stuck(user, "futex() operation %u would wait for another thread, and there is none",
                    (unsigned)(arg[1] & 0x7f));
    return 0;
}

int64_t syscall_sched_yield(struct linux_user *user, const uint64_t arg[6])
{
    (void)user;
    (void)arg;
    return 0;
}

#define ID(name, value)                                                                            \
    int64_t syscall_##name(struct linux_user *user, const uint64_t arg[6])                         \
    {                                                                                              \
        (void)user;                                                                                \
        (void)arg;                                                                                 \
        return value;                                                                              \
    }
ID(getpid, LINUX_PID)
ID(gettid, LINUX_PID)
ID(getpgrp, LINUX_PID)
ID(getppid, LINUX_PID - 1)
ID(getuid, LINUX_UID)
ID(geteuid, LINUX_UID)
ID(getgid, LINUX_UID)
ID(getegid, LINUX_UID)

static int64_t set_id(const uint64_t arg[6])
{
    return arg[0] == LINUX_UID ? 0 : -EPERM;
}

int64_t syscall_setuid(struct linux_user *user, const uint64_t arg[6])
{
    (void)user;
    return set_id(arg);
}

int64_t syscall_setgid(struct linux_user *user, const uint64_t arg[6])
{
    (void)user;
    return set_id(arg);
}

/* RLIMIT_STACK, with the size that the stack has; all others are unlimited, and stay. */
int64_t syscall_prlimit64(struct linux_user *user, const uint64_t arg[6])
{
    uint8_t limit[16];

    if (arg[0] != 0 && arg[0] != LINUX_PID)
        return -ESRCH;
    if (arg[1] > 15)
        return -EINVAL;
    le_store(limit, arg[1] == 3 ? LINUX_STACK_SIZE : UINT64_MAX, 8);
    le_store(limit + 8, UINT64_MAX, 8);
    return !arg[3] || user_write(user, arg[3], limit, sizeof(limit)) ? 0 : -EFAULT;
}

int64_t syscall_getrandom(struct linux_user *user, const uint64_t arg[6])
{
    uint64_t size = arg[1] < 256 ? arg[1] : 256;

    for (uint64_t done = 0; done < size; done += 8) {
        uint8_t bytes[8];

        le_store(bytes, linux_random(user), 8);
        if (!user_write(user, arg[0] + done, bytes, size - done < 8 ? (size_t)(size - done) : 8))
            return -EFAULT;
    }
    return (int64_t)size;
}

int64_t syscall_uname(struct linux_user *user, const uint64_t arg[6])
{
    /* sysname, nodename, release, version, machine, domainname */
    static const char utsname[6][65] = { "Linux", "ptsim", "6.1.0", "#1 SMP", "x86_64", "(none)" };

    return user_write(user, arg[0], utsname, sizeof(utsname)) ? 0 : -EFAULT;
}

/* struct sysinfo (include/uapi/linux/sysinfo.h of Linux): uptime, total and free memory, processes
 * and the unit of memory. */
int64_t syscall_sysinfo(struct linux_user *user, const uint64_t arg[6])
{
    uint8_t info[112] = { 0 };

    le_store(info, linux_nanoseconds(user) / NANOSECONDS, 8);
    le_store(info + 32, LINUX_MEMORY, 8);
    le_store(info + 40, LINUX_MEMORY / 2, 8);
    le_store(info + 80, 1, 2);
    le_store(info + 104, 1, 4);
    return user_write(user, arg[0], info, sizeof(info)) ? 0 : -EFAULT;
}

/*
 * Signals
 */

int64_t syscall_rt_sigaction(struct linux_user *user, const uint64_t arg[6])
{
    uint64_t number = arg[0];
    struct linux_sigaction *action;
    uint8_t bytes[32];

    if (number < 1 || number > LINUX_SIGNALS || arg[3] != 8 ||
        (arg[1] && (number == 9 || number == 19)))
        return -EINVAL;
    action = &user->action[number];
    if (arg[2]) {
        le_store(bytes, action->handler, 8);
        le_store(bytes + 8, action->flags, 8);
        le_store(bytes + 16, action->restorer, 8);
        le_store(bytes + 24, action->mask, 8);
        if (!user_write(user, arg[2], bytes, sizeof(bytes)))
            return -EFAULT;
    }
    if (!arg[1])
        return 0;
    if (!user_read(user, arg[1], bytes, sizeof(bytes)))
        return -EFAULT;
    *action = (struct linux_sigaction){ .handler = le_load(bytes, 8),
                                        .flags = le_load(bytes + 8, 8),
                                        .restorer = le_load(bytes + 16, 8),
                                        .mask = le_load(bytes + 24, 8) };
    return 0;
}

int64_t syscall_rt_sigprocmask(struct linux_user *user, const uint64_t arg[6])
{
    uint64_t old = user->signal_mask;
    uint8_t bytes[8];
    uint64_t set;

    if (arg[3] != 8)
        return -EINVAL;
    if (arg[1]) {
        if (!user_read(user, arg[1], bytes, sizeof(bytes)))
            return -EFAULT;
        set = le_load(bytes, 8);
        switch (arg[0]) {
        case 0: /* SIG_BLOCK */
            user->signal_mask |= set;
            break;
        case 1: /* SIG_UNBLOCK */
            user->signal_mask &= ~set;
            break;
        case 2: /* SIG_SETMASK */
            user->signal_mask = set;
            break;
        default:
            return -EINVAL;
        }
    }
    le_store(bytes, old, 8);
    return !arg[2] || user_write(user, arg[2], bytes, sizeof(bytes)) ? 0 : -EFAULT;
}

/* There are no handlers that would run on it. */
int64_t syscall_sigaltstack(struct linux_user *user, const uint64_t arg[6])
{
    static const uint8_t disabled[24] = { [8] = 2 /* SS_DISABLE */ };

    return !arg[1] || user_write(user, arg[1], disabled, sizeof(disabled)) ? 0 : -EFAULT;
}

static int64_t send_signal(struct linux_user *user, uint64_t pid, uint64_t number)
{
    if (pid != LINUX_PID && pid != 0)
        return -ESRCH;
    if (number > LINUX_SIGNALS)
        return -EINVAL;
    if (number)
        linux_signal(user, (int)number, "signal %d, which it sent to itself", (int)number);
    return 0;
}

int64_t syscall_kill(struct linux_user *user, const uint64_t arg[6])
{
    return send_signal(user, arg[0], arg[1]);
}

int64_t syscall_tkill(struct linux_user *user, const uint64_t arg[6])
{
    return send_signal(user, arg[0], arg[1]);
}

int64_t syscall_tgkill(struct linux_user *user, const uint64_t arg[6])
{
    return arg[0] == LINUX_PID ? send_signal(user, arg[1], arg[2]) : -ESRCH;
}

/*
 * Clocks
 */

/* CLOCK_REALTIME and its coarse and TAI kin count from 1970, all others from boot. */
static uint64_t clock_epoch(uint64_t clock)
{
    return clock == 0 || clock == 5 || clock == 8 || clock == 11 ? LINUX_BOOT_TIME : 0;
}

/* Seconds and, below them, NANOSECONDS / UNIT. */
static int64_t put_time(struct linux_user *user, uint64_t address, uint64_t epoch, uint64_t unit)
{
    uint64_t now = linux_nanoseconds(user);
    uint8_t bytes[16];

    le_store(bytes, epoch + now / NANOSECONDS, 8);
    le_store(bytes + 8, now % NANOSECONDS / unit, 8);
    return user_write(user, address, bytes, sizeof(bytes)) ? 0 : -EFAULT;
}

int64_t syscall_clock_gettime(struct linux_user *user, const uint64_t arg[6])
{
    return arg[0] > 11 ? -EINVAL : put_time(user, arg[1], clock_epoch(arg[0]), 1);
}

int64_t syscall_clock_getres(struct linux_user *user, const uint64_t arg[6])
{
    static const uint8_t nanosecond[16] = { [8] = 1 };

    if (arg[0] > 11)
        return -EINVAL;
    return !arg[1] || user_write(user, arg[1], nanosecond, sizeof(nanosecond)) ? 0 : -EFAULT;
}

int64_t syscall_gettimeofday(struct linux_user *user, const uint64_t arg[6])
{
    return arg[0] ? put_time(user, arg[0], LINUX_BOOT_TIME, 1000) : 0;
}

int64_t syscall_time(struct linux_user *user, const uint64_t arg[6])
{
    uint64_t now = LINUX_BOOT_TIME + linux_nanoseconds(user) / NANOSECONDS;
    uint8_t bytes[8];

    le_store(bytes, now, 8);
    return !arg[0] || user_write(user, arg[0], bytes, sizeof(bytes)) ? (int64_t)now : -EFAULT;
}

/* Lets the core's clock run on as long as the program wants to sleep. */
static int64_t sleep_for(struct linux_user *user, uint64_t address)
{
    const struct cpu_profile *profile = user->lp->profile;
    uint64_t hz = (uint64_t)profile->crystal_hz * profile->tsc_ratio_num / profile->tsc_ratio_den /
                  profile->max_non_turbo_ratio * profile->core_ratio;
    uint8_t bytes[16];
    uint64_t seconds;
    uint64_t nanoseconds;

    if (!user_read(user, address, bytes, sizeof(bytes)))
        return -EFAULT;
    seconds = le_load(bytes, 8);
    nanoseconds = le_load(bytes + 8, 8);
    if (seconds > UINT32_MAX || nanoseconds >= NANOSECONDS)
        return -EINVAL;
    machine_stall(user->machine, seconds * hz + nanoseconds * (hz / 1000000) / 1000);
    return 0;
}

int64_t syscall_nanosleep(struct linux_user *user, const uint64_t arg[6])
{
    return sleep_for(user, arg[0]);
}

int64_t syscall_clock_nanosleep(struct linux_user *user, const uint64_t arg[6])
{
    if (arg[1]) {
        linux_stuck(user, "clock_nanosleep() until a point in time is not provided");
        return 0;
    }
    return sleep_for(user, arg[2]);
}
