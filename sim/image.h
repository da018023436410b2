/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory image/ beside a trace: the code, a file for each range, and ptxed.args, the
 * arguments with which Intel's ptxed decodes the trace:
 *
 *     cd DIR && ptxed $(cat image/ptxed.args)
 */
#ifndef PTSIM_SIM_IMAGE_H
#define PTSIM_SIM_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../models/profile.h"

struct image {
    const char *dir; /* where image/ is */
    FILE *args;
};

/* Makes DIR/image, if it is not there, and begins ptxed.args. This one and those below: false on an
 * error, errno says which. DIR must outlive IMAGE. */
bool image_begin(struct image *image, const char *dir);
/* SIZE bytes of code at linear address ADDRESS. Ranges must not overlap. */
bool image_add(struct image *image, uint64_t address, const void *code, size_t size);
/* The address range N, used as IA32_RTIT_CTL.ADDRn_CFG CFG says, from A to B: without it a decoder
 * cannot tell where a conditional branch left a range. */
bool image_range(struct image *image, unsigned n, unsigned cfg, uint64_t a, uint64_t b);
/* Ends ptxed.args with what the decoder must know of the processor and of the trace cpu0.pt, made
 * with MTC_FREQ, IA32_RTIT_CTL.MTCFreq. Must be called after image_begin() also when something
 * failed. */
bool image_end(struct image *image, const struct cpu_profile *profile, unsigned mtc_freq);

#endif
