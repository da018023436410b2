/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heap in all its ways, large string operations, and clocks and random bytes that are
 * checked, not printed: they are not those of the host. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static const void *volatile nowhere;

static unsigned checksum(const unsigned char *data, size_t size)
{
    unsigned sum = 1;

    for (size_t i = 0; i < size; i += 97)
        sum = sum * 33 + data[i];
    return sum;
}

static unsigned heap(void)
{
    unsigned char *blocks[64] = { 0 };
    unsigned sum = 0;

    for (unsigned i = 0; i < 2000; i++) {
        unsigned at = i * 7 % 64;
        size_t size = (size_t)(i * 7919 % 5000) + (i % 50 == 0 ? 300000 : 1);

        blocks[at] = realloc(blocks[at], size);
        memset(blocks[at], (int)i, size);
        sum += checksum(blocks[at], size);
    }
    for (unsigned i = 0; i < 64; i++)
        free(blocks[i]);
    return sum;
}

/* 1 where all is as it should be. */
static int mappings(void)
{
    size_t size = 1 << 20;
    unsigned char *map =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return 0;
    memset(map, 1, size);
    if (mprotect(map, size / 2, PROT_READ) || madvise(map + size / 2, size / 2, MADV_DONTNEED))
        return 0;
    if (map[0] != 1 || map[size / 2] != 0)
        return 0;
    if (mprotect(map, size / 2, PROT_READ | PROT_WRITE))
        return 0;
    map = mremap(map, size, 3 * size, MREMAP_MAYMOVE);
    return map != MAP_FAILED && map[size / 2 - 1] == 1 && map[2 * size] == 0 &&
           !munmap(map, 3 * size);
}

static int clocks(void)
{
    struct timespec first;
    struct timespec second;
    unsigned char random[40] = { 0 };
    unsigned sum = 0;

    if (clock_gettime(CLOCK_MONOTONIC, &first) || getrandom(random, 40, 0) != 40)
        return 0;
    for (unsigned i = 0; i < 40; i++)
        sum += random[i];
    if (clock_gettime(CLOCK_MONOTONIC, &second))
        return 0;
    return sum != 0 && (second.tv_sec > first.tv_sec || second.tv_nsec > first.tv_nsec);
}

int main(int argc, char **argv)
{
    printf("%u %d %d %d %s\n", heap(), mappings(), clocks(), argc, argv[argc - 1]);
    fflush(stdout);
    return write(1, nowhere, 1) == -1 ? 0 : 1;
}
