/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Golden files (docs/golden.md): what a scenario must give, written by hand. Nothing here writes
 * one. */
#ifndef PTSIM_SIM_GOLDEN_H
#define PTSIM_SIM_GOLDEN_H

#include <stdbool.h>
#include <stdint.h>

#include "../models/core/lp.h"
#include "packet_text.h"
#include "scenario.h"

/* A line of packets; in `repeat` there is one for each time. */
struct golden_packet {
    unsigned line;
    uint64_t offset;
    uint8_t size;
    const char *name;
    const char *payload;
};

/* A line of state, split at its spaces. */
struct golden_state {
    unsigned line;
    char **word; /* word[0] is msr, reg or mem */
    size_t words;
};

struct golden {
    char *path;
    char *text; /* of the file, which the others point into */
    struct mistake *mistake;
    char *ids; /* separated by single spaces */
    unsigned ids_line;
    char *cite;
    unsigned cite_line;
    bool has_packets; /* there is a `cpu` line: the packets count */
    struct golden_packet *packet;
    size_t packets;
    uint8_t *bytes; /* of all packets */
    size_t size;
    struct packet_list list; /* the same decoded */
    struct golden_state *state;
    size_t states;
};

/* Reads the file at PATH. False on a mistake in it; then there is nothing to free. MISTAKE must
 * outlive GOLDEN. */
bool golden_read(struct golden *golden, const char *path, struct mistake *mistake);
/* The same with the SIZE bytes of TEXT. */
bool golden_parse(struct golden *golden, const char *path, const char *text, size_t size,
                  struct mistake *mistake);
void golden_free(struct golden *golden);

/* Whether the file agrees with itself, text with bytes, and is SCENARIO's, whose labels are
 * there. False on a mistake. */
bool golden_check(const struct golden *golden, const struct scenario *scenario);

/* One line of state that is not as expected. */
struct state_difference {
    unsigned line;
    char what[80];
    char expected[400];
    char got[400];
};

/* Compares the line of state at INDEX with LP. False on a mistake in the line; else *SAME, and
 * where that is false *DIFFERENCE. */
bool golden_state_compare(const struct golden *golden, size_t index,
                          const struct scenario *scenario, struct lp *lp, bool *same,
                          struct state_difference *difference);

#endif
