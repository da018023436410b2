/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colour on standard output. */
#ifndef PTSIM_SIM_COLOR_H
#define PTSIM_SIM_COLOR_H

#include <stdbool.h>

enum color {
    COLOR_NONE, /* ends what another began */
    COLOR_FAINT,
    COLOR_BAD,
    COLOR_GOOD,
};

/* What --color=WHEN asks for, in *ON: "always", "never", or "auto", which is colour on a terminal
 * unless the environment has NO_COLOR with a value (no-color.org) or TERM is dumb. False where WHEN
 * is none of them. */
bool color_wanted(const char *when, bool *on);

/* The sequence that begins COLOR; "" where colour is not ON. */
const char *color(bool on, enum color color);

#endif
