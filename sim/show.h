/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ptsim run and ptsim check print: code, packets, differences; as text on stdout and as JSON.
 */
#ifndef PTSIM_SIM_SHOW_H
#define PTSIM_SIM_SHOW_H

#include <jansson.h>

#include "color.h"
#include "golden.h"
#include "packet_diff.h"
#include "run.h"

/* Title and citation. */
void show_title(const struct scenario *scenario);
/* The lines of code that made bytes, with how often each was executed; needs a listing. */
void show_code(const struct run *run, bool color_on);
json_t *show_code_json(const struct run *run);
/* Packets as a golden file has them: offset, bytes, name and payload. */
void show_packets(const struct packet_list *list, const struct symbols *symbols);
json_t *show_packets_json(const struct packet_list *list, const struct symbols *symbols);
/* Rows of DIFF that differ, with a few round them. */
void show_diff(const struct packet_diff *diff, const struct golden *golden,
               const struct packet_list *got, const struct symbols *symbols, bool color_on);
json_t *show_diff_json(const struct packet_diff *diff, const struct golden *golden,
                       const struct packet_list *got, const struct symbols *symbols);

/* Prints VALUE, which it takes. False where stdout cannot be written. */
bool show_json(json_t *value);

/* Text in COLOR, where colour is ON. */
__attribute__((format(printf, 3, 4))) void show_colored(bool on, enum color color,
                                                        const char *format, ...);

#endif
