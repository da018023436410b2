/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends as its argument says: by a fault, a signal of its own or a call that is not provided. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int zero;

static void handler(int number)
{
    _exit(number);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    static const char text[] = "before\n";

    if (write(1, text, sizeof(text) - 1) < 0)
        return 1;
    if (!strcmp(how, "null"))
        *(volatile char *)(unsigned long)zero = 1;
    if (!strcmp(how, "text"))
        *(volatile char *)(unsigned long)main = 1;
    if (!strcmp(how, "data"))
        ((void (*)(void))(unsigned long)&zero)();
    if (!strcmp(how, "divide"))
        return argc * 100 / zero;
    if (!strcmp(how, "opcode"))
        __asm__ volatile("ud2");
    if (!strcmp(how, "break"))
        __asm__ volatile("int3");
    if (!strcmp(how, "hlt"))
        __asm__ volatile("hlt");
    if (!strcmp(how, "guard")) {
        char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return *(volatile char *)page;
    }
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "handler")) {
        signal(SIGSEGV, handler);
        *(volatile char *)(unsigned long)zero = 1;
    }
    if (!strcmp(how, "fork"))
        return syscall(SYS_fork) == -1;
    if (!strcmp(how, "enosys"))
        return syscall(9999) == -1 ? 42 : 1;
    return 0;
}
