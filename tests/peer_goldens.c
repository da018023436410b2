/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every scenario through libipt: what it makes of the trace is what was executed. Scenarios that it
 * cannot follow are listed in peer_goldens.txt, each with the reason; the list must be true. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sim/run.h"
#include "../sim/scenario_tree.h"
#include "../sim/text_file.h"
#include "peer_flow.h"

/* The instructions that were executed while PacketEn was set. INT n and its kin are none to libipt:
 * the FUP in front of the TIP is their own address (33.4.2.6), and so it takes them for
 * interrupted before they ran. */
struct truth {
    uint64_t *ip;
    size_t count;
    uint64_t *change; /* instruction numbers at which PacketEn changed: on, off, on... */
    size_t changes;
    uint64_t *skip; /* instruction numbers of INT n and its kin */
    size_t skips;
};

static void *more(void *array, size_t bytes)
{
    array = realloc(array, bytes);
    if (!array) {
        perror("peer_goldens");
        exit(99);
    }
    return array;
}

static void on_truth(void *ctx, const uint64_t *ip, size_t n)
{
    struct truth *truth = ctx;

    truth->ip = more(truth->ip, (truth->count + n + 1) * sizeof(*ip));
    memcpy(truth->ip + truth->count, ip, n * sizeof(*ip));
    truth->count += n;
}

static void on_packet_en(void *ctx, uint64_t n, bool packet_en)
{
    struct truth *truth = ctx;

    if (packet_en == (truth->changes & 1))
        return;
    truth->change = more(truth->change, (truth->changes + 1) * sizeof(n));
    truth->change[truth->changes++] = n;
}

static void on_event(void *ctx, uint64_t n, const struct ptsim_event *event)
{
    struct truth *truth = ctx;

    if (event->kind != EV_SW_INTERRUPT)
        return;
    truth->skip = more(truth->skip, (truth->skips + 1) * sizeof(n));
    truth->skip[truth->skips++] = n - 1;
}

/* Leaves only those instructions that libipt has to come by. */
static void keep_traced(struct truth *truth)
{
    size_t kept = 0, change = 0, skip = 0;

    for (size_t i = 0; i < truth->count; i++) {
        while (change < truth->changes && truth->change[change] <= i)
            change++;
        while (skip < truth->skips && truth->skip[skip] < i)
            skip++;
        if ((change & 1) && !(skip < truth->skips && truth->skip[skip] == i))
            truth->ip[kept++] = truth->ip[i];
    }
    truth->count = kept;
}

static int read_pages(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
                      void *ctx)
{
    const struct code_pages *pages = ctx;

    (void)asid;
    for (size_t i = 0; i < pages->count; i++) {
        uint64_t offset = ip - pages->page[i].linear;

        if (offset >= sizeof(pages->page[i].bytes))
            continue;
        if (size > sizeof(pages->page[i].bytes) - offset)
            size = (size_t)(sizeof(pages->page[i].bytes) - offset);
        memcpy(buffer, pages->page[i].bytes + offset, size);
        return (int)size;
    }
    return -pte_nomap;
}

/* Whether libipt follows the scenario at PATH; WHY says why not. */
static bool follows(const char *path, char *why, size_t size)
{
    struct truth truth = { .ip = NULL };
    const struct machine_watch watch = {
        .ctx = &truth, .truth = on_truth, .packet_en = on_packet_en, .event = on_event
    };
    const struct run_options options = { .watch = &watch };
    struct pt_image *image = pt_image_alloc(NULL);
    struct run run;
    bool fine = false;

    if (!image)
        exit(99);
    if (run_scenario(&run, path, &options) != RUN_OK) {
        snprintf(why, size, "%s", run.mistake.text);
        goto out;
    }
    keep_traced(&truth);
    if (run.trace_size == 0) {
        fine = truth.count == 0;
        snprintf(why, size, "no trace of %zu instructions", truth.count);
    } else {
        pt_image_set_callback(image, read_pages, &run.pages);
        fine = peer_flow_check(&(struct peer_flow){ .profile = run.scenario.cpu,
                                                    .rtit_ctl = run.rtit_ctl,
                                                    .ranges = machine_lp(run.machine)->pt.addr,
                                                    .trace = run.trace,
                                                    .trace_size = run.trace_size,
                                                    .image = image,
                                                    .truth = truth.ip,
                                                    .truth_size = truth.count },
                               why, size);
    }
out:
    run_free(&run);
    pt_image_free(image);
    free(truth.ip);
    free(truth.change);
    free(truth.skip);
    return fine;
}

/* Whether a line of LIST begins with the part of PATH behind scenarios/. */
static bool is_listed(const char *list, const char *path)
{
    const char *name = strstr(path, "scenarios/");
    size_t length;

    name = name ? name + strlen("scenarios/") : path;
    length = strlen(name);
    for (const char *line = list; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, length) && strchr(" \t", line[length]))
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    const char *srcdir = getenv("srcdir");
    struct mistake mistake;
    char list_path[4096], tree[4096], why[sizeof(mistake.text)];
    char *const trees[] = { tree };
    struct path_list paths;
    size_t size;
    char *list;
    int failed = 0;

    snprintf(tree, sizeof(tree), "%s/scenarios", srcdir ? srcdir : ".");
    snprintf(list_path, sizeof(list_path), "%s/tests/peer_goldens.txt", srcdir ? srcdir : ".");
    list = text_file_read(list_path, &size, &mistake);
    if (!list || !(argc > 1 ? scenario_tree_list(&paths, argc - 1, argv + 1, &mistake)
                            : scenario_tree_list(&paths, 1, trees, &mistake))) {
        fprintf(stderr, "%s\n", mistake.text);
        return 99;
    }
    for (size_t i = 0; i < paths.count; i++) {
        bool fine = follows(paths.path[i], why, sizeof(why));
        bool listed = is_listed(list, paths.path[i]);

        if (fine != listed)
            continue;
        failed++;
        printf("%s: %s\n", paths.path[i],
               fine ? "in tests/peer_goldens.txt, but libipt follows it" : why);
    }
    printf("%zu scenarios, %d wrong\n", paths.count, failed);
    path_list_free(&paths);
    free(list);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
