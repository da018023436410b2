/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ptsim list: scenarios, and what the tables hold. Each list of a table is one function that makes
 * JSON of it, and one that prints it for people; both get the CPU that --cpu names. */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "../models/core/msr.h"
#include "../models/profile.h"
#include "../models/pt/packet.h"
#include "cmd.h"
#include "list_scenarios.h"

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

/* Whether FIELD has a fixed place in its packet. */
static bool is_placed(const struct ipt_field *field)
{
    return field->hi || field->lo;
}

static json_t *packet_fields_json(enum ipt_packet_type type)
{
    json_t *list = json_array();
    const struct ipt_field *field;

    for (unsigned i = 0; (field = ipt_packet_field(type, i)); i++) {
        json_t *item = json_pack("{s:s, s:s}", "name", field->name, "meaning", field->meaning);

        if (is_placed(field)) {
            json_object_set_new(item, "hi", json_integer(field->hi));
            json_object_set_new(item, "lo", json_integer(field->lo));
        }
        json_array_append_new(list, item);
    }
    return list;
}

/* The bytes that say which packet it is, the bits of fields in them 0. */
static const char *header_text(const struct ipt_packet_row *row, char text[static 16])
{
    size_t at = 0;

    for (unsigned i = 0; i < row->header_size; i++)
        at += (size_t)snprintf(text + at, 16 - at, i ? " %02X" : "%02X", row->header[i]);
    return text;
}

static json_t *packets_json(const struct cpu_profile *cpu)
{
    json_t *list = json_array();
    char header[16];

    (void)cpu;
    for (unsigned i = 0; i < IPT_PACKET_TYPES; i++) {
        const struct ipt_packet_row *row = ipt_packet_row(i);

        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:i, s:b, s:s, s:o}", "name", row->name,
                                        "dump", row->dump, "header", header_text(row, header),
                                        "size", row->size, "cyc_eligible", row->cyc_eligible,
                                        "section", row->section, "fields", packet_fields_json(i)));
    }
    return list;
}

static void print_packet_field(const struct ipt_field *field)
{
    unsigned hi = field->hi % 8, lo = field->lo % 8;

    if (!is_placed(field))
        printf("  varies");
    else if (field->hi / 8 != field->lo / 8)
        printf("  byte %d bit %u to byte %d bit %u", field->lo / 8, lo, field->hi / 8, hi);
    else if (hi != lo)
        printf("  byte %d bits %u:%u", field->lo / 8, hi, lo);
    else
        printf("  byte %d bit %u", field->lo / 8, hi);
    printf(": %s\n", field->meaning);
}

static void packets_text(const struct cpu_profile *cpu)
{
    char header[16], size[24];

    (void)cpu;
    for (unsigned i = 0; i < IPT_PACKET_TYPES; i++) {
        const struct ipt_packet_row *row = ipt_packet_row(i);
        const struct ipt_field *field;

        snprintf(size, sizeof(size), row->size ? "size %d" : "size varies", row->size);
        printf("%-9s  %-9s  %-8s  %-11s  %-3s  SDM %s\n", row->name, row->dump,
               header_text(row, header), size, row->cyc_eligible ? "CYC" : "", row->section);
        for (unsigned j = 0; (field = ipt_packet_field(i, j)); j++)
            print_packet_field(field);
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
        return cmd_error(CMD_USAGE,
                         "list: no list '%s'; there are scenarios, msrs, packets and cpus", name);
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
            return cmd_bad_option(argv);
        }
    }
    if (argc == optind)
        return list_scenarios(0, NULL, json);
    if (!strcmp(argv[optind], "scenarios"))
        return list_scenarios(argc - optind - 1, argv + optind + 1, json);
    if (argc - optind != 1)
        return cmd_error(CMD_USAGE, "list: name one list; see 'ptsim list --help'");
    return print_list(argv[optind], cpu, json);
}
