/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user's mistake in a file: one line that says where, what was wrong and what was expected. */
#ifndef PTSIM_SIM_MISTAKE_H
#define PTSIM_SIM_MISTAKE_H

#include <stdbool.h>

/* A place in a text file, 1 based. Line 0: the file as a whole; column 0: the line as a whole. */
struct place {
    unsigned line;
    unsigned column;
};

struct mistake {
    char text[512]; /* "FILE:LINE:COLUMN: what", without a newline */
};

/* Writes the line and returns false, so that a function can end with `return mistake(...)`. Of
 * the message only its first line is taken, as much of it as there is room for. */
__attribute__((format(printf, 4, 5))) bool mistake(struct mistake *to, const char *file,
                                                   struct place at, const char *format, ...);

#endif
