/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assembler source to bytes in memory, with GNU as and ld. */
#ifndef PTSIM_SIM_ASSEMBLE_H
#define PTSIM_SIM_ASSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "mistake.h"
#include "symbols.h"

struct asm_source {
    const char *path; /* of the file it stands in, for mistakes */
    struct place at;  /* where TEXT begins in that file */
    const char *text; /* Intel syntax; `org NUMBER` goes on at that address */
    unsigned bits;    /* size of code it begins in: 16, 32 or 64 */
    uint64_t origin;  /* where it begins without org */
    bool listing;     /* whether lines are wanted */
};

/* SIZE bytes at linear address ADDRESS. */
struct asm_piece {
    uint64_t address;
    uint64_t size;
    uint8_t *bytes;
};

/* A line of the source that made bytes. */
struct asm_line {
    unsigned number; /* in TEXT, 1 based */
    uint64_t address;
};

struct assembly {
    struct asm_piece *piece; /* by address, none overlaps another */
    size_t pieces;
    struct asm_line *line; /* in the order of the source */
    size_t lines;
};

/* Assembles SOURCE, which can use SYMBOLS as constants, and adds its labels to them. False on a
 * mistake in the source, or where as or ld cannot be run; ASSEMBLY is then empty, and SYMBOLS may
 * have got some of the labels. */
bool assemble(const struct asm_source *source, struct symbols *symbols, struct assembly *assembly,
              struct mistake *mistake);
void assembly_free(struct assembly *assembly);

/* The byte at ADDRESS and those behind it in the same piece, NULL where there is none; SIZE is
 * how many. */
const uint8_t *assembly_at(const struct assembly *assembly, uint64_t address, uint64_t *size);

#endif
