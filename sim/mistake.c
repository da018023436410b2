/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mistake.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool mistake(struct mistake *to, const char *file, struct place at, const char *format, ...)
{
    char place[32] = "";
    char what[sizeof(to->text)];
    va_list args;

    if (at.line && at.column)
        snprintf(place, sizeof(place), ":%u:%u", at.line, at.column);
    else if (at.line)
        snprintf(place, sizeof(place), ":%u", at.line);
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    what[strcspn(what, "\n")] = '\0';
    if (snprintf(to->text, sizeof(to->text), "%s%s: %s", file, place, what) >=
        (int)sizeof(to->text))
        memcpy(to->text + sizeof(to->text) - 4, "...", 4);
    return false;
}
