/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls on the address space. Sizes are in bytes, addresses those of pages, as Linux has it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "syscalls.h"

/* Linux's numbers (include/uapi/asm-generic/mman-common.h and mman.h of its source). */
enum {
    LINUX_PROT_READ = 1,
    LINUX_PROT_WRITE = 2,
    LINUX_PROT_EXEC = 4,
    LINUX_MAP_SHARED = 1,
    LINUX_MAP_PRIVATE = 2,
    LINUX_MAP_SHARED_VALIDATE = 3,
    LINUX_MAP_TYPE = 0xf,
    LINUX_MAP_FIXED = 0x10,
    LINUX_MAP_ANONYMOUS = 0x20,
    LINUX_MAP_FIXED_NOREPLACE = 0x100000,
    LINUX_MREMAP_MAYMOVE = 1,
    LINUX_MADV_DONTNEED = 4,
};

static uint64_t page_up(uint64_t value)
{
    return (value + AS_PAGE - 1) & ~(AS_PAGE - 1);
}

static unsigned as_prot_of(uint64_t prot)
{
    return (prot & LINUX_PROT_READ ? AS_READ : 0u) | (prot & LINUX_PROT_WRITE ? AS_WRITE : 0u) |
           (prot & LINUX_PROT_EXEC ? AS_EXECUTE : 0u);
}

/* Rounds *SIZE up to pages. Whether [ADDRESS, ADDRESS + *SIZE) is then a range of user pages. */
static bool user_range(uint64_t address, uint64_t *size)
{
    if (address % AS_PAGE || *size == 0 || *size > AS_USER_END)
        return false;
    *size = page_up(*size);
    return address <= AS_USER_END - *size;
}

int64_t syscall_brk(struct linux_user *user, const uint64_t arg[6])
{
    uint64_t want = arg[0];
    uint64_t old_end = page_up(user->brk);
    uint64_t new_end = page_up(want);

    if (want < user->brk_start || want > user->mmap_floor)
        return (int64_t)user->brk;
    if (new_end > old_end) {
        if (!as_is_free(&user->as, old_end, new_end - old_end))
            return (int64_t)user->brk;
        if (!as_map(&user->as, old_end, new_end - old_end, AS_READ | AS_WRITE)) {
            as_unmap(&user->as, old_end, new_end - old_end);
            return (int64_t)user->brk;
        }
    } else if (new_end < old_end) {
        as_unmap(&user->as, new_end, old_end - new_end);
    }
    user->brk = want;
    return (int64_t)want;
}

/* A place for SIZE bytes: below all mappings so far, as Linux places them. 0 where there is none.
 */
static uint64_t place(struct linux_user *user, uint64_t size)
{
    uint64_t lowest = page_up(user->brk) + size;

    if (size > LINUX_MEMORY)
        return 0;
    for (uint64_t end = user->mmap_floor; end >= lowest; end -= AS_PAGE)
        if (as_is_free(&user->as, end - size, size))
            return user->mmap_floor = end - size;
    return 0;
}

/* Copies what the host's file FD holds from OFFSET on into pages just mapped. */
static int64_t read_file_pages(struct linux_user *user, int fd, uint64_t offset, uint64_t address,
                               uint64_t size)
{
    uint8_t page[AS_PAGE];

    for (uint64_t done = 0; done < size; done += AS_PAGE) {
        ssize_t got = pread(fd, page, sizeof(page), (off_t)(offset + done));

        if (got < 0)
            return -errno;
        as_write(&user->as, address + done, page, (uint64_t)got);
        if (got < (ssize_t)sizeof(page))
            break;
    }
    return 0;
}

/* Where mmap() puts SIZE bytes for which ADDRESS and FLAGS ask, or -errno. */
static int64_t mmap_address(struct linux_user *user, uint64_t address, uint64_t size,
                            uint64_t flags)
{
    if (flags & (LINUX_MAP_FIXED | LINUX_MAP_FIXED_NOREPLACE)) {
        if (address % AS_PAGE || address > AS_USER_END - size)
            return -EINVAL;
        if ((flags & LINUX_MAP_FIXED_NOREPLACE) && !as_is_free(&user->as, address, size))
            return -EEXIST;
        return (int64_t)address;
    }
    address = place(user, size);
    return address ? (int64_t)address : -ENOMEM;
}

int64_t syscall_mmap(struct linux_user *user, const uint64_t arg[6])
{
    uint64_t size = arg[1];
    uint64_t flags = arg[3];
    uint64_t type = flags & LINUX_MAP_TYPE;
    int fd = -1;
    int64_t address;
    int64_t status = 0;

    if (!user_range(0, &size) || arg[5] % AS_PAGE)
        return -EINVAL;
    if (type != LINUX_MAP_PRIVATE && type != LINUX_MAP_SHARED && type != LINUX_MAP_SHARED_VALIDATE)
        return -EINVAL;
    if (!(flags & LINUX_MAP_ANONYMOUS)) {
        fd = arg[4] < LINUX_FDS ? user->fd[arg[4]] : -1;
        if (fd < 0)
            return -EBADF;
        if (type != LINUX_MAP_PRIVATE && (arg[2] & LINUX_PROT_WRITE)) {
            linux_stuck(user, "mmap() of a file to be written through memory is not provided");
            return 0;
        }
    }
    address = mmap_address(user, arg[0], size, flags);
    if (address < 0)
        return address;
    if (!as_map(&user->as, (uint64_t)address, size, as_prot_of(arg[2])))
        status = -ENOMEM;
    else if (fd >= 0)
        status = read_file_pages(user, fd, arg[5], (uint64_t)address, size);
    if (status < 0) {
        as_unmap(&user->as, (uint64_t)address, size);
        return status;
    }
    return address;
}

int64_t syscall_munmap(struct linux_user *user, const uint64_t arg[6])
{
    uint64_t size = arg[1];

    if (!user_range(arg[0], &size))
        return -EINVAL;
    as_unmap(&user->as, arg[0], size);
    /* the place of the mapping made last can be had again */
    if (arg[0] == user->mmap_floor)
        user->mmap_floor += size;
    return 0;
}

int64_t syscall_mprotect(struct linux_user *user, const uint64_t arg[6])
{
    uint64_t size = arg[1];

    if (size == 0 && arg[0] % AS_PAGE == 0)
        return 0;
    if (!user_range(arg[0], &size))
        return arg[0] % AS_PAGE ? -EINVAL : -ENOMEM;
    return as_protect(&user->as, arg[0], size, as_prot_of(arg[2])) ? 0 : -ENOMEM;
}

int64_t syscall_mremap(struct linux_user *user, const uint64_t arg[6])
{
    uint64_t address = arg[0];
    uint64_t old_size = arg[1];
    uint64_t new_size = arg[2];
    uint64_t end;
    uint64_t to;
    unsigned prot;

    if (!user_range(address, &old_size) || !user_range(address, &new_size) ||
        (arg[3] & ~(uint64_t)LINUX_MREMAP_MAYMOVE))
        return -EINVAL;
    if (!as_is_mapped(&user->as, address, old_size))
        return -EFAULT;
    end = address + old_size;
    prot = as_prot(&user->as, address);
    if (new_size < old_size)
        as_unmap(&user->as, address + new_size, old_size - new_size);
    if (new_size <= old_size)
        return (int64_t)address;
    if (as_is_free(&user->as, end, new_size - old_size)) {
        if (as_map(&user->as, end, new_size - old_size, prot))
            return (int64_t)address;
        as_unmap(&user->as, end, new_size - old_size);
        return -ENOMEM;
    }
    to = arg[3] & LINUX_MREMAP_MAYMOVE ? place(user, new_size) : 0;
    if (!to)
        return -ENOMEM;
    if (!as_map(&user->as, to + old_size, new_size - old_size, prot) ||
        !as_move(&user->as, address, to, old_size)) {
        as_unmap(&user->as, to + old_size, new_size - old_size);
        return -ENOMEM;
    }
    return (int64_t)to;
}

int64_t syscall_madvise(struct linux_user *user, const uint64_t arg[6])
{
    uint64_t size = arg[1];

    if (size == 0)
        return 0;
    if (!user_range(arg[0], &size))
        return -EINVAL;
    if (!as_is_mapped(&user->as, arg[0], size))
        return -ENOMEM;
    if (arg[2] == LINUX_MADV_DONTNEED)
        as_zero(&user->as, arg[0], size);
    return 0;
}
