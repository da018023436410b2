/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of a scenario, from its file to what its processor stored. */
#ifndef PTSIM_SIM_RUN_H
#define PTSIM_SIM_RUN_H

#include "code_pages.h"
#include "machine.h"
#include "trace_dir.h"

enum run_status {
    RUN_OK,
    RUN_MISTAKE, /* the user's, told in the mistake */
    RUN_GUEST,   /* the guest did not come to its stop; told in the mistake as well */
};

struct run {
    struct scenario scenario;
    struct assembly code;
    struct code_pages pages; /* as they were at the start */
    struct machine *machine; /* as it stands at the end */
    struct trace_dir *dir;   /* where options->output goes */
    uint64_t rtit_ctl;       /* IA32_RTIT_CTL at the first instruction */
    uint8_t *trace;          /* the bytes stored, in that order */
    size_t trace_size;
    size_t trace_room;
    bool no_memory;     /* trace has not all bytes */
    uint64_t *executed; /* with a listing: how often each of code.line was executed */
    struct mistake mistake;
};

struct run_options {
    bool listing;                      /* run->code gets lines */
    const struct machine_watch *watch; /* one more watcher, or NULL */
    const char *output;                /* a directory for the files of docs/scenarios.md, or NULL */
};

/* Runs the scenario at PATH. RUN needs run_free() whatever the result. */
enum run_status run_scenario(struct run *run, const char *path, const struct run_options *options);
void run_free(struct run *run);

#endif
