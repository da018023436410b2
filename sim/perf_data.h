/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A perf.data file that holds a PT trace, as `perf record -e intel_pt//` writes it: what
 * `perf script` and `perf report` read.
 *
 * Sources: Linux, include/uapi/linux/perf_event.h for the attributes and the kernel's records;
 * tools/perf/Documentation/perf.data-file-format.txt for the file around them. */
#ifndef PTSIM_SIM_PERF_DATA_H
#define PTSIM_SIM_PERF_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../models/profile.h"

/* A mapping of executable code. perf reads the code from the file at PATH. */
struct perf_data_map {
    uint64_t start;  /* linear address */
    uint64_t size;   /* bytes */
    uint64_t offset; /* in the file */
    const char *path;
    const uint8_t *build_id; /* NULL: none */
    size_t build_id_size;    /* at most 20 */
};

struct perf_data {
    const struct cpu_profile *profile;
    uint64_t rtit_ctl; /* IA32_RTIT_CTL with which the trace was made */
    uint64_t end_tsc;  /* the TSC when the trace was taken from the processor */
    uint32_t pid;
    const char *comm; /* the name of the program, at most 15 characters are kept */
    const struct perf_data_map *map;
    size_t maps;
    const char *const *argv; /* of the command that recorded, argc strings */
    size_t argc;
};

/* Writes the file to OUT, which must be seekable, with TRACE_SIZE bytes of TRACE in it. False on
 * a read or write error; errno says which. */
bool perf_data_write(FILE *out, const struct perf_data *data, FILE *trace, uint64_t trace_size);

#endif
