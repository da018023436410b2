/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ptsim run: one scenario, its packets, and the files of the run. */
#include <getopt.h>
#include <stdio.h>

#include "cmd.h"
#include "show.h"

/* Options without a letter. */
enum {
    OPTION_COLOR = 256
};

struct options {
    bool verbose;
    bool json;
    bool color;
    struct run_options run;
};

static json_t *run_json(const struct run *run, const struct packet_list *list, bool verbose)
{
    const struct scenario *s = &run->scenario;
    json_t *object = json_pack("{s:s, s:s, s:s, s:I, s:o}", "scenario", s->path, "title",
                               s->file->title.text, "cite", s->file->cite.text, "instructions",
                               (json_int_t)machine_instructions(run->machine), "packets",
                               show_packets_json(list, &s->symbols));

    if (verbose)
        json_object_set_new(object, "code", show_code_json(run));
    return object;
}

static int show(const struct run *run, const struct options *options)
{
    struct packet_list list;
    int status = CMD_OK;

    if (!packet_list_make(&list, run->trace, run->trace_size))
        return cmd_error(CMD_USAGE, "out of memory");
    if (options->json) {
        if (!show_json(run_json(run, &list, options->verbose)))
            status = cmd_error(CMD_USAGE, "cannot write to standard output");
    } else {
        show_title(&run->scenario);
        if (options->verbose)
            show_code(run, options->color);
        show_packets(&list, &run->scenario.symbols);
    }
    packet_list_free(&list);
    return status;
}

static int run_one(const char *path, const struct options *options)
{
    struct run run;
    enum run_status result = run_scenario(&run, path, &options->run);
    int status = CMD_OK;

    if (run.machine && result != RUN_MISTAKE)
        status = show(&run, options);
    if (result != RUN_OK)
        status = cmd_error(result == RUN_GUEST ? CMD_GUEST : CMD_USAGE, "%s", run.mistake.text);
    run_free(&run);
    return status;
}

int cmd_run(int argc, char **argv)
{
    static const struct option long_options[] = {
        { "output", required_argument, NULL, 'o' },
        { "verbose", no_argument, NULL, 'v' },
        { "json", no_argument, NULL, 'j' },
        { "color", required_argument, NULL, OPTION_COLOR },
        { 0 },
    };
    struct options options = { .verbose = false };
    const char *color_when = "auto";
    int option;

    while ((option = getopt_long(argc, argv, "o:vj", long_options, NULL)) != -1) {
        switch (option) {
        case 'o':
            options.run.output = optarg;
            break;
        case 'v':
            options.verbose = options.run.listing = true;
            break;
        case 'j':
            options.json = true;
            break;
        case OPTION_COLOR:
            color_when = optarg;
            break;
        default:
            return cmd_bad_option(argv);
        }
    }
    if (!color_wanted(color_when, &options.color))
        return cmd_error(CMD_USAGE, "run: --color=%s; it is auto, always or never", color_when);
    if (argc - optind != 1)
        return cmd_error(CMD_USAGE, "run: name one scenario; see 'ptsim run --help'");
    return run_one(argv[optind], &options);
}
