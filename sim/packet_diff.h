/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two lists of packets side by side. */
#ifndef PTSIM_SIM_PACKET_DIFF_H
#define PTSIM_SIM_PACKET_DIFF_H

#include "packet_text.h"

/* A row: packets by their index, -1 where that side has none. */
struct packet_pair {
    long expected;
    long got;
    bool same;
};

struct packet_diff {
    struct packet_pair *row;
    size_t rows;
    size_t differences; /* rows that are not the same */
};

/* Pairs the packets so that as many as possible are the same; where the part that differs is very
 * long, one by one. False when out of memory. */
bool packet_diff_make(struct packet_diff *diff, const struct packet_list *expected,
                      const struct packet_list *got);
void packet_diff_free(struct packet_diff *diff);

#endif
