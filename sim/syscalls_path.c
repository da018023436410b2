/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls on paths, and what they tell of files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "syscalls.h"

#define PATH_SIZE 4096
#define TO_EMPTY  0x1000 /* AT_EMPTY_PATH */
#define NO_FOLLOW 0x100  /* AT_SYMLINK_NOFOLLOW */
#define CWD       (-100) /* AT_FDCWD */

/* A path of the program, and the directory that it starts from. */
struct location {
    int dir;
    char path[PATH_SIZE];
};

/* 0, or -errno. DIR is the program's descriptor or AT_FDCWD. */
static int64_t locate(struct linux_user *user, uint64_t dir, uint64_t path, struct location *at)
{
    int64_t length = user_string(user, path, at->path, sizeof(at->path));

    if (length < 0)
        return length;
    at->dir = (int32_t)dir == CWD ? AT_FDCWD : linux_host_fd(user, dir);
    return 0;
}

static int64_t open_at(struct linux_user *user, uint64_t dir, uint64_t path, uint64_t flags,
                       uint64_t mode)
{
    struct location at;
    int64_t error = locate(user, dir, path, &at);

    if (error)
        return error;
    return linux_new_fd(
        user, openat(at.dir, at.path, linux_open_flags(flags) | O_CLOEXEC, (mode_t)mode), 0);
}

int64_t syscall_open(struct linux_user *user, const uint64_t arg[6])
{
    return open_at(user, (uint64_t)CWD, arg[0], arg[1], arg[2]);
}

int64_t syscall_openat(struct linux_user *user, const uint64_t arg[6])
{
    return open_at(user, arg[0], arg[1], arg[2], arg[3]);
}

static int64_t access_at(struct linux_user *user, uint64_t dir, uint64_t path, uint64_t mode)
{
    struct location at;
    int64_t error = locate(user, dir, path, &at);

    return error ? error : linux_status(faccessat(at.dir, at.path, (int)mode, 0));
}

int64_t syscall_access(struct linux_user *user, const uint64_t arg[6])
{
    return access_at(user, (uint64_t)CWD, arg[0], arg[1]);
}

int64_t syscall_faccessat(struct linux_user *user, const uint64_t arg[6])
{
    return access_at(user, arg[0], arg[1], arg[2]);
}

int64_t syscall_faccessat2(struct linux_user *user, const uint64_t arg[6])
{
    return access_at(user, arg[0], arg[1], arg[2]);
}

static int64_t readlink_at(struct linux_user *user, uint64_t dir, const uint64_t arg[3])
{
    struct location at;
    char target[PATH_SIZE];
    int64_t size = locate(user, dir, arg[0], &at);

    if (size < 0)
        return size;
    if (!strcmp(at.path, "/proc/self/exe"))
        size = snprintf(target, sizeof(target), "%s", user->exe);
    else
        size = readlinkat(at.dir, at.path, target, sizeof(target));
    if (size < 0)
        return -errno;
    if ((uint64_t)size > arg[2])
        size = (int64_t)arg[2];
    return user_write(user, arg[1], target, (size_t)size) ? size : -EFAULT;
}

int64_t syscall_readlink(struct linux_user *user, const uint64_t arg[6])
{
    return readlink_at(user, (uint64_t)CWD, arg);
}

int64_t syscall_readlinkat(struct linux_user *user, const uint64_t arg[6])
{
    return readlink_at(user, arg[0], arg + 1);
}

int64_t syscall_getcwd(struct linux_user *user, const uint64_t arg[6])
{
    char path[PATH_SIZE];
    size_t size;

    if (!getcwd(path, sizeof(path)))
        return -errno;
    size = strlen(path) + 1;
    if (size > arg[1])
        return -ERANGE;
    return user_write(user, arg[0], path, size) ? (int64_t)size : -EFAULT;
}

int64_t syscall_unlinkat(struct linux_user *user, const uint64_t arg[6])
{
    struct location at;
    int64_t error = locate(user, arg[0], arg[1], &at);

    return error ? error : linux_status(unlinkat(at.dir, at.path, (int)arg[2]));
}

int64_t syscall_unlink(struct linux_user *user, const uint64_t arg[6])
{
    return syscall_unlinkat(user, (const uint64_t[6]){ (uint64_t)CWD, arg[0], 0 });
}

int64_t syscall_rmdir(struct linux_user *user, const uint64_t arg[6])
{
    return syscall_unlinkat(user, (const uint64_t[6]){ (uint64_t)CWD, arg[0], AT_REMOVEDIR });
}

int64_t syscall_rename(struct linux_user *user, const uint64_t arg[6])
{
    struct location from;
    struct location to;
    int64_t error = locate(user, (uint64_t)CWD, arg[0], &from);

    if (!error)
        error = locate(user, (uint64_t)CWD, arg[1], &to);
    return error ? error : linux_status(rename(from.path, to.path));
}

int64_t syscall_mkdir(struct linux_user *user, const uint64_t arg[6])
{
    struct location at;
    int64_t error = locate(user, (uint64_t)CWD, arg[0], &at);

    return error ? error : linux_status(mkdir(at.path, (mode_t)arg[1]));
}

int64_t syscall_chmod(struct linux_user *user, const uint64_t arg[6])
{
    struct location at;
    int64_t error = locate(user, (uint64_t)CWD, arg[0], &at);

    return error ? error : linux_status(chmod(at.path, (mode_t)arg[1]));
}

int64_t syscall_fchmod(struct linux_user *user, const uint64_t arg[6])
{
    return linux_status(fchmod(linux_host_fd(user, arg[0]), (mode_t)arg[1]));
}

int64_t syscall_umask(struct linux_user *user, const uint64_t arg[6])
{
    (void)user;
    return (int64_t)umask((mode_t)(arg[0] & 0777));
}

int64_t syscall_utimensat(struct linux_user *user, const uint64_t arg[6])
{
    struct timespec times[2];
    struct location at = { .dir = linux_host_fd(user, arg[0]) };
    uint8_t raw[32];

    if (arg[2] && !user_read(user, arg[2], raw, sizeof(raw)))
        return -EFAULT;
    for (int i = 0; arg[2] && i < 2; i++) {
        times[i].tv_sec = (time_t)le_load(raw + 16 * i, 8);
        times[i].tv_nsec = (long)le_load(raw + 16 * i + 8, 8);
    }
    if (!arg[1])
        return linux_status(futimens(at.dir, arg[2] ? times : NULL));
    if (locate(user, arg[0], arg[1], &at) < 0)
        return -EFAULT;
    return linux_status(utimensat(at.dir, at.path, arg[2] ? times : NULL, (int)arg[3]));
}

/*
 * struct stat and struct statx
 */

static int64_t stat_at(struct linux_user *user, uint64_t dir, uint64_t path, uint64_t flags,
                       struct stat *st)
{
    struct location at;
    int64_t error;

    if ((flags & TO_EMPTY) && !path) {
        at.path[0] = '\0';
    } else {
        error = locate(user, dir, path, &at);
        if (error)
            return error;
    }
    if ((flags & TO_EMPTY) && !at.path[0])
        return linux_status(fstat(linux_host_fd(user, dir), st));
    return linux_status(fstatat(at.dir, at.path, st, flags & NO_FOLLOW ? AT_SYMLINK_NOFOLLOW : 0));
}

/* One field of a structure that is written to the program. */
struct field {
    uint16_t offset;
    uint16_t size;
    uint64_t value;
};

static int64_t put_fields(struct linux_user *user, uint64_t address, size_t size,
                          const struct field *field, size_t fields)
{
    uint8_t bytes[256] = { 0 };

    for (size_t i = 0; i < fields; i++)
        le_store(bytes + field[i].offset, field[i].value, field[i].size);
    return user_write(user, address, bytes, size) ? 0 : -EFAULT;
}

/* struct stat (arch/x86/include/uapi/asm/stat.h of Linux). */
static int64_t put_stat(struct linux_user *user, uint64_t address, const struct stat *st)
{
    const struct field fields[] = {
        { 0, 8, st->st_dev },
        { 8, 8, st->st_ino },
        { 16, 8, st->st_nlink },
        { 24, 4, st->st_mode },
        { 28, 4, st->st_uid },
        { 32, 4, st->st_gid },
        { 40, 8, st->st_rdev },
        { 48, 8, (uint64_t)st->st_size },
        { 56, 8, (uint64_t)st->st_blksize },
        { 64, 8, (uint64_t)st->st_blocks },
        { 72, 8, (uint64_t)st->st_atim.tv_sec },
        { 80, 8, (uint64_t)st->st_atim.tv_nsec },
        { 88, 8, (uint64_t)st->st_mtim.tv_sec },
        { 96, 8, (uint64_t)st->st_mtim.tv_nsec },
        { 104, 8, (uint64_t)st->st_ctim.tv_sec },
        { 112, 8, (uint64_t)st->st_ctim.tv_nsec },
    };

    return put_fields(user, address, 144, fields, sizeof(fields) / sizeof(fields[0]));
}

/* struct statx (include/uapi/linux/stat.h of Linux), with what struct stat has. */
static int64_t put_statx(struct linux_user *user, uint64_t address, const struct stat *st)
{
    const struct field fields[] = {
        { 0, 4, 0x7ff /* STATX_BASIC_STATS */ },
        { 4, 4, (uint64_t)st->st_blksize },
        { 16, 4, st->st_nlink },
        { 20, 4, st->st_uid },
        { 24, 4, st->st_gid },
        { 28, 2, st->st_mode },
        { 32, 8, st->st_ino },
        { 40, 8, (uint64_t)st->st_size },
        { 48, 8, (uint64_t)st->st_blocks },
        { 64, 8, (uint64_t)st->st_atim.tv_sec },
        { 72, 4, (uint64_t)st->st_atim.tv_nsec },
        { 96, 8, (uint64_t)st->st_ctim.tv_sec },
        { 104, 4, (uint64_t)st->st_ctim.tv_nsec },
        { 112, 8, (uint64_t)st->st_mtim.tv_sec },
        { 120, 4, (uint64_t)st->st_mtim.tv_nsec },
        { 128, 4, major(st->st_rdev) },
        { 132, 4, minor(st->st_rdev) },
        { 136, 4, major(st->st_dev) },
        { 140, 4, minor(st->st_dev) },
    };

    return put_fields(user, address, 256, fields, sizeof(fields) / sizeof(fields[0]));
}

static int64_t stat_to(struct linux_user *user, uint64_t dir, uint64_t path, uint64_t flags,
                       uint64_t address)
{
    struct stat st;
    int64_t error = stat_at(user, dir, path, flags, &st);

    return error ? error : put_stat(user, address, &st);
}

int64_t syscall_stat(struct linux_user *user, const uint64_t arg[6])
{
    return stat_to(user, (uint64_t)CWD, arg[0], 0, arg[1]);
}

int64_t syscall_lstat(struct linux_user *user, const uint64_t arg[6])
{
    return stat_to(user, (uint64_t)CWD, arg[0], NO_FOLLOW, arg[1]);
}

int64_t syscall_fstat(struct linux_user *user, const uint64_t arg[6])
{
    return stat_to(user, arg[0], 0, TO_EMPTY, arg[1]);
}

int64_t syscall_newfstatat(struct linux_user *user, const uint64_t arg[6])
{
    return stat_to(user, arg[0], arg[1], arg[3], arg[2]);
}

int64_t syscall_statx(struct linux_user *user, const uint64_t arg[6])
{
    struct stat st;
    int64_t error = stat_at(user, arg[0], arg[1], arg[2], &st);

    return error ? error : put_statx(user, arg[4], &st);
}
