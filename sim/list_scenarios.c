/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "list_scenarios.h"

#include <jansson.h>
#include <stdio.h>

#include "cmd.h"
#include "scenario.h"
#include "scenario_tree.h"
#include "show.h"

static json_t *scenario_json(const struct scenario *scenario)
{
    const struct scn_file *file = scenario->file;
    json_t *ids = json_array();

    for (unsigned i = 0; i < file->ids_count; i++)
        json_array_append_new(ids, json_string(file->ids[i].text));
    return json_pack("{s:s, s:s, s:s, s:o, s:s}", "scenario", scenario->path, "title",
                     file->title.text, "cite", file->cite.text, "ids", ids, "cpu",
                     scenario->cpu->name);
}

static int list_one(const char *path, json_t *list)
{
    struct scenario scenario;
    struct mistake mistake;

    if (!scenario_read(&scenario, path, &mistake))
        return cmd_error(CMD_USAGE, "%s", mistake.text);
    if (list)
        json_array_append_new(list, scenario_json(&scenario));
    else
        printf("%s\n  %s\n  %s\n", path, scenario.file->title.text, scenario.file->cite.text);
    scenario_free(&scenario);
    return CMD_OK;
}

int list_scenarios(int count, char *const *paths, bool json)
{
    struct path_list tree;
    struct mistake mistake;
    json_t *list = json ? json_array() : NULL;
    int status = CMD_OK;

    if (!scenario_tree_list(&tree, count, paths, &mistake)) {
        json_decref(list);
        return cmd_error(CMD_USAGE, "%s", mistake.text);
    }
    for (size_t i = 0; i < tree.count; i++)
        if (list_one(tree.path[i], list) != CMD_OK)
            status = CMD_USAGE;
    if (list && !show_json(list))
        status = cmd_error(CMD_USAGE, "cannot write to standard output");
    path_list_free(&tree);
    return status;
}
