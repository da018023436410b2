/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a libFuzzer harness for text without libFuzzer: over the scenarios and golden files of the
 * tree, and over what a few changes make of each, which are the same each time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sim/scenario_tree.h"
#include "../../sim/text_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    CHANGED = 40, /* of each file */
    CHANGES_MAX = 4,
    SIZE_MAX_CHANGED = 1 << 14,
};

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Deletes, doubles, moves or replaces something; returns the new size. */
static size_t change(uint64_t *state, char *text, size_t size)
{
    static const char *const words[] = { "[",    "]",   "{",  "}",  ":",
                                         ": ",   "- ",  "\n", " ",  "#",
                                         "|",    "&a ", "*a", "!",  "'",
                                         "\"",   "0x",  "-1", "4G", "18446744073709551615",
                                         "4096", "\t",  "?",  "%",  "---\n" };
    size_t at = size ? next(state) % size : 0;
    size_t length = size ? 1 + next(state) % 12 : 0;
    const char *word = words[next(state) % (sizeof(words) / sizeof(words[0]))];

    if (length > size - at)
        length = size - at;
    switch (next(state) % 4) {
    case 0:
        memmove(text + at, text + at + length, size - at - length);
        return size - length;
    case 1:
        if (size + length > SIZE_MAX_CHANGED)
            return size;
        memmove(text + at + length, text + at, size - at);
        return size + length;
    case 2:
        if (size)
            text[at] = (char)next(state);
        return size;
    default:
        length = strlen(word);
        if (size + length > SIZE_MAX_CHANGED)
            return size;
        memmove(text + at + length, text + at, size - at);
        memcpy(text + at, word, length);
        return size + length;
    }
}

/* A copy of its own for each input, so that a sanitizer sees what reads past it. */
static void run(const char *text, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    memcpy(copy, text, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_file(const char *path, uint64_t *state)
{
    static char changed[SIZE_MAX_CHANGED];
    struct mistake mistake;
    size_t size;
    char *text = text_file_read(path, &size, &mistake);

    if (!text)
        return;
    run(text, size);
    for (int i = 0; i < CHANGED && size <= sizeof(changed); i++) {
        size_t now = size;

        memcpy(changed, text, size);
        for (uint64_t changes = 1 + next(state) % CHANGES_MAX; changes; changes--)
            now = change(state, changed, now);
        run(changed, now);
    }
    free(text);
}

int main(void)
{
    const char *srcdir = getenv("srcdir");
    char tree[4096];
    char *const trees[] = { tree };
    uint64_t state = 0x2545f4914f6cdd1d;
    struct path_list paths;
    struct mistake mistake;

    snprintf(tree, sizeof(tree), "%s/scenarios", srcdir ? srcdir : ".");
    if (!scenario_tree_list(&paths, 1, trees, &mistake)) {
        fprintf(stderr, "%s\n", mistake.text);
        return 99;
    }
    for (size_t i = 0; i < paths.count; i++) {
        char *golden = scenario_tree_golden(paths.path[i], &mistake);

        run_file(paths.path[i], &state);
        if (golden)
            run_file(golden, &state);
        free(golden);
    }
    path_list_free(&paths);
    return 0;
}
