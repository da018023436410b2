/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a libFuzzer harness without libFuzzer: over the files of the command line, or over random
 * inputs, which are the same each time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUTS    20000
#define INPUT_MAX 512

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Bytes of all values, with stretches that repeat a pair and ones that repeat what was there. */
static size_t random_input(uint64_t *state, uint8_t *data)
{
    size_t size = next(state) % (INPUT_MAX + 1), at = 0;

    while (at < size) {
        uint64_t random = next(state);
        size_t length = 1 + random % 20;
        size_t back = at ? 1 + (random >> 8) % at : 0;
        unsigned kind = (unsigned)(random >> 60);

        for (; length && at < size; length--, at++)
            if (kind < 4)
                data[at] = at & 1 ? 0x82 : 0x02;
            else if (kind < 8 && back)
                data[at] = data[at - back];
            else if (kind < 12 && at % 4 == 0)
                data[at] = 0x02;
            else
                data[at] = (uint8_t)next(state);
    }
    return size;
}

/* A copy of its own for each input, so that a sanitizer sees what reads past it. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    for (size_t i = 0; i < size; i++)
        copy[i] = data[i];
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int run_file(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file) {
        perror(path);
        return EXIT_FAILURE;
    }
    size = fread(data, 1, sizeof(data), file);
    fclose(file);
    run(data, size);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    uint64_t state = 0x2545f4914f6cdd1d;
    static uint8_t data[INPUT_MAX];

    for (int i = 1; i < argc; i++)
        if (run_file(argv[i]))
            return EXIT_FAILURE;
    for (int i = 0; argc == 1 && i < INPUTS; i++)
        run(data, random_input(&state, data));
    return EXIT_SUCCESS;
}
