/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack that a program finds: argc, argv, envp and the auxiliary vector, and above them what
 * they point at (System V ABI, AMD64 supplement, 3.4.1). */
#include "linux_stack.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "syscalls.h"

/* The stack as it is built, downwards from its top. */
struct stack {
    uint8_t *bytes; /* those of [top - size, top), from its end */
    uint64_t used;
    uint64_t size;
    bool full;
};

#define STACK_TOP AS_USER_END

/* Puts SIZE bytes below what is there; their address. */
static uint64_t push(struct stack *stack, const void *data, uint64_t size)
{
    if (size > stack->size - stack->used) {
        stack->full = true;
        return 0;
    }
    stack->used += size;
    memcpy(stack->bytes + stack->size - stack->used, data, size);
    return STACK_TOP - stack->used;
}

static void push64(struct stack *stack, uint64_t value)
{
    uint8_t bytes[8];

    le_store(bytes, value, sizeof(bytes));
    push(stack, bytes, sizeof(bytes));
}

static uint64_t push_string(struct stack *stack, const char *string)
{
    return push(stack, string, strlen(string) + 1);
}

/* COUNT strings, the first one lowest; the address of the first. */
static uint64_t push_strings(struct stack *stack, char *const *strings, size_t count)
{
    uint64_t address = 0;

    while (count-- > 0)
        address = push_string(stack, strings[count]);
    return address;
}

/* Pointers to strings that push_strings() put at ADDRESS, and a null. */
static void push_pointers(struct stack *stack, char *const *strings, size_t count, uint64_t address)
{
    uint64_t end = address;

    for (size_t i = 0; i < count; i++)
        end += strlen(strings[i]) + 1;
    push64(stack, 0);
    while (count-- > 0) {
        end -= strlen(strings[count]) + 1;
        push64(stack, end);
    }
}

static size_t count_strings(char *const *strings)
{
    size_t count = 0;

    while (strings[count])
        count++;
    return count;
}

static uint64_t push_random(struct stack *stack, struct linux_user *user)
{
    push64(stack, linux_random(user));
    push64(stack, linux_random(user));
    return STACK_TOP - stack->used;
}

/* An entry of the auxiliary vector. */
struct auxv {
    uint64_t type;
    uint64_t value;
};

/* The part from the stack pointer up to the auxiliary vector, which has ENTRIES entries. */
static void push_vectors(struct stack *stack, const struct linux_program *program, uint64_t args,
                         uint64_t env, const struct auxv *auxv, size_t entries)
{
    size_t argc = count_strings(program->argv);
    size_t envc = count_strings(program->envp);
    uint64_t below = 8 * (2 * entries + envc + 1 + argc + 1 + 1);

    /* the stack pointer is to be a multiple of 16 */
    push(stack, (const uint8_t[16]){ 0 }, (STACK_TOP - stack->used - below) % 16);
    while (entries-- > 0) {
        push64(stack, auxv[entries].value);
        push64(stack, auxv[entries].type);
    }
    push_pointers(stack, program->envp, envc, env);
    push_pointers(stack, program->argv, argc, args);
    push64(stack, argc);
}

static void build(struct stack *stack, struct linux_user *user, const struct linux_program *program)
{
    uint64_t execfn = push_string(stack, program->path);
    uint64_t env = push_strings(stack, program->envp, count_strings(program->envp));
    uint64_t args = push_strings(stack, program->argv, count_strings(program->argv));
    uint64_t platform = push_string(stack, "x86_64");
    uint64_t random = push_random(stack, user);
    uint32_t features[4];

    lp_cpuid(user->lp, 1, 0, features);
    {
        const struct auxv auxv[] = {
            { AT_HWCAP, features[3] },
            { AT_PAGESZ, AS_PAGE },
            { AT_CLKTCK, 100 },
            { AT_PHDR, program->elf->phdrs },
            { AT_PHENT, program->elf->phdr_size },
            { AT_PHNUM, program->elf->phdr_count },
            { AT_BASE, 0 },
            { AT_FLAGS, 0 },
            { AT_ENTRY, program->elf->entry },
            { AT_UID, LINUX_UID },
            { AT_EUID, LINUX_UID },
            { AT_GID, LINUX_UID },
            { AT_EGID, LINUX_UID },
            { AT_SECURE, 0 },
            { AT_RANDOM, random },
            { AT_EXECFN, execfn },
            { AT_PLATFORM, platform },
            { AT_NULL, 0 },
        };

        push_vectors(stack, program, args, env, auxv, sizeof(auxv) / sizeof(auxv[0]));
    }
}

uint64_t linux_stack_setup(struct linux_user *user, const struct linux_program *program)
{
    unsigned prot = AS_READ | AS_WRITE | (program->elf->stack_executable ? AS_EXECUTE : 0u);
    struct stack stack = { .size = LINUX_STACK_SIZE / 4 };
    uint64_t rsp = 0;

    stack.bytes = malloc(stack.size);
    if (stack.bytes && as_map(&user->as, STACK_TOP - LINUX_STACK_SIZE, LINUX_STACK_SIZE, prot)) {
        push64(&stack, 0);
        build(&stack, user, program);
        if (!stack.full) {
            rsp = STACK_TOP - stack.used;
            as_write(&user->as, rsp, stack.bytes + stack.size - stack.used, stack.used);
        }
    }
    free(stack.bytes);
    return rsp;
}
