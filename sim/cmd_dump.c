/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ptsim dump: the packets of a raw trace file, in the layout of Intel's ptdump or as JSON. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../models/pt/print.h"
#include "cmd.h"
#include "color.h"
#include "trace_reader.h"

struct dump {
    const char *path;
    unsigned columns; /* enum ipt_print_column */
    bool no_pad, no_timing, no_cyc, no_sync;
    bool quiet;
    bool json;
    const char *color_when;
    bool color;
    struct ipt_last_ip last_ip;
    uint64_t bad;       /* gaps of bad bytes */
    uint64_t first_bad; /* the offset of the first */
    uint64_t packets;
};

static bool is_timing(enum ipt_packet_type type)
{
    return type == IPT_TSC || type == IPT_TMA || type == IPT_MTC || type == IPT_CYC ||
           type == IPT_CBR;
}

static bool is_hidden(const struct dump *dump, enum ipt_packet_type type)
{
    return dump->quiet || (dump->no_pad && type == IPT_PAD) ||
           (dump->no_timing && is_timing(type)) || (dump->no_cyc && type == IPT_CYC);
}

/* ---- JSON: an object a line ---- */

static json_t *hex(uint64_t value)
{
    char text[2 + 16 + 1] = "0x";

    ipt_print_hex(value, 1, text + 2);
    return json_string(text);
}

/* Flags as booleans, addresses and the like, which JSON's numbers cannot hold, as strings. */
static json_t *field_json(const struct ipt_field *field, const struct ipt_packet *packet)
{
    uint64_t value = ipt_field_value(field, packet);

    if (field->hi ? field->hi - field->lo + field->shift > 32 : field->size == sizeof(value))
        return hex(value);
    if (field->hi && field->hi == field->lo)
        return json_boolean(value);
    return json_integer((json_int_t)value);
}

static void print_json(json_t *object)
{
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

/* The members that packets and gaps have in common, SHOWN bytes among them. */
static json_t *item_json(const struct trace_item *item, size_t shown)
{
    char bytes[2 * sizeof(item->raw) + 1];

    ipt_print_bytes(item->raw, shown, bytes);
    return json_pack("{s:I, s:I, s:s}", "offset", (json_int_t)item->offset, "size",
                     (json_int_t)item->size, "bytes", bytes);
}

static void packet_json(struct dump *dump, const struct trace_item *item)
{
    const struct ipt_packet *packet = &item->packet;
    json_t *object = item_json(item, packet->size), *fields = json_object();
    char payload[IPT_PAYLOAD_TEXT_MAX];
    const struct ipt_field *field;
    uint64_t ip;

    ipt_print_payload(packet, payload);
    for (unsigned i = 0; (field = ipt_packet_field(packet->type, i)); i++)
        json_object_set_new(fields, field->name, field_json(field, packet));
    json_object_set_new(object, "packet", json_string(ipt_packet_name(packet->type)));
    json_object_set_new(object, "payload", json_string(payload));
    json_object_set_new(object, "fields", fields);
    if (packet->type == IPT_PSB)
        ipt_last_ip_reset(&dump->last_ip);
    if (dump->columns & IPT_PRINT_LAST_IP && ipt_is_ip(packet->type) &&
        ipt_last_ip_update(&dump->last_ip, &packet->ip, &ip))
        json_object_set_new(object, "last_ip", hex(ip));
    print_json(object);
}

/* ---- text ---- */

static void print_text(const struct dump *dump, enum color begin, const char *line)
{
    bool on = dump->color && begin != COLOR_NONE;

    printf("%s%s%s\n", color(on, begin), line, color(on, COLOR_NONE));
}

static void packet_text(struct dump *dump, const struct trace_item *item)
{
    enum ipt_packet_type type = item->packet.type;
    char line[IPT_LINE_TEXT_MAX];

    ipt_print_line(dump->columns, &dump->last_ip, item->offset, item->raw, &item->packet, line);
    print_text(dump, is_timing(type) || type == IPT_PAD ? COLOR_FAINT : COLOR_NONE, line);
}

/* ---- both ---- */

static void put_packet(struct dump *dump, const struct trace_item *item)
{
    dump->packets++;
    if (is_hidden(dump, item->packet.type))
        return;
    if (dump->json)
        packet_json(dump, item);
    else
        packet_text(dump, item);
}

static const char *gap_name(enum trace_kind kind)
{
    switch (kind) {
    case TRACE_LEAD:
        return "before the first PSB";
    case TRACE_CUT:
        return "packet cut off by the end";
    default:
        return "no packet";
    }
}

/* What is no packet: its first bytes, and where packets go on. */
static void put_gap(struct dump *dump, const struct trace_item *item)
{
    size_t shown = item->size < sizeof(item->raw) ? item->size : sizeof(item->raw);
    char bytes[2 * sizeof(item->raw) + 1], line[160];

    if (item->kind == TRACE_BAD && dump->bad++ == 0)
        dump->first_bad = item->offset;
    ipt_last_ip_reset(&dump->last_ip);
    if (dump->json) {
        json_t *object = item_json(item, shown);

        json_object_set_new(object, "gap", json_string(gap_name(item->kind)));
        json_object_set_new(object, "psb_follows", json_boolean(item->psb_follows));
        print_json(object);
        return;
    }
    ipt_print_bytes(item->raw, shown, bytes);
    snprintf(line, sizeof(line), "[%" PRIx64 ": %s: %s%s]", item->offset, gap_name(item->kind),
             bytes, item->size > shown ? "..." : "");
    print_text(dump, COLOR_BAD, line);
    if (item->kind == TRACE_CUT)
        return;
    snprintf(line, sizeof(line), "[%" PRIx64 ": %" PRIu64 " bytes skipped, up to %s]",
             item->offset + item->size, item->size, item->psb_follows ? "a PSB" : "the end");
    print_text(dump, COLOR_BAD, line);
}

/* What the user has to know at the end. */
static int conclude(const struct dump *dump, const struct trace_item *end, uint64_t lead)
{
    if (end->kind == TRACE_ERROR)
        return cmd_error(CMD_USAGE, "%s: %s", dump->path, strerror(errno));
    if (fflush(stdout) || ferror(stdout))
        return cmd_error(CMD_USAGE, "standard output: %s", strerror(errno));
    if (dump->bad)
        return cmd_error(CMD_USAGE,
                         "%s: no packet begins at offset 0x%" PRIx64 "; %" PRIu64
                         " such place%s in the file",
                         dump->path, dump->first_bad, dump->bad, dump->bad == 1 ? "" : "s");
    if (lead && dump->packets == 0)
        return cmd_error(CMD_USAGE, "%s: no PSB in its %" PRIu64 " bytes; a raw PT trace has one",
                         dump->path, lead);
    return CMD_OK;
}

static int dump_file(struct dump *dump, FILE *file)
{
    static struct trace_reader reader;
    struct trace_item item;
    uint64_t lead = 0;

    trace_reader_init(&reader, file, dump->no_sync);
    for (;;) {
        trace_reader_next(&reader, &item);
        switch (item.kind) {
        case TRACE_PACKET:
            put_packet(dump, &item);
            break;
        case TRACE_LEAD:
            lead = item.size;
            if (item.psb_follows)
                put_gap(dump, &item);
            break;
        case TRACE_BAD:
        case TRACE_CUT:
            put_gap(dump, &item);
            break;
        case TRACE_END:
        case TRACE_ERROR:
            return conclude(dump, &item, lead);
        }
    }
}

static int dump_path(struct dump *dump)
{
    FILE *file;
    int status;

    if (!strcmp(dump->path, "-"))
        return dump_file(dump, stdin);
    file = fopen(dump->path, "rb");
    if (!file)
        return cmd_error(CMD_USAGE, "%s: %s", dump->path, strerror(errno));
    status = dump_file(dump, file);
    fclose(file);
    return status;
}

enum option_code {
    OPTION_NO_PAD = 1,
    OPTION_NO_TIMING,
    OPTION_NO_CYC,
    OPTION_NO_OFFSET,
    OPTION_NO_SYNC,
    OPTION_RAW,
    OPTION_LASTIP,
    OPTION_EXEC_MODE,
    OPTION_COLOR,
};

static const struct option options[] = {
    { "no-pad", no_argument, NULL, OPTION_NO_PAD },
    { "no-timing", no_argument, NULL, OPTION_NO_TIMING },
    { "no-cyc", no_argument, NULL, OPTION_NO_CYC },
    { "no-offset", no_argument, NULL, OPTION_NO_OFFSET },
    { "no-sync", no_argument, NULL, OPTION_NO_SYNC },
    { "raw", no_argument, NULL, OPTION_RAW },
    { "lastip", no_argument, NULL, OPTION_LASTIP },
    { "exec-mode", no_argument, NULL, OPTION_EXEC_MODE },
    { "color", required_argument, NULL, OPTION_COLOR },
    { "quiet", no_argument, NULL, 'q' },
    { "json", no_argument, NULL, 'j' },
    { "help", no_argument, NULL, 'h' },
    { 0 },
};

/* False where there is no such option. */
static bool take_option(struct dump *dump, int option)
{
    switch (option) {
    case OPTION_NO_PAD:
        dump->no_pad = true;
        return true;
    case OPTION_NO_TIMING:
        dump->no_timing = true;
        return true;
    case OPTION_NO_CYC:
        dump->no_cyc = true;
        return true;
    case OPTION_NO_OFFSET:
        dump->columns &= ~(unsigned)IPT_PRINT_OFFSET;
        return true;
    case OPTION_NO_SYNC:
        dump->no_sync = true;
        return true;
    case OPTION_RAW:
        dump->columns |= IPT_PRINT_RAW;
        return true;
    case OPTION_LASTIP:
        dump->columns |= IPT_PRINT_LAST_IP;
        return true;
    case OPTION_EXEC_MODE:
        dump->columns |= IPT_PRINT_EXEC_MODE;
        return true;
    case OPTION_COLOR:
        dump->color_when = optarg;
        return true;
    case 'q':
        dump->quiet = true;
        return true;
    case 'j':
        dump->json = true;
        return true;
    default:
        return false;
    }
}

int cmd_dump(int argc, char **argv)
{
    struct dump dump = { .columns = IPT_PRINT_OFFSET, .color_when = "auto" };
    int option;

    while ((option = getopt_long(argc, argv, "qjh", options, NULL)) != -1) {
        if (option == 'h')
            return cmd_help(argv[0]);
        if (!take_option(&dump, option))
            return cmd_bad_option(argv);
    }
    if (!color_wanted(dump.color_when, &dump.color))
        return cmd_error(CMD_USAGE, "dump: --color=%s; it is auto, always or never",
                         dump.color_when);
    if (argc - optind != 1)
        return cmd_error(CMD_USAGE, "dump: name one file; see 'ptsim dump --help'");
    dump.path = argv[optind];
    return dump_path(&dump);
}
