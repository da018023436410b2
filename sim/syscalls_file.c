/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls on descriptors: the host's files, under the program's own numbers. Flags and
 * structures are those of Linux on x86-64 whatever the host is. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "syscalls.h"

#define CHUNK    65536
#define IOVS_MAX 1024

int64_t linux_status(int64_t value)
{
    return value < 0 ? -errno : value;
}

/*
 * Descriptors
 */

int linux_host_fd(const struct linux_user *user, uint64_t fd)
{
    return fd < LINUX_FDS ? user->fd[fd] : -1;
}

int64_t linux_new_fd(struct linux_user *user, int host, uint64_t from)
{
    if (host < 0)
        return -errno;
    for (uint64_t fd = from; fd < LINUX_FDS; fd++) {
        if (user->fd[fd] < 0) {
            user->fd[fd] = host;
            return (int64_t)fd;
        }
    }
    close(host);
    return -EMFILE;
}

static int64_t close_fd(struct linux_user *user, uint64_t fd)
{
    int host = linux_host_fd(user, fd);

    if (host < 0)
        return -EBADF;
    user->fd[fd] = -1;
    /* the standard streams are also ours */
    return host <= STDERR_FILENO ? 0 : linux_status(close(host));
}

int64_t syscall_close(struct linux_user *user, const uint64_t arg[6])
{
    return close_fd(user, arg[0]);
}

static int64_t duplicate(struct linux_user *user, uint64_t fd, uint64_t from)
{
    int host = linux_host_fd(user, fd);

    return host < 0 ? -EBADF : linux_new_fd(user, fcntl(host, F_DUPFD_CLOEXEC, 3), from);
}

int64_t syscall_dup(struct linux_user *user, const uint64_t arg[6])
{
    return duplicate(user, arg[0], 0);
}

int64_t syscall_dup2(struct linux_user *user, const uint64_t arg[6])
{
    if (linux_host_fd(user, arg[0]) < 0 || arg[1] >= LINUX_FDS)
        return -EBADF;
    if (arg[0] == arg[1])
        return (int64_t)arg[1];
    close_fd(user, arg[1]);
    return duplicate(user, arg[0], arg[1]);
}

int64_t syscall_dup3(struct linux_user *user, const uint64_t arg[6])
{
    return arg[0] == arg[1] ? -EINVAL : syscall_dup2(user, arg);
}

int64_t syscall_pipe2(struct linux_user *user, const uint64_t arg[6])
{
    uint8_t ends[8];
    int host[2];

    if (pipe2(host, O_CLOEXEC))
        return -errno;
    for (int i = 0; i < 2; i++) {
        int64_t fd = linux_new_fd(user, host[i], 0);

        if (fd < 0)
            return fd;
        le_store(ends + 4 * i, (uint64_t)fd, 4);
    }
    return user_write(user, arg[0], ends, sizeof(ends)) ? 0 : -EFAULT;
}

int64_t syscall_pipe(struct linux_user *user, const uint64_t arg[6])
{
    return syscall_pipe2(user, arg);
}

/* The flags of open(): Linux's number on x86-64, the host's. */
static const struct {
    uint32_t flag;
    int host;
} open_flags[] = {
    { 0100, O_CREAT },        { 0200, O_EXCL },        { 0400, O_NOCTTY },
    { 01000, O_TRUNC },       { 02000, O_APPEND },     { 04000, O_NONBLOCK },
    { 0200000, O_DIRECTORY }, { 0400000, O_NOFOLLOW }, { 02000000, O_CLOEXEC },
    { 010000000, O_PATH },
};
#define OPEN_FLAGS (sizeof(open_flags) / sizeof(open_flags[0]))

int linux_open_flags(uint64_t flags)
{
    int host = (int)(flags & O_ACCMODE);

    for (size_t i = 0; i < OPEN_FLAGS; i++)
        if (flags & open_flags[i].flag)
            host |= open_flags[i].host;
    return host;
}

static uint64_t from_host_flags(int host)
{
    uint64_t flags = (uint64_t)(host & O_ACCMODE);

    for (size_t i = 0; i < OPEN_FLAGS; i++)
        if (host & open_flags[i].host)
            flags |= open_flags[i].flag;
    return flags;
}

int64_t syscall_fcntl(struct linux_user *user, const uint64_t arg[6])
{
    int host = linux_host_fd(user, arg[0]);
    int flags;

    if (host < 0)
        return -EBADF;
    switch (arg[1]) {
    case 0:    /* F_DUPFD */
    case 1030: /* F_DUPFD_CLOEXEC */
        return duplicate(user, arg[0], arg[2]);
    case 1: /* F_GETFD */
    case 2: /* F_SETFD: there is no exec() that would close it */
        return 0;
    case 3: /* F_GETFL */
        flags = fcntl(host, F_GETFL);
        return flags < 0 ? -errno : (int64_t)from_host_flags(flags);
    case 4: /* F_SETFL */
        return linux_status(fcntl(host, F_SETFL, linux_open_flags(arg[2])));
    default:
        return -EINVAL;
    }
}

/*
 * Reading and writing
 */

/* Moves up to SIZE bytes between HOST and the program's memory at ADDRESS, from the file's
 * position, or at OFFSET where that is not negative. What was moved, or -errno where nothing was.
 */
static int64_t transfer(struct linux_user *user, int host, bool writing, uint64_t address,
                        uint64_t size, off_t offset)
{
    uint8_t chunk[CHUNK];
    uint64_t done = 0;

    while (done < size) {
        size_t want = size - done < CHUNK ? (size_t)(size - done) : CHUNK;
        off_t at = offset + (off_t)done;
        ssize_t got;

        if (writing && !user_read(user, address + done, chunk, want))
            return done ? (int64_t)done : -EFAULT;
        if (writing)
            got = offset < 0 ? write(host, chunk, want) : pwrite(host, chunk, want, at);
        else
            got = offset < 0 ? read(host, chunk, want) : pread(host, chunk, want, at);
        if (got < 0)
            return done ? (int64_t)done : -errno;
        if (!writing && !user_write(user, address + done, chunk, (size_t)got))
            return done ? (int64_t)done : -EFAULT;
        done += (uint64_t)got;
        if ((size_t)got < want)
            break;
    }
    return (int64_t)done;
}

static void sigpipe(struct linux_user *user)
{
    linux_signal(user, 13, "SIGPIPE: nobody reads what it writes");
}

static int64_t transfer_fd(struct linux_user *user, uint64_t fd, bool writing, uint64_t address,
                           uint64_t size, off_t offset)
{
    int host = linux_host_fd(user, fd);
    int64_t done;

    if (host < 0)
        return -EBADF;
    done = transfer(user, host, writing, address, size, offset);
    if (done == -EPIPE)
        sigpipe(user);
    return done;
}

int64_t syscall_read(struct linux_user *user, const uint64_t arg[6])
{
    return transfer_fd(user, arg[0], false, arg[1], arg[2], -1);
}

int64_t syscall_write(struct linux_user *user, const uint64_t arg[6])
{
    return transfer_fd(user, arg[0], true, arg[1], arg[2], -1);
}

int64_t syscall_pread64(struct linux_user *user, const uint64_t arg[6])
{
    return (int64_t)arg[3] < 0 ? -EINVAL
                               : transfer_fd(user, arg[0], false, arg[1], arg[2], (off_t)arg[3]);
}

int64_t syscall_pwrite64(struct linux_user *user, const uint64_t arg[6])
{
    return (int64_t)arg[3] < 0 ? -EINVAL
                               : transfer_fd(user, arg[0], true, arg[1], arg[2], (off_t)arg[3]);
}

/* readv() and writev(): COUNT pairs of address and size at IOV. */
static int64_t transfer_vector(struct linux_user *user, const uint64_t arg[6], bool writing)
{
    int64_t total = 0;

    if (arg[2] > IOVS_MAX)
        return -EINVAL;
    for (uint64_t i = 0; i < arg[2]; i++) {
        uint8_t iov[16];
        uint64_t size;
        int64_t done;

        if (!user_read(user, arg[1] + 16 * i, iov, sizeof(iov)))
            return total ? total : -EFAULT;
        size = le_load(iov + 8, 8);
        done = transfer_fd(user, arg[0], writing, le_load(iov, 8), size, -1);
        if (done < 0)
            return total ? total : done;
        total += done;
        if ((uint64_t)done < size)
            break;
    }
    return total;
}

int64_t syscall_readv(struct linux_user *user, const uint64_t arg[6])
{
    return transfer_vector(user, arg, false);
}

int64_t syscall_writev(struct linux_user *user, const uint64_t arg[6])
{
    return transfer_vector(user, arg, true);
}

/* From a file's own position alone, as programs that copy whole files have it. */
int64_t syscall_sendfile(struct linux_user *user, const uint64_t arg[6])
{
    int out = linux_host_fd(user, arg[0]);
    int in = linux_host_fd(user, arg[1]);
    uint8_t chunk[CHUNK];
    ssize_t got;
    ssize_t put;

    if (out < 0 || in < 0)
        return -EBADF;
    if (arg[2])
        return -EINVAL;
    got = read(in, chunk, arg[3] < CHUNK ? (size_t)arg[3] : CHUNK);
    if (got <= 0)
        return linux_status(got);
    put = write(out, chunk, (size_t)got);
    if (put >= 0 && put < got)
        lseek(in, put - got, SEEK_CUR);
    if (put < 0 && errno == EPIPE)
        sigpipe(user);
    return linux_status(put);
}

int64_t syscall_lseek(struct linux_user *user, const uint64_t arg[6])
{
    return linux_status(lseek(linux_host_fd(user, arg[0]), (off_t)arg[1], (int)arg[2]));
}

int64_t syscall_ftruncate(struct linux_user *user, const uint64_t arg[6])
{
    return linux_status(ftruncate(linux_host_fd(user, arg[0]), (off_t)arg[1]));
}

int64_t syscall_fadvise64(struct linux_user *user, const uint64_t arg[6])
{
    return linux_host_fd(user, arg[0]) < 0 ? -EBADF : 0;
}

/* Terminals: the requests that ask what a descriptor is, and the size of what they give. */
int64_t syscall_ioctl(struct linux_user *user, const uint64_t arg[6])
{
    static const struct {
        uint32_t request;
        size_t size;
    } requests[] = { { 0x5401, 36 } /* TCGETS */, { 0x5413, 8 } /* TIOCGWINSZ */ };
    uint8_t data[36];

    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        if ((uint32_t)arg[1] != requests[i].request)
            continue;
        if (syscall(SYS_ioctl, linux_host_fd(user, arg[0]), requests[i].request, data))
            return -errno;
        return user_write(user, arg[2], data, requests[i].size) ? 0 : -EFAULT;
    }
    return linux_host_fd(user, arg[0]) < 0 ? -EBADF : -ENOTTY;
}

int64_t syscall_getdents64(struct linux_user *user, const uint64_t arg[6])
{
    uint8_t entries[CHUNK];
    size_t size = arg[2] < CHUNK ? (size_t)arg[2] : CHUNK;
    long got = syscall(SYS_getdents64, linux_host_fd(user, arg[0]), entries, size);

    if (got < 0)
        return -errno;
    return user_write(user, arg[1], entries, (size_t)got) ? got : -EFAULT;
}
