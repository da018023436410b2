/* SPDX-License-Identifier: MIT */
#include "event.h"

const char *ev_kind_name(enum ev_kind kind)
{
    static const char *const name[] = {
#define EVENT(name, text, context) text,
#include "events.def"
#undef EVENT
    };

    return (unsigned)kind < EV_KINDS ? name[kind] : "unknown";
}
