/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../models/bits.h"
#include "events_jsonl.h"
#include "truth.h"

struct trace_dir {
    FILE *pt;
    FILE *events;
    struct truth *truth;
    struct image image;
    struct machine *machine;
    uint64_t limit;
    int error; /* the first errno, 0 for none */
};

void trace_dir_fail(struct trace_dir *dir)
{
    if (!dir->error)
        dir->error = errno ? errno : EIO;
}

/* PATH/NAME in BUF; what fopen() or truth_open() then says of a cut name is as good as any. */
static const char *join(char *buf, size_t size, const char *path, const char *name)
{
    snprintf(buf, size, "%s/%s", path, name);
    return buf;
}

/* Closes what is open. */
static void close_files(struct trace_dir *dir)
{
    if (dir->pt && fclose(dir->pt))
        trace_dir_fail(dir);
    if (dir->events && fclose(dir->events))
        trace_dir_fail(dir);
    if (dir->truth && !truth_close(dir->truth))
        trace_dir_fail(dir);
}

struct trace_dir *trace_dir_open(const char *path)
{
    struct trace_dir *dir = calloc(1, sizeof(*dir));
    char name[4096];

    if (!dir)
        return NULL;
    if ((mkdir(path, 0777) && errno != EEXIST) ||
        !(dir->pt = fopen(join(name, sizeof(name), path, "cpu0.pt"), "wb")) ||
        !(dir->events = fopen(join(name, sizeof(name), path, "events.jsonl"), "w")) ||
        !(dir->truth = truth_open(join(name, sizeof(name), path, "cpu0.truth.gz"))) ||
        !image_begin(&dir->image, path)) {
        int error = errno;

        close_files(dir);
        free(dir);
        errno = error;
        return NULL;
    }
    return dir;
}

static void on_event(void *ctx, uint64_t n, const struct ptsim_event *event)
{
    struct trace_dir *dir = ctx;
    const struct clock *clock = &machine_lp(dir->machine)->clock;

    events_jsonl_write(dir->events, n, clock_tsc_at(clock, clock->core), event);
}

static void on_truth(void *ctx, const uint64_t *ip, size_t n)
{
    struct trace_dir *dir = ctx;
    size_t from = 0;

    for (size_t i = 0; i <= n; i++) {
        if (i < n && ip[i] < dir->limit)
            continue;
        truth_add(dir->truth, ip + from, i - from);
        from = i + 1;
    }
}

void trace_dir_watch(struct trace_dir *dir, struct machine *machine, uint64_t limit)
{
    dir->machine = machine;
    dir->limit = limit;
    machine_watch(machine,
                  &(struct machine_watch){ .ctx = dir, .event = on_event, .truth = on_truth });
}

void trace_dir_store(struct trace_dir *dir, const void *data, size_t size)
{
    if (fwrite(data, 1, size, dir->pt) != size)
        trace_dir_fail(dir);
}

struct image *trace_dir_image(struct trace_dir *dir)
{
    return &dir->image;
}

bool trace_dir_close(struct trace_dir *dir, const struct cpu_profile *profile, uint64_t rtit_ctl)
{
    int error;

    if (!image_end(&dir->image, profile, (unsigned)bits_get(rtit_ctl, 17, 14)))
        trace_dir_fail(dir);
    if (ferror(dir->events))
        trace_dir_fail(dir);
    close_files(dir);
    error = dir->error;
    free(dir);
    errno = error;
    return error == 0;
}
