/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "linux_user.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../models/bits.h"
#include "linux_kernel.h"
#include "linux_stack.h"
#include "syscalls.h"

/* Where mmap() begins to place mappings, downwards: a gap below the stack, as Linux leaves it with
 * randomisation off. */
#define MMAP_TOP UINT64_C(0x7ffff7fff000)

/*
 * Exceptions
 */

/* What Linux makes of an exception (arch/x86/kernel/traps.c of its source), by its number on
 * x86-64. */
static const struct {
    uint8_t signal;
    const char *name;
    const char *cause;
} exceptions[LINUX_VECTORS] = {
    [ARCH_DE] = { 8, "SIGFPE", "division error" },
    [ARCH_DB] = { 5, "SIGTRAP", "debug exception" },
    [ARCH_BP] = { 5, "SIGTRAP", "breakpoint" },
    [ARCH_OF] = { 11, "SIGSEGV", "overflow" },
    [ARCH_BR] = { 11, "SIGSEGV", "bound range exceeded" },
    [ARCH_UD] = { 4, "SIGILL", "invalid opcode" },
    [ARCH_NM] = { 11, "SIGSEGV", "no floating-point unit" },
    [ARCH_TS] = { 11, "SIGSEGV", "invalid TSS" },
    [ARCH_NP] = { 7, "SIGBUS", "segment not present" },
    [ARCH_SS_FAULT] = { 7, "SIGBUS", "stack fault" },
    [ARCH_GP] = { 11, "SIGSEGV", "general protection" },
    [ARCH_PF] = { 11, "SIGSEGV", "page fault" },
    [ARCH_MF] = { 8, "SIGFPE", "x87 floating-point error" },
    [ARCH_AC] = { 7, "SIGBUS", "alignment check" },
    [ARCH_XM] = { 8, "SIGFPE", "SIMD floating-point error" },
};

/* The exceptions that push an error code (SDM vol. 3A, table 6-1). */
static bool pushes_error(unsigned vector)
{
    return vector == ARCH_DF || (vector >= ARCH_TS && vector <= ARCH_PF) || vector == ARCH_AC ||
           vector == ARCH_CP;
}

/* The address at fault, and how it was used (SDM vol. 3A, figure 4-12). */
static void describe_page_fault(struct linux_user *user, char *text, size_t size, uint64_t error)
{
    uint64_t address = user->lp->arch.cr2;
    bool mapped = as_is_mapped(&user->as, address & ~(AS_PAGE - 1), AS_PAGE);
    const char *access = error & BIT(4) ? "execution of" : error & BIT(1) ? "write to" : "read of";

    snprintf(text, size, "%s 0x%" PRIx64 ", which is %s", access, address,
             mapped ? "protected" : "not mapped");
}

/* The exception VECTOR has just been delivered: the processor is at its handler. */
static void on_exception(struct linux_user *user, unsigned vector)
{
    struct lp *lp = user->lp;
    struct linux_sigaction *action = &user->action[exceptions[vector].signal];
    uint64_t frame[2]; /* error code and RIP, or RIP and CS */
    uint8_t bytes[16];
    uint64_t error = 0;
    uint64_t rip;
    char cause[80];

    as_read(&user->as, lp->arch.gpr[ARCH_RSP], bytes, sizeof(bytes));
    frame[0] = le_load(bytes, 8);
    frame[1] = le_load(bytes + 8, 8);
    if (pushes_error(vector))
        error = frame[0];
    rip = frame[pushes_error(vector)];
    if (!exceptions[vector].signal) {
        linux_stuck(user, "exception %u at 0x%" PRIx64, vector, rip);
        return;
    }
    if (vector == ARCH_PF)
        describe_page_fault(user, cause, sizeof(cause), error);
    else
        snprintf(cause, sizeof(cause), "%s", exceptions[vector].cause);
    /* what comes of a fault cannot be ignored: the instruction would fault again */
    if (action->handler == LINUX_SIG_IGN)
        action->handler = LINUX_SIG_DFL;
    linux_signal(user, exceptions[vector].signal, "%s at 0x%" PRIx64 ": %s",
                 exceptions[vector].name, rip, cause);
}

/* The machine is about to execute an instruction of the kernel: the kernel's work is done here. */
static void on_kernel_entry(void *ctx, struct machine *machine)
{
    struct linux_user *user = ctx;
    uint64_t rip = user->lp->arch.rip;

    if (rip == LINUX_SYSCALL_ENTRY)
        syscall_dispatch(user);
    else
        on_exception(user, (unsigned)((rip - LINUX_EXCEPTION_ENTRY(0)) / 16));
    if (user->as.stale)
        machine_flush_tlb(machine);
    user->as.stale = false;
    if (!user->ended)
        machine_at(machine, rip, 1, on_kernel_entry, user);
}

/*
 * Loading
 */

static bool load_segment(struct address_space *as, const struct elf_segment *segment)
{
    uint64_t start = segment->address & ~(AS_PAGE - 1);
    uint64_t end = (segment->address + segment->size + AS_PAGE - 1) & ~(AS_PAGE - 1);
    unsigned prot = (segment->read ? AS_READ : 0u) | (segment->write ? AS_WRITE : 0u) |
                    (segment->execute ? AS_EXECUTE : 0u);

    if (segment->size == 0)
        return true;
    /* its first page may also be the last one of the segment before */
    if (!as_is_free(as, start, AS_PAGE)) {
        as_protect(as, start, AS_PAGE, prot | as_prot(as, start));
        start += AS_PAGE;
    }
    if (start < end && !as_map(as, start, end - start, prot))
        return false;
    as_write(as, segment->address, segment->data, segment->file_size);
    return true;
}

static bool load_segments(struct linux_user *user, const struct elf *elf)
{
    for (unsigned i = 0; i < elf->segments; i++)
        if (!load_segment(&user->as, &elf->segment[i]))
            return false;
    user->brk_start = (elf->end + AS_PAGE - 1) & ~(AS_PAGE - 1);
    user->brk = user->brk_start;
    user->mmap_floor = MMAP_TOP;
    return true;
}

/* The program begins with the standard streams that we have. */
static void inherit_fds(struct linux_user *user)
{
    for (int fd = 0; fd < LINUX_FDS; fd++)
        user->fd[fd] = fd <= STDERR_FILENO && fcntl(fd, F_GETFD) >= 0 ? fd : -1;
    /* the program is to get EPIPE and its own SIGPIPE */
    signal(SIGPIPE, SIG_IGN);
}

static bool load(struct linux_user *user, const struct linux_program *program)
{
    struct lp *lp = user->lp;
    uint64_t rsp;

    if (!as_init(&user->as, &lp->mem, LINUX_MEMORY) || !load_segments(user, program->elf))
        return false;
    rsp = linux_stack_setup(user, program);
    if (!rsp || !linux_kernel_setup(&user->as, &lp->arch, program->elf->entry, rsp))
        return false;
    for (unsigned vector = 0; vector < LINUX_VECTORS; vector++)
        if (machine_at(user->machine, LINUX_EXCEPTION_ENTRY(vector), 1, on_kernel_entry, user))
            return false;
    /* the first SYSRET is the kernel's own, from execve() */
    return !machine_at(user->machine, LINUX_SYSCALL_ENTRY, 2, on_kernel_entry, user);
}

struct linux_user *linux_user_new(struct machine *machine, const struct linux_program *program,
                                  char *error, size_t error_size)
{
    struct linux_user *user = calloc(1, sizeof(*user));

    if (user) {
        user->machine = machine;
        user->lp = machine_lp(machine);
        user->exe = realpath(program->path, NULL);
        inherit_fds(user);
        if (user->exe && load(user, program))
            return user;
    }
    linux_user_free(user);
    snprintf(error, error_size,
             "the program, its arguments and its environment take too much memory");
    return NULL;
}

void linux_user_free(struct linux_user *user)
{
    if (!user)
        return;
    for (int fd = 0; fd < LINUX_FDS; fd++)
        if (user->fd[fd] > STDERR_FILENO)
            close(user->fd[fd]);
    free(user->exe);
    free(user);
}

uint64_t linux_user_frames(struct linux_user *user, uint64_t count)
{
    return as_frames(&user->as, count);
}

bool linux_user_code(struct linux_user *user, linux_code_fn *fn, void *ctx)
{
    uint64_t address = 0;
    uint64_t size = 0;

    while (as_find_executable(&user->as, address + size, &address, &size)) {
        uint8_t *code = malloc(size);
        bool done;

        if (!code)
            return false;
        as_read(&user->as, address, code, size);
        done = fn(ctx, address, code, size);
        free(code);
        if (!done)
            return false;
    }
    return true;
}

struct linux_result linux_user_run(struct linux_user *user)
{
    enum machine_end end = machine_run(user->machine, UINT64_MAX);

    if (!user->ended)
        linux_stuck(user, "%s",
                    end == MACHINE_ERROR ? machine_error(user->machine) : "the processor halted");
    return user->result;
}
