/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool color_auto(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));
}

bool color_wanted(const char *when, bool *on)
{
    bool is_auto = !strcmp(when, "auto");

    *on = is_auto ? color_auto() : !strcmp(when, "always");
    return is_auto || *on || !strcmp(when, "never");
}

const char *color(bool on, enum color color)
{
    static const char *const sequence[] = {
        [COLOR_NONE] = "\033[0m",
        [COLOR_FAINT] = "\033[2m",
        [COLOR_BAD] = "\033[31m",
        [COLOR_GOOD] = "\033[32m",
    };

    return on ? sequence[color] : "";
}
