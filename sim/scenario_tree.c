/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scenario_tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TREE   "scenarios"
#define SUFFIX ".yaml"

static const struct place nowhere = { .line = 0 };

static bool has_suffix(const char *name)
{
    size_t length = strlen(name);

    return length > strlen(SUFFIX) && !strcmp(name + length - strlen(SUFFIX), SUFFIX);
}

static bool add(struct path_list *list, const char *path, struct mistake *to)
{
    char **grown = realloc(list->path, (list->count + 1) * sizeof(list->path[0]));
    char *copy = strdup(path);

    if (grown)
        list->path = grown;
    if (!grown || !copy) {
        free(copy);
        return mistake(to, path, nowhere, "out of memory");
    }
    list->path[list->count++] = copy;
    return true;
}

static bool add_directory(struct path_list *list, const char *path, struct mistake *to);

/* NAME in the directory PATH, where it is a directory or a scenario. */
static bool add_entry(struct path_list *list, const char *path, const char *name,
                      struct mistake *to)
{
    size_t room = strlen(path) + strlen(name) + 2;
    char *full = malloc(room);
    struct stat status;
    bool fine = true;

    if (!full)
        return mistake(to, path, nowhere, "out of memory");
    snprintf(full, room, "%s/%s", path, name);
    if (stat(full, &status) == 0 && S_ISDIR(status.st_mode))
        fine = add_directory(list, full, to);
    else if (has_suffix(name))
        fine = add(list, full, to);
    free(full);
    return fine;
}

static bool add_directory(struct path_list *list, const char *path, struct mistake *to)
{
    struct dirent **entry;
    int count = scandir(path, &entry, NULL, alphasort);
    bool fine = true;

    if (count < 0)
        return mistake(to, path, nowhere, "cannot be read: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        if (fine && entry[i]->d_name[0] != '.')
            fine = add_entry(list, path, entry[i]->d_name, to);
        free(entry[i]);
    }
    free(entry);
    return fine;
}

static bool add_path(struct path_list *list, const char *path, struct mistake *to)
{
    size_t before = list->count;
    struct stat status;

    if (stat(path, &status) != 0)
        return mistake(to, path, nowhere, "cannot be read: %s", strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return add(list, path, to);
    if (!add_directory(list, path, to))
        return false;
    return list->count > before ||
           mistake(to, path, nowhere, "no scenarios (files named *.yaml) below this directory");
}

static const char *default_tree(void)
{
    struct stat status;

    return stat(TREE, &status) == 0 ? TREE : PKGDATADIR "/" TREE;
}

bool scenario_tree_list(struct path_list *list, int argc, char *const *argv, struct mistake *to)
{
    bool fine = true;

    *list = (struct path_list){ .path = NULL };
    if (!argc)
        fine = add_path(list, default_tree(), to);
    for (int i = 0; fine && i < argc; i++)
        fine = add_path(list, argv[i], to);
    if (!fine)
        path_list_free(list);
    return fine;
}

void path_list_free(struct path_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->path[i]);
    free(list->path);
    *list = (struct path_list){ .path = NULL };
}

/* The last directory of that name in PATH, or NULL. */
static const char *find_tree(const char *path)
{
    const char *found = NULL;

    for (const char *at = path; (at = strstr(at, TREE "/")); at++)
        if (at == path || at[-1] == '/')
            found = at;
    return found;
}

static char *golden_below(const char *path, const char *tree)
{
    static const char golden[] = "golden/sdm/", suffix[] = ".golden";
    const char *rest = tree + strlen(TREE "/");
    size_t length = strlen(rest) - (has_suffix(rest) ? strlen(SUFFIX) : 0);
    size_t room = (size_t)(tree - path) + length + sizeof(golden) + sizeof(suffix);
    char *out = malloc(room);

    if (out)
        snprintf(out, room, "%.*s%s%.*s%s", (int)(tree - path), path, golden, (int)length, rest,
                 suffix);
    return out;
}

char *scenario_tree_golden(const char *path, struct mistake *to)
{
    const char *tree = find_tree(path);
    char *whole = tree ? NULL : realpath(path, NULL);
    char *golden = NULL;

    if (whole)
        tree = find_tree(whole);
    if (!tree)
        mistake(to, path, nowhere,
                "not below a directory '" TREE "', so there is no place for its golden file");
    else if (!(golden = golden_below(whole ? whole : path, tree)))
        mistake(to, path, nowhere, "out of memory");
    free(whole);
    return golden;
}
