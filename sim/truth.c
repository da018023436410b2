/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "truth.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "../models/ports.h"

#define BATCH 4096 /* addresses */

struct truth {
    gzFile file;
    bool failed;
    uint8_t bytes[8 * BATCH];
    size_t used; /* bytes */
};

struct truth *truth_open(const char *path)
{
    struct truth *truth = calloc(1, sizeof(*truth));

    if (!truth)
        return NULL;
    /* the addresses repeat so much that the fastest level does nearly as well as the best */
    truth->file = gzopen(path, "wb1");
    if (!truth->file) {
        free(truth);
        return NULL;
    }
    (void)gzbuffer(truth->file, 1 << 17);
    return truth;
}

static void write_out(struct truth *truth)
{
    if (truth->used && gzwrite(truth->file, truth->bytes, (unsigned)truth->used) == 0)
        truth->failed = true;
    truth->used = 0;
}

void truth_add(struct truth *truth, const uint64_t *ip, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        le_store(truth->bytes + truth->used, ip[i], 8);
        truth->used += 8;
        if (truth->used == sizeof(truth->bytes))
            write_out(truth);
    }
}

bool truth_close(struct truth *truth)
{
    bool whole;

    write_out(truth);
    whole = gzclose(truth->file) == Z_OK && !truth->failed;
    free(truth);
    if (!whole && !errno)
        errno = EIO;
    return whole;
}
