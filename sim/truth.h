/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpu0.truth.gz: the linear address of every executed instruction in order, 64 bits each,
 * little-endian, in gzip format. */
#ifndef PTSIM_SIM_TRUTH_H
#define PTSIM_SIM_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct truth;

/* Makes the file. NULL on an error; errno says which. */
struct truth *truth_open(const char *path);
/* Errors are kept for truth_close(). */
void truth_add(struct truth *truth, const uint64_t *ip, size_t n);
/* False where the file is not whole. */
bool truth_close(struct truth *truth);

#endif
