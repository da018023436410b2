/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ptsim list: what the tables hold. Each list is one function that makes JSON of its table, and
 * one that prints it for people; both get the CPU that --cpu names. */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "../models/core/msr.h"
#include "../models/profile.h"
#include "../models/pt/packet.h"
#include "cmd.h"

/* ---- MSRs, as one CPU has them ---- */

static json_t *hex(uint64_t value)
{
    char text[2 + 16 + 1];

    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    return json_string(text);
}

static const char *access_name(enum msr_access access)
{
    static const char *const name[] = { [MSR_RW] = "rw", [MSR_RO] = "ro", [MSR_ONES] = "ones" };

    return name[access];
}

static json_t *msr_fields_json(const struct msr *msr, const struct cpu_profile *cpu)
{
    json_t *list = json_array();
    const struct msr_field *field;

    for (unsigned i = 0; (field = msr_field_at(msr, i)); i++)
        if (field->exists(cpu))
            json_array_append_new(list,
                                  json_pack("{s:s, s:i, s:i, s:s, s:s}", "name", field->name, "hi",
                                            field->hi, "lo", field->lo, "access",
                                            access_name(field->access), "meaning", field->meaning));
    return list;
}

static json_t *msrs_json(const struct cpu_profile *cpu)
{
    json_t *list = json_array();
    const struct msr *msr;

    for (unsigned i = 0; (msr = msr_at(i)); i++)
        if (msr->exists(cpu))
            json_array_append_new(
                list, json_pack("{s:o, s:s, s:b, s:o, s:o, s:s, s:o}", "index", hex(msr->index),
                                "name", msr->name, "writable", msr->writable, "reset",
                                hex(msr->reset(cpu)), "reserved", hex(msr_reserved(msr, cpu)),
                                "section", msr->section, "fields", msr_fields_json(msr, cpu)));
    return list;
}

static void msrs_text(const struct cpu_profile *cpu)
{
    const struct msr *msr;
    const struct msr_field *field;
    char bits[8];

    for (unsigned i = 0; (msr = msr_at(i)); i++) {
        if (!msr->exists(cpu))
            continue;
        printf("%s%s  %" PRIXFAST32 "H  reset %" PRIX64 "H%s  SDM %s\n", i ? "\n" : "", msr->name,
               (uint_fast32_t)msr->index, msr->reset(cpu), msr->writable ? "" : "  read only",
               msr->section);
        for (unsigned j = 0; (field = msr_field_at(msr, j)); j++) {
            if (!field->exists(cpu))
                continue;
            snprintf(bits, sizeof(bits), field->hi == field->lo ? "%u" : "%u:%u", field->hi,
                     field->lo);
            printf("  %-5s  %-4s  %s: %s\n", bits, access_name(field->access), field->name,
                   field->meaning);
        }
    }
}

/* ---- packets ---- */

struct packet_row {
    const char *name;
    const char *dump;   /* what ptsim dump calls it */
    const char *prefix; /* the bytes in front of the opcode byte */
    unsigned opcode;
    const char *free; /* the bits of the opcode byte that vary; "" for none */
    unsigned size;    /* 0: it varies */
    bool cyc;
    const char *section;
};

/* Bits HI:LO of the packet, counted from bit 0 of its first byte. */
struct packet_field {
    enum ipt_packet_type type;
    unsigned hi, lo;
    const char *meaning;
};

/* The words of packets.def. */
#define BYTE   ""
#define EXT    "02 "
#define EXT2   "02 C3 "
#define MODE   "99 "
#define NONE   ""
#define BIT7   "7"
#define BITS75 "7:5"
#define BITS73 "7:3"
#define BITS72 "7:2"
#define BITS71 "7:1"
#define BITS40 "4:0"

#define AT(byte, bit) (8 * (byte) + (bit))
#define ZERO(id, hi, lo)
#define END(id)

static const struct packet_row packet_rows[] = {
#define PACKET(id, name, dump, space, opcode, free, shape, size, cyc, section)                     \
    { name, dump, space, opcode, free, size, cyc, section },
#define FIELD(id, type, member, hi, lo, shift, meaning)
#include "../models/pt/packets.def"
#undef PACKET
#undef FIELD
};

static const struct packet_field packet_fields[] = {
#define PACKET(...)
#define FIELD(id, type, member, hi, lo, shift, meaning) { IPT_##id, hi, lo, meaning },
#include "../models/pt/packets.def"
#undef PACKET
#undef FIELD
};

#define PACKET_FIELDS (sizeof(packet_fields) / sizeof(packet_fields[0]))

static json_t *packet_fields_json(unsigned type)
{
    json_t *list = json_array();

    for (size_t i = 0; i < PACKET_FIELDS; i++)
        if (packet_fields[i].type == type)
            json_array_append_new(list, json_pack("{s:i, s:i, s:s}", "hi", packet_fields[i].hi,
                                                  "lo", packet_fields[i].lo, "meaning",
                                                  packet_fields[i].meaning));
    return list;
}

static json_t *packets_json(const struct cpu_profile *cpu)
{
    json_t *list = json_array();

    (void)cpu;
    for (unsigned i = 0; i < IPT_PACKET_TYPES; i++) {
        const struct packet_row *row = &packet_rows[i];

        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:i, s:s, s:i, s:b, s:s, s:o}", "name", row->name,
                            "dump", row->dump, "prefix", row->prefix, "opcode", row->opcode,
                            "opcode_free", row->free, "size", row->size, "cyc", row->cyc, "section",
                            row->section, "fields", packet_fields_json(i)));
    }
    return list;
}

static void print_packet_field(const struct packet_field *field)
{
    unsigned hi = field->hi % 8, lo = field->lo % 8;

    printf("  byte %u bit", field->lo / 8);
    if (field->hi / 8 != field->lo / 8)
        printf(" %u to byte %u bit %u", lo, field->hi / 8, hi);
    else if (hi != lo)
        printf("s %u:%u", hi, lo);
    else
        printf(" %u", hi);
    printf(": %s\n", field->meaning);
}

static void packets_text(const struct cpu_profile *cpu)
{
    (void)cpu;
    for (unsigned i = 0; i < IPT_PACKET_TYPES; i++) {
        const struct packet_row *row = &packet_rows[i];
        char size[24] = "size varies", bytes[32];

        if (row->size)
            snprintf(size, sizeof(size), "%u byte%s", row->size, row->size == 1 ? "" : "s");
        snprintf(bytes, sizeof(bytes), "%s%02X%s%s", row->prefix, row->opcode,
                 *row->free ? " but for " : "", row->free);
        printf("%-9s  %-9s  %-18s  %-11s  %-3s  SDM %s\n", row->name, row->dump, bytes, size,
               row->cyc ? "CYC" : "", row->section);
        for (size_t j = 0; j < PACKET_FIELDS; j++)
            if (packet_fields[j].type == i)
                print_packet_field(&packet_fields[j]);
    }
}

/* ---- CPU profiles ---- */

/* A field of struct cpu_profile, read at its type. */
struct profile_field {
    const char *name;
    const char *meaning;
    bool is_bool;
    uint64_t (*get)(const struct cpu_profile *cpu);
};

#define FIELD(type, name, value, meaning)                                                          \
    static uint64_t get_##name(const struct cpu_profile *cpu)                                      \
    {                                                                                              \
        return cpu->name;                                                                          \
    }
#include "../models/profile.def"
#undef FIELD

static const struct profile_field profile_fields[] = {
#define FIELD(type, name, value, meaning)                                                          \
    { #name, meaning, _Generic((type)0, bool : true, default : false), get_##name },
#include "../models/profile.def"
#undef FIELD
};

#define PROFILE_FIELDS (sizeof(profile_fields) / sizeof(profile_fields[0]))

static json_t *cpus_json(const struct cpu_profile *one)
{
    json_t *list = json_array();
    const struct cpu_profile *cpu;

    (void)one;
    for (unsigned i = 0; (cpu = cpu_profile_at(i)); i++) {
        json_t *fields = json_object();

        for (size_t j = 0; j < PROFILE_FIELDS; j++) {
            const struct profile_field *field = &profile_fields[j];
            uint64_t value = field->get(cpu);

            json_object_set_new(fields, field->name,
                                field->is_bool ? json_boolean(value)
                                               : json_integer((json_int_t)value));
        }
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", cpu->name, "title",
                                              cpu->title, "fields", fields));
    }
    return list;
}

static void print_profile_field(const struct profile_field *field, uint64_t value)
{
    char text[32];

    if (field->is_bool)
        snprintf(text, sizeof(text), "%s", value ? "yes" : "no");
    else
        snprintf(text, sizeof(text), value < 256 ? "%" PRIu64 : "%" PRIu64 " (%#" PRIx64 ")", value,
                 value);
    printf("  %-20s %-20s %s\n", field->name, text, field->meaning);
}

/* The first profile in full, the others as what they change. */
static void cpus_text(const struct cpu_profile *one)
{
    const struct cpu_profile *first = cpu_profile_at(0), *cpu;

    (void)one;
    for (unsigned i = 0; (cpu = cpu_profile_at(i)); i++) {
        printf("%s%s: %s\n", i ? "\n" : "", cpu->name, cpu->title);
        for (size_t j = 0; j < PROFILE_FIELDS; j++) {
            uint64_t value = profile_fields[j].get(cpu);

            if (cpu == first || value != profile_fields[j].get(first))
                print_profile_field(&profile_fields[j], value);
        }
    }
}

/* ---- the command ---- */

static const struct list {
    const char *name;
    json_t *(*json)(const struct cpu_profile *cpu);
    void (*text)(const struct cpu_profile *cpu);
} lists[] = {
    { "msrs", msrs_json, msrs_text },
    { "packets", packets_json, packets_text },
    { "cpus", cpus_json, cpus_text },
};

static const struct list *list_find(const char *name)
{
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (!strcmp(lists[i].name, name))
            return &lists[i];
    return NULL;
}

static int print_json(json_t *value)
{
    int failed = json_dumpf(value, stdout, JSON_INDENT(2));

    json_decref(value);
    putchar('\n');
    return failed ? cmd_error(CMD_USAGE, "cannot write to standard output") : CMD_OK;
}

static int print_list(const char *name, const struct cpu_profile *cpu, bool json)
{
    const struct list *list = list_find(name);

    if (!list)
        return cmd_error(CMD_USAGE, "list: no list '%s'; there are msrs, packets and cpus", name);
    if (json)
        return print_json(list->json(cpu));
    list->text(cpu);
    return CMD_OK;
}

int cmd_list(int argc, char **argv)
{
    static const struct option options[] = {
        { "cpu", required_argument, NULL, 'c' },
        { "json", no_argument, NULL, 'j' },
        { 0 },
    };
    const struct cpu_profile *cpu = cpu_profile_at(0);
    bool json = false;
    int option;

    while ((option = getopt_long(argc, argv, "c:j", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            cpu = cpu_profile_find(optarg);
            if (!cpu)
                return cmd_error(CMD_USAGE, "list: no CPU '%s'; see 'ptsim list cpus'", optarg);
            break;
        case 'j':
            json = true;
            break;
        default:
            return cmd_bad_option("list");
        }
    }
    if (argc - optind != 1)
        return cmd_error(CMD_USAGE, "list: name one list; see 'ptsim list --help'");
    return print_list(argv[optind], cpu, json);
}
