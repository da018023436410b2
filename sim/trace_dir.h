/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory that a run leaves: cpu0.pt, cpu0.truth.gz, events.jsonl and image/ (ptsim(1),
 * FILES). */
#ifndef PTSIM_SIM_TRACE_DIR_H
#define PTSIM_SIM_TRACE_DIR_H

#include "image.h"
#include "machine.h"

struct trace_dir;

/* Makes the directory PATH, if it is not there, and the files in it, and opens them. NULL on an
 * error; errno says which. */
struct trace_dir *trace_dir_open(const char *path);
/* Has MACHINE fill the truth and the events; instructions at LIMIT and above are not in the truth.
 */
void trace_dir_watch(struct trace_dir *dir, struct machine *machine, uint64_t limit);
/* The next SIZE bytes of cpu0.pt. */
void trace_dir_store(struct trace_dir *dir, const void *data, size_t size);
/* Where the code goes. */
struct image *trace_dir_image(struct trace_dir *dir);
/* Something could not be written: errno is kept for trace_dir_close(). */
void trace_dir_fail(struct trace_dir *dir);
/* Ends and closes all files. False where anything could not be written; errno says why. RTIT_CTL is
 * what the trace was made with. */
bool trace_dir_close(struct trace_dir *dir, const struct cpu_profile *profile, uint64_t rtit_ctl);

#endif
