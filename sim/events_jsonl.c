/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "events_jsonl.h"

#include <inttypes.h>

enum {
    NEAR,
    FAR
};

static const uint8_t context[] = {
#define EVENT(name, text, context) context,
#include "../models/events.def"
#undef EVENT
};

static bool has_vector(enum ev_kind kind)
{
    return kind == EV_SW_INTERRUPT || kind == EV_FAULT || kind == EV_TRAP || kind == EV_INTERRUPT ||
           kind == EV_NMI || kind == EV_SIPI;
}

static bool has_value(enum ev_kind kind)
{
    return kind == EV_FAULT || kind == EV_MOV_CR3 || kind == EV_PTWRITE;
}

void events_jsonl_write(FILE *file, uint64_t n, uint64_t tsc, const struct ptsim_event *event)
{
    enum ev_kind kind = event->kind;

    if (context[kind] == NEAR && kind != EV_PTWRITE && kind != EV_CLOCK_STOP &&
        kind != EV_CLOCK_START && kind != EV_OVERFLOW && kind != EV_OVERFLOW_END)
        return;
    fprintf(file,
            "{\"event\": \"%s\", \"n\": %" PRIu64 ", \"tsc\": %" PRIu64 ", \"from\": \"0x%" PRIx64
            "\", \"to\": \"0x%" PRIx64 "\"",
            ev_kind_name(kind), n, tsc, event->from_ip, event->to_ip);
    if (context[kind] == FAR)
        fprintf(file, ", \"cpl\": [%u, %u]", event->before.cpl, event->after.cpl);
    if (has_vector(kind))
        fprintf(file, ", \"vector\": %u", event->vector);
    if (has_value(kind))
        fprintf(file, ", \"value\": \"0x%" PRIx64 "\"", event->value);
    fputs("}\n", file);
}
