/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../models/pt/print.h"

/* Rows shown before and after a difference. */
#define DIFF_CONTEXT 2
/* Bytes of an instruction shown. */
#define CODE_BYTES   15

void show_colored(bool on, enum color which, const char *format, ...)
{
    va_list args;

    fputs(color(on, which), stdout);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    fputs(color(on, COLOR_NONE), stdout);
}

void show_title(const struct scenario *scenario)
{
    printf("%s\n  %s\n", scenario->file->title.text, scenario->file->cite.text);
}

bool show_json(json_t *value)
{
    int failed = json_dumpf(value, stdout, JSON_INDENT(2));

    json_decref(value);
    putchar('\n');
    return !failed && !fflush(stdout);
}

static void print_bytes(const uint8_t *bytes, size_t count, char *out)
{
    char hex[2 * IPT_PACKET_MAX + 1];

    *out = '\0';
    for (size_t i = 0; i < count; i++) {
        ipt_print_bytes(bytes + i, 1, hex);
        out += sprintf(out, "%s%s", i ? " " : "", hex);
    }
}

/* ---- code ---- */

/* Line NUMBER of TEXT, without spaces in front. */
static const char *source_line(const char *text, unsigned number, int *length)
{
    while (--number && (text = strchr(text, '\n')))
        text++;
    if (!text)
        text = "";
    text += strspn(text, " \t");
    *length = (int)strcspn(text, "\n");
    return text;
}

/* How many bytes the line at INDEX made: up to the next one behind it. */
static uint64_t line_size(const struct assembly *code, size_t index, uint64_t piece_size)
{
    uint64_t from = code->line[index].address, size = piece_size;

    for (size_t i = 0; i < code->lines; i++)
        if (code->line[i].address > from && code->line[i].address - from < size)
            size = code->line[i].address - from;
    return size;
}

static void line_bytes(const struct run *run, size_t index, char *out)
{
    uint64_t size;
    const uint8_t *bytes = assembly_at(&run->code, run->code.line[index].address, &size);

    *out = '\0';
    if (!bytes)
        return;
    size = line_size(&run->code, index, size);
    print_bytes(bytes, size < CODE_BYTES ? (size_t)size : CODE_BYTES, out);
    if (size > CODE_BYTES)
        strcat(out, "..");
}

void show_code(const struct run *run, bool color_on)
{
    char bytes[3 * CODE_BYTES + 3];

    printf("\n  times   address  bytes                    code\n");
    for (size_t i = 0; i < run->code.lines; i++) {
        const struct asm_line *line = &run->code.line[i];
        int length;
        const char *source = source_line(run->scenario.file->code.text, line->number, &length);

        line_bytes(run, i, bytes);
        if (run->executed[i])
            printf("%7" PRIu64 "  %8" PRIx64 "  %-23s  %.*s\n", run->executed[i], line->address,
                   bytes, length, source);
        else
            show_colored(color_on, COLOR_FAINT, "      -  %8" PRIx64 "  %-23s  %.*s\n",
                         line->address, bytes, length, source);
    }
}

json_t *show_code_json(const struct run *run)
{
    json_t *list = json_array();
    char bytes[3 * CODE_BYTES + 3];

    for (size_t i = 0; i < run->code.lines; i++) {
        const struct asm_line *line = &run->code.line[i];
        int length;
        const char *source = source_line(run->scenario.file->code.text, line->number, &length);

        line_bytes(run, i, bytes);
        json_array_append_new(list, json_pack("{s:I, s:I, s:s, s:s%}", "executed",
                                              (json_int_t)run->executed[i], "address",
                                              (json_int_t)line->address, "bytes", bytes, "code",
                                              source, (size_t)length));
    }
    return list;
}

/* ---- packets ---- */

static void packet_bytes(const struct packet_seen *seen, char *out)
{
    print_bytes(seen->bytes, seen->packet.size, out);
}

void show_packets(const struct packet_list *list, const struct symbols *symbols)
{
    char bytes[3 * IPT_PACKET_MAX + 1], payload[PACKET_TEXT_MAX];

    printf("\noffset  bytes                                            packet\n");
    for (size_t i = 0; i < list->count; i++) {
        const struct packet_seen *seen = &list->packet[i];

        packet_bytes(seen, bytes);
        packet_payload(seen, symbols, payload);
        printf("%06" PRIx64 "  %-47s  %s%s%s\n", seen->offset, bytes, packet_name(seen),
               *payload ? " " : "", payload);
    }
}

static json_t *packet_json(const struct packet_seen *seen, const struct symbols *symbols)
{
    char bytes[3 * IPT_PACKET_MAX + 1], payload[PACKET_TEXT_MAX];

    packet_bytes(seen, bytes);
    return json_pack("{s:I, s:s, s:s, s:s}", "offset", (json_int_t)seen->offset, "bytes", bytes,
                     "name", packet_name(seen), "payload", packet_payload(seen, symbols, payload));
}

json_t *show_packets_json(const struct packet_list *list, const struct symbols *symbols)
{
    json_t *packets = json_array();

    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(packets, packet_json(&list->packet[i], symbols));
    return packets;
}

/* ---- differences ---- */

static const struct packet_seen *side(const struct packet_list *list, long index)
{
    return index < 0 ? NULL : &list->packet[index];
}

/* Name and payload, or a dash. */
static void side_text(const struct packet_seen *seen, const struct symbols *symbols, char *out,
                      size_t size)
{
    char payload[PACKET_TEXT_MAX];

    if (seen)
        snprintf(out, size, "%s %s", packet_name(seen), packet_payload(seen, symbols, payload));
    else
        snprintf(out, size, "-");
}

static void show_row(const struct packet_pair *row, const struct packet_seen *expected,
                     const struct packet_seen *got, unsigned line, const struct symbols *symbols,
                     bool color_on)
{
    char left[PACKET_TEXT_MAX + 16], right[PACKET_TEXT_MAX + 16];
    char left_bytes[3 * IPT_PACKET_MAX + 1] = "", right_bytes[3 * IPT_PACKET_MAX + 1] = "";
    char place[32] = "";

    side_text(expected, symbols, left, sizeof(left));
    side_text(got, symbols, right, sizeof(right));
    if (row->same) {
        printf("           %06" PRIx64 "  %-47s  %s\n", got->offset, left, right);
        return;
    }
    if (expected)
        packet_bytes(expected, left_bytes);
    if (got)
        packet_bytes(got, right_bytes);
    if (line)
        snprintf(place, sizeof(place), "line %u", line);
    show_colored(color_on, COLOR_BAD, "%9s  %06" PRIx64 "  %-47s  %s\n", place,
                 expected ? expected->offset : got->offset, left, right);
    show_colored(color_on, COLOR_BAD, "                   %-47s  %s\n", left_bytes, right_bytes);
}

static bool near_difference(const struct packet_diff *diff, size_t row)
{
    size_t from = row < DIFF_CONTEXT ? 0 : row - DIFF_CONTEXT;

    for (size_t i = from; i < diff->rows && i <= row + DIFF_CONTEXT; i++)
        if (!diff->row[i].same)
            return true;
    return false;
}

void show_diff(const struct packet_diff *diff, const struct golden *golden,
               const struct packet_list *got, const struct symbols *symbols, bool color_on)
{
    bool gap = false;

    printf("           offset  %-47s  got\n", "expected");
    for (size_t i = 0; i < diff->rows; i++) {
        const struct packet_pair *row = &diff->row[i];

        if (!near_difference(diff, i)) {
            gap = true;
            continue;
        }
        if (gap)
            printf("           ...\n");
        gap = false;
        show_row(row, side(&golden->list, row->expected), side(got, row->got),
                 row->expected < 0 ? 0 : golden->packet[row->expected].line, symbols, color_on);
    }
}

json_t *show_diff_json(const struct packet_diff *diff, const struct golden *golden,
                       const struct packet_list *got, const struct symbols *symbols)
{
    json_t *list = json_array();

    for (size_t i = 0; i < diff->rows; i++) {
        const struct packet_pair *row = &diff->row[i];

        if (row->same)
            continue;
        json_array_append_new(
            list,
            json_pack("{s:i, s:o, s:o}", "line",
                      row->expected < 0 ? 0 : (int)golden->packet[row->expected].line, "expected",
                      row->expected < 0 ? json_null()
                                        : packet_json(side(&golden->list, row->expected), symbols),
                      "got",
                      row->got < 0 ? json_null() : packet_json(side(got, row->got), symbols)));
    }
    return list;
}
