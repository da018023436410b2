/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_reader.h"

#include <string.h>

/* More than any packet, and than a PSB with what could be a part of it behind it (ipt_sync()). */
#define LOOK_AHEAD (2 * IPT_PACKET_MAX)

void trace_reader_init(struct trace_reader *reader, FILE *file, bool synced)
{
    reader->file = file;
    reader->synced = synced;
    reader->end = false;
    reader->offset = 0;
    reader->at = reader->size = 0;
    reader->state = (struct ipt_decode_state){ 0 };
}

static size_t left(const struct trace_reader *reader)
{
    return reader->size - reader->at;
}

/* Makes LOOK_AHEAD bytes ready, or all that the file has. False where it cannot be read. */
static bool fill(struct trace_reader *reader)
{
    if (left(reader) >= LOOK_AHEAD || reader->end)
        return true;
    memmove(reader->buf, reader->buf + reader->at, left(reader));
    reader->size -= reader->at;
    reader->at = 0;
    reader->size +=
        fread(reader->buf + reader->size, 1, sizeof(reader->buf) - reader->size, reader->file);
    reader->end = feof(reader->file);
    return !ferror(reader->file);
}

static void skip(struct trace_reader *reader, size_t size)
{
    reader->at += size;
    reader->offset += size;
}

/* Goes on to the next PSB, or to the end. False where the file cannot be read. */
static bool find_psb(struct trace_reader *reader)
{
    while (fill(reader)) {
        size_t offset;

        if (ipt_sync(reader->buf, reader->size, reader->at, &offset)) {
            /* The last bytes may begin a PSB, unless they are the file's last. */
            size_t keep = reader->end ? 0 : IPT_PACKET_MAX - 1;

            if (left(reader) > keep)
                skip(reader, left(reader) - keep);
            if (reader->end)
                return true;
            continue;
        }
        skip(reader, offset - reader->at);
        /* What comes behind it decides where the PSB begins. */
        if (left(reader) >= LOOK_AHEAD || reader->end) {
            reader->synced = true;
            return true;
        }
    }
    return false;
}

/* A gap from here to the next PSB, which is not at the first byte unless this is a TRACE_LEAD. */
static void read_gap(struct trace_reader *reader, enum trace_kind kind, struct trace_item *item)
{
    size_t shown = left(reader) < sizeof(item->raw) ? left(reader) : sizeof(item->raw);

    item->kind = kind;
    item->offset = reader->offset;
    memcpy(item->raw, reader->buf + reader->at, shown);
    reader->synced = false;
    reader->state = (struct ipt_decode_state){ 0 };
    if (kind != TRACE_LEAD)
        skip(reader, 1);
    if (!find_psb(reader))
        item->kind = TRACE_ERROR;
    item->size = reader->offset - item->offset;
    item->psb_follows = reader->synced;
}

static void read_packet(struct trace_reader *reader, struct trace_item *item)
{
    const uint8_t *buf = reader->buf + reader->at;

    item->kind = TRACE_PACKET;
    item->offset = reader->offset;
    switch (ipt_decode(&reader->state, buf, left(reader), &item->packet)) {
    case PTSIM_OK:
        item->size = item->packet.size;
        memcpy(item->raw, buf, item->packet.size);
        skip(reader, item->packet.size);
        return;
    case PTSIM_END:
        item->kind = TRACE_END;
        item->size = 0;
        return;
    case PTSIM_TRUNCATED: /* of what fill() made ready only the end of the file is too little */
        item->kind = TRACE_CUT;
        item->size = left(reader);
        item->psb_follows = false;
        memcpy(item->raw, buf, left(reader));
        skip(reader, left(reader));
        return;
    default:
        read_gap(reader, TRACE_BAD, item);
    }
}

void trace_reader_next(struct trace_reader *reader, struct trace_item *item)
{
    if (!fill(reader)) {
        item->kind = TRACE_ERROR;
        return;
    }
    if (!reader->synced) {
        read_gap(reader, TRACE_LEAD, item);
        if (item->kind == TRACE_ERROR || item->size > 0)
            return;
    }
    read_packet(reader, item);
}
