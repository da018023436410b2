/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A scenario file as it is written: every scalar a string with its place, the shape checked against
 * scenario_keys.def. What the strings mean is scenario.h's. */
#ifndef PTSIM_SIM_SCENARIO_YAML_H
#define PTSIM_SIM_SCENARIO_YAML_H

#include <stddef.h>

#include "mistake.h"

/* A scalar; text is NULL where the key is not there. */
struct scn_text {
    unsigned line;
    unsigned column;
    char *text;
};

/* NAME: [VALUE, ...], or NAME: VALUE. */
struct scn_pair {
    struct scn_text name;
    struct scn_text *value;
    unsigned value_count;
};

/* The mappings; `here` has no text, but the place where the mapping begins. What is not there is
 * NULL, with a count of 0. */
#define BEGIN(s)                                                                                   \
    struct scn_##s {                                                                               \
        struct scn_text here;
#define TEXT(s, member, key, need) struct scn_text member;
#define LIST(s, member, key)                                                                       \
    struct scn_text *member;                                                                       \
    unsigned member##_count;
#define PAIRS(s, member, key)                                                                      \
    struct scn_pair *member;                                                                       \
    unsigned member##_count;
#define MAP(s, member, key, sub) struct scn_##sub *member;
#define MAPS(s, member, key, sub)                                                                  \
    struct scn_##sub *member;                                                                      \
    unsigned member##_count;
#define NAMED(s, member, key, sub) MAPS(s, member, key, sub)
#define END(s)                                                                                     \
    }                                                                                              \
    ;
#include "scenario_keys.def"
#undef BEGIN
#undef TEXT
#undef LIST
#undef PAIRS
#undef MAP
#undef MAPS
#undef NAMED
#undef END

/* Parses the SIZE bytes at YAML, which PATH names in a mistake. NULL on a mistake. */
struct scn_file *scn_parse(const char *path, const char *yaml, size_t size,
                           struct mistake *mistake);
/* The same of the file at PATH. */
struct scn_file *scn_read(const char *path, struct mistake *mistake);
void scn_free(struct scn_file *file);

static inline struct place scn_place(const struct scn_text *text)
{
    return (struct place){ .line = text->line, .column = text->column };
}

#endif
