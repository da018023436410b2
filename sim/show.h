/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ptsim run and ptsim check print: code, packets, differences; as text on stdout and as JSON.
 */
#ifndef PTSIM_SIM_SHOW_H
#define PTSIM_SIM_SHOW_H

#include <jansson.h>

#include "golden.h"
#include "packet_diff.h"
#include "run.h"

/* Title and citation. */
void show_title(const struct scenario *scenario);
/* The lines of code that made bytes, with how often each was executed; needs a listing. */
void show_code(const struct run *run);
json_t *show_code_json(const struct run *run);
/* Packets as a golden file has them: offset, bytes, name and payload. */
void show_packets(const struct packet_list *list, const struct symbols *symbols);
json_t *show_packets_json(const struct packet_list *list, const struct symbols *symbols);
/* Rows of DIFF that differ, with a few round them. */
void show_diff(const struct packet_diff *diff, const struct golden *golden,
               const struct packet_list *got, const struct symbols *symbols);
json_t *show_diff_json(const struct packet_diff *diff, const struct golden *golden,
                       const struct packet_list *got, const struct symbols *symbols);

/* Prints VALUE, which it takes. False where stdout cannot be written. */
bool show_json(json_t *value);

enum show_colour {
    SHOW_GOOD,
    SHOW_WRONG,
    SHOW_DIM,
};
/* Text in a colour, where stdout is a terminal and NO_COLOR is not set. */
__attribute__((format(printf, 2, 3))) void show_coloured(enum show_colour colour,
                                                         const char *format, ...);

#endif
