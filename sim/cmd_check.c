/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ptsim check: scenarios against their golden files. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "scenario_tree.h"
#include "show.h"

/* Options without a letter. */
enum {
    OPTION_COLOR = 256
};

struct options {
    bool verbose;
    bool json;
    bool color;
};

enum verdict {
    SAME,
    DIFFERS,
    MISTAKE,
    GUEST,
    VERDICTS
};

static const char *const verdict_names[] = { "same", "differs", "mistake", "guest" };

/* One scenario, being checked. */
struct check {
    const struct options *options;
    const char *path;
    char *golden_path;
    struct run run;
    struct golden golden;
    struct packet_list got;
    struct packet_diff diff;
    struct state_difference *state; /* those lines of state that differ */
    size_t states;
    struct mistake mistake;
    bool has_golden;
};

/* ---- comparing ---- */

static bool add_state(struct check *check, const struct state_difference *difference)
{
    struct state_difference *grown =
        realloc(check->state, (check->states + 1) * sizeof(check->state[0]));

    if (!grown)
        return mistake(&check->mistake, check->path, (struct place){ .line = 0 }, "out of memory");
    check->state = grown;
    check->state[check->states++] = *difference;
    return true;
}

static bool compare_state(struct check *check)
{
    for (size_t i = 0; i < check->golden.states; i++) {
        struct state_difference difference;
        bool same;

        if (!golden_state_compare(&check->golden, i, &check->run.scenario,
                                  machine_lp(check->run.machine), &same, &difference))
            return false;
        if (!same && !add_state(check, &difference))
            return false;
    }
    return true;
}

static enum verdict compare(struct check *check)
{
    if (!packet_list_make(&check->got, check->run.trace, check->run.trace_size) ||
        (check->golden.has_packets &&
         !packet_diff_make(&check->diff, &check->golden.list, &check->got))) {
        mistake(&check->mistake, check->path, (struct place){ .line = 0 }, "out of memory");
        return MISTAKE;
    }
    if (!compare_state(check))
        return MISTAKE;
    return check->diff.differences || check->states ? DIFFERS : SAME;
}

static enum verdict judge(struct check *check)
{
    const struct run_options run_options = { .listing = check->options->verbose };
    enum run_status result = run_scenario(&check->run, check->path, &run_options);

    check->mistake = check->run.mistake;
    if (result != RUN_OK)
        return result == RUN_GUEST ? GUEST : MISTAKE;
    check->golden_path = scenario_tree_golden(check->path, &check->mistake);
    if (!check->golden_path)
        return MISTAKE;
    if (access(check->golden_path, F_OK) != 0)
        return packet_list_make(&check->got, check->run.trace, check->run.trace_size) ? DIFFERS
                                                                                      : MISTAKE;
    if (!golden_read(&check->golden, check->golden_path, &check->mistake))
        return MISTAKE;
    check->has_golden = true;
    return golden_check(&check->golden, &check->run.scenario) ? compare(check) : MISTAKE;
}

static void check_free(struct check *check)
{
    free(check->state);
    packet_diff_free(&check->diff);
    packet_list_free(&check->got);
    if (check->has_golden)
        golden_free(&check->golden);
    free(check->golden_path);
    run_free(&check->run);
}

/* ---- telling ---- */

static void show_difference(const struct check *check)
{
    const struct scenario *s = &check->run.scenario;

    if (!check->has_golden) {
        show_colored(check->options->color, COLOR_BAD, "%s: no golden file %s\n", check->path,
                     check->golden_path);
        return;
    }
    show_colored(check->options->color, COLOR_BAD, "%s: differs from %s\n", check->path,
                 check->golden.cite);
    printf("  %s\n", check->golden_path);
    if (check->diff.differences)
        show_diff(&check->diff, &check->golden, &check->got, &s->symbols, check->options->color);
    for (size_t i = 0; i < check->states; i++) {
        const struct state_difference *state = &check->state[i];

        show_colored(check->options->color, COLOR_BAD,
                     "line %4u  %s\n      expected  %s\n      got       %s\n", state->line,
                     state->what, state->expected, state->got);
    }
}

static void show_verbose(const struct check *check)
{
    show_title(&check->run.scenario);
    show_code(&check->run, check->options->color);
    show_packets(&check->got, &check->run.scenario.symbols);
    putchar('\n');
}

static void show_text(const struct check *check, enum verdict verdict)
{
    if (check->options->verbose && (verdict == SAME || verdict == DIFFERS))
        show_verbose(check);
    if (verdict == DIFFERS)
        show_difference(check);
    else if (verdict == SAME && check->options->verbose)
        show_colored(check->options->color, COLOR_GOOD, "as %s says (%s)\n", check->golden.cite,
                     check->golden_path);
}

static json_t *states_json(const struct check *check)
{
    json_t *list = json_array();

    for (size_t i = 0; i < check->states; i++)
        json_array_append_new(list,
                              json_pack("{s:i, s:s, s:s, s:s}", "line", (int)check->state[i].line,
                                        "what", check->state[i].what, "expected",
                                        check->state[i].expected, "got", check->state[i].got));
    return list;
}

static json_t *check_json(const struct check *check, enum verdict verdict)
{
    json_t *object =
        json_pack("{s:s, s:s}", "scenario", check->path, "verdict", verdict_names[verdict]);
    const struct scenario *s = &check->run.scenario;

    if (check->golden_path)
        json_object_set_new(object, "golden", json_string(check->golden_path));
    if (verdict == MISTAKE || verdict == GUEST) {
        json_object_set_new(object, "error", json_string(check->mistake.text));
        return object;
    }
    json_object_set_new(object, "title", json_string(s->file->title.text));
    json_object_set_new(object, "cite", json_string(s->file->cite.text));
    if (check->options->verbose) {
        json_object_set_new(object, "code", show_code_json(&check->run));
        json_object_set_new(object, "packets", show_packets_json(&check->got, &s->symbols));
    }
    if (verdict == DIFFERS && check->has_golden) {
        json_object_set_new(object, "differences",
                            show_diff_json(&check->diff, &check->golden, &check->got, &s->symbols));
        json_object_set_new(object, "state", states_json(check));
    }
    return object;
}

static enum verdict check_one(const char *path, const struct options *options, json_t *list)
{
    struct check check = { .options = options, .path = path };
    enum verdict verdict = judge(&check);

    if (verdict == MISTAKE || verdict == GUEST)
        cmd_error(CMD_USAGE, "%s", check.mistake.text);
    if (options->json)
        json_array_append_new(list, check_json(&check, verdict));
    else
        show_text(&check, verdict);
    check_free(&check);
    return verdict;
}

/* "12 scenarios: 10 as their golden files say, 2 differing". */
static void show_summary(const size_t *count, bool color_on)
{
    static const char *const words[] = { "as their golden files say", "differing", "with a mistake",
                                         "that did not come to their stop" };
    size_t all = 0, named = 0;

    for (int i = 0; i < VERDICTS; i++)
        all += count[i];
    printf("%zu scenario%s:", all, all == 1 ? "" : "s");
    for (int i = 0; i < VERDICTS; i++)
        if (count[i])
            show_colored(color_on, i == SAME ? COLOR_GOOD : COLOR_BAD, "%s %zu %s",
                         named++ ? "," : "", count[i], words[i]);
    putchar('\n');
}

static int check_all(const struct path_list *paths, const struct options *options)
{
    size_t count[VERDICTS] = { 0 };
    json_t *list = options->json ? json_array() : NULL;

    for (size_t i = 0; i < paths->count; i++) {
        if (options->verbose && !options->json && i)
            putchar('\n');
        count[check_one(paths->path[i], options, list)]++;
    }
    if (options->json && !show_json(list))
        return cmd_error(CMD_USAGE, "cannot write to standard output");
    if (!options->json && !(options->verbose && paths->count == 1))
        show_summary(count, options->color);
    if (count[MISTAKE])
        return CMD_USAGE;
    if (count[GUEST])
        return CMD_GUEST;
    return count[DIFFERS] ? CMD_DIFFERS : CMD_OK;
}

int cmd_check(int argc, char **argv)
{
    static const struct option long_options[] = {
        { "verbose", no_argument, NULL, 'v' },
        { "json", no_argument, NULL, 'j' },
        { "color", required_argument, NULL, OPTION_COLOR },
        { 0 },
    };
    struct options options = { .verbose = false };
    struct path_list paths;
    struct mistake mistake;
    const char *color_when = "auto";
    int option, status;

    while ((option = getopt_long(argc, argv, "vj", long_options, NULL)) != -1) {
        switch (option) {
        case 'v':
            options.verbose = true;
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
        return cmd_error(CMD_USAGE, "check: --color=%s; it is auto, always or never", color_when);
    if (!scenario_tree_list(&paths, argc - optind, argv + optind, &mistake))
        return cmd_error(CMD_USAGE, "%s", mistake.text);
    status = check_all(&paths, &options);
    path_list_free(&paths);
    return status;
}
