/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include "perf_data.h"

#include <linux/perf_event.h>
#include <string.h>

#include "../models/bits.h"
#include "../models/ports.h"

/* What perf itself, not the kernel, defines: tools/perf/util/header.h and event.h,
 * tools/lib/perf/include/perf/event.h. */
enum {
    FILE_HEADER_SIZE = 104,
    ATTR_SIZE = 128,                  /* perf_event_attr up to and with sig_data */
    ATTR_ENTRY_SIZE = ATTR_SIZE + 16, /* and the {offset, size} of its ids */

    RECORD_BUILD_ID = 67,
    RECORD_FINISHED_ROUND = 68,
    RECORD_AUXTRACE_INFO = 70,
    RECORD_AUXTRACE = 71,
    RECORD_TIME_CONV = 79,
    AUXTRACE_SIZE = 48,
    AUXTRACE_INTEL_PT = 1,

    FEATURE_BUILD_ID = 2,
    FEATURE_OSRELEASE = 4,
    FEATURE_VERSION = 5,
    FEATURE_ARCH = 6,
    FEATURE_NRCPUS = 7,
    FEATURE_CPUDESC = 8,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12,
    FEATURE_PMU_MAPPINGS = 16,
    FEATURE_AUXTRACE = 18,
};

/* The number the kernel gave the intel_pt PMU: any will do, all parts of the file agree on it. */
enum {
    PMU_TYPE = 8
};

/* The ids of the two events. */
enum {
    ID_PT = 1,
    ID_SIDEBAND = 2
};

/* Time from TSC: ns = tsc * mult >> shift (perf_event_mmap_page). */
enum {
    TIME_SHIFT = 31
};

/* The format bits of the intel_pt PMU: IA32_RTIT_CTL's own positions. */
#define CONFIG_PT         BIT(0)
#define CONFIG_CYC        BIT(1)
#define CONFIG_MTC        BIT(9)
#define CONFIG_TSC        BIT(10)
#define CONFIG_NORETCOMP  BIT(11)
#define CONFIG_MTC_PERIOD BITS(17, 14)
#define CONFIG_BITS                                                                                \
    (CONFIG_CYC | BIT(4) | BIT(5) | BITS(13, 9) | CONFIG_MTC_PERIOD | BITS(22, 19) |               \
     BITS(27, 24) | BIT(31) | BIT(55))

/* One record or feature while it is put together. */
struct blob {
    uint8_t byte[8192];
    size_t size;
};

static void put(struct blob *blob, uint64_t value, size_t size)
{
    if (blob->size + size <= sizeof blob->byte)
        le_store(blob->byte + blob->size, value, size);
    blob->size += size;
}

/* STRING in a field of FIELD bytes, zero-filled. */
static void put_string(struct blob *blob, const char *string, size_t field)
{
    size_t length = strlen(string);

    for (size_t i = 0; i < field; i++)
        put(blob, i < length && i + 1 < field ? (uint8_t)string[i] : 0, 1);
}

static size_t round_up(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

/* A string feature: its padded size, then itself. */
static void put_feature_string(struct blob *blob, const char *string)
{
    size_t field = round_up(strlen(string) + 1, 64);

    put(blob, field, 4);
    put_string(blob, string, field);
}

/* Opens a record; record_end() sets its size. */
static void record_begin(struct blob *blob, uint32_t type, uint16_t misc)
{
    blob->size = 0;
    put(blob, type, 4);
    put(blob, misc, 2);
    put(blob, 0, 2);
}

static void record_end(struct blob *blob)
{
    le_store(blob->byte + 6, blob->size, 2);
}

/* The sample_id that ends a side-band record: tid, time, cpu, identifier. */
static void put_sample_id(struct blob *blob, const struct perf_data *data, uint64_t id)
{
    put(blob, data->pid, 4);
    put(blob, data->pid, 4);
    put(blob, 0, 8);
    put(blob, 0, 8);
    put(blob, id, 8);
}

static bool write_blob(FILE *out, const struct blob *blob)
{
    return blob->size <= sizeof blob->byte && fwrite(blob->byte, blob->size, 1, out) == 1;
}

static uint64_t tsc_hz(const struct cpu_profile *profile)
{
    return (uint64_t)profile->crystal_hz * profile->tsc_ratio_num / profile->tsc_ratio_den;
}

static uint64_t time_mult(const struct cpu_profile *profile)
{
    return (UINT64_C(1000000000) << TIME_SHIFT) / tsc_hz(profile);
}

static struct perf_event_attr pt_attr(const struct perf_data *data)
{
    return (struct perf_event_attr){
        .type = PMU_TYPE,
        .size = ATTR_SIZE,
        .config = (data->rtit_ctl & CONFIG_BITS) | CONFIG_PT,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                       PERF_SAMPLE_IDENTIFIER,
        .exclude_kernel = !(data->rtit_ctl & BIT(2)),
        .exclude_user = !(data->rtit_ctl & BIT(3)),
        .exclude_hv = 1,
        .enable_on_exec = 1,
        .sample_id_all = 1,
    };
}

static struct perf_event_attr sideband_attr(void)
{
    return (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = ATTR_SIZE,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_period = 1,
        .sample_type =
            PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .mmap = 1,
        .comm = 1,
        .task = 1,
        .sample_id_all = 1,
        .mmap2 = 1,
        .comm_exec = 1,
    };
}

/* The host's struct has the file's layout: both are little-endian x86 structs of the kernel's
 * ABI, and newer headers only append to it. */
static bool write_attr(FILE *out, const struct perf_event_attr *attr)
{
    return fwrite(attr, ATTR_SIZE, 1, out) == 1;
}

static bool write_attrs(FILE *out, const struct perf_data *data)
{
    const struct perf_event_attr attr[2] = { pt_attr(data), sideband_attr() };
    const uint64_t id[2] = { ID_PT, ID_SIDEBAND };
    struct blob blob;

    for (unsigned i = 0; i < 2; i++) {
        blob.size = 0;
        put(&blob, FILE_HEADER_SIZE + 2 * ATTR_ENTRY_SIZE + 8 * i, 8);
        put(&blob, 8, 8);
        if (!write_attr(out, &attr[i]) || !write_blob(out, &blob))
            return false;
    }
    blob.size = 0;
    put(&blob, id[0], 8);
    put(&blob, id[1], 8);
    return write_blob(out, &blob);
}

/* The private words of an intel_pt AUXTRACE_INFO, in the order of perf's util/intel-pt.h. */
static bool write_auxtrace_info(FILE *out, const struct perf_data *data)
{
    const struct cpu_profile *profile = data->profile;
    struct blob blob;

    record_begin(&blob, RECORD_AUXTRACE_INFO, 0);
    put(&blob, AUXTRACE_INTEL_PT, 4);
    put(&blob, 0, 4);
    put(&blob, PMU_TYPE, 8);
    put(&blob, TIME_SHIFT, 8);
    put(&blob, time_mult(profile), 8);
    put(&blob, 0, 8); /* time_zero */
    put(&blob, 1, 8); /* time_zero is valid */
    put(&blob, CONFIG_TSC, 8);
    put(&blob, CONFIG_NORETCOMP, 8);
    put(&blob, 0, 8); /* no sched_switch events */
    put(&blob, 0, 8); /* no snapshot mode */
    put(&blob, 0, 8); /* one buffer a thread, not a CPU */
    put(&blob, CONFIG_MTC, 8);
    put(&blob, CONFIG_MTC_PERIOD, 8);
    put(&blob, profile->tsc_ratio_num, 8);
    put(&blob, profile->tsc_ratio_den, 8);
    put(&blob, CONFIG_CYC, 8);
    put(&blob, profile->max_non_turbo_ratio, 8);
    put(&blob, 0, 8); /* no filter string */
    put(&blob, profile->pt_event_trace, 8);
    record_end(&blob);
    return write_blob(out, &blob);
}

static bool write_time_conv(FILE *out, const struct cpu_profile *profile)
{
    struct blob blob;

    record_begin(&blob, RECORD_TIME_CONV, 0);
    put(&blob, TIME_SHIFT, 8);
    put(&blob, time_mult(profile), 8);
    put(&blob, 0, 8);            /* time_zero */
    put(&blob, 0, 8);            /* time_cycles */
    put(&blob, ~UINT64_C(0), 8); /* time_mask */
    put(&blob, 1, 1);            /* time_zero is valid */
    put(&blob, 0, 7);
    record_end(&blob);
    return write_blob(out, &blob);
}

static bool write_comm(FILE *out, const struct perf_data *data)
{
    size_t length = strlen(data->comm);
    struct blob blob;

    record_begin(&blob, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    put(&blob, data->pid, 4);
    put(&blob, data->pid, 4);
    put_string(&blob, data->comm, round_up((length < 15 ? length : 15) + 1, 8));
    put_sample_id(&blob, data, ID_SIDEBAND);
    record_end(&blob);
    return write_blob(out, &blob);
}

static bool write_mmap2(FILE *out, const struct perf_data *data, const struct perf_data_map *map)
{
    struct blob blob;

    record_begin(&blob, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    put(&blob, data->pid, 4);
    put(&blob, data->pid, 4);
    put(&blob, map->start, 8);
    put(&blob, map->size, 8);
    put(&blob, map->offset, 8);
    put(&blob, 0, 4); /* device: major, minor */
    put(&blob, 0, 4);
    put(&blob, 0, 8); /* inode and its generation */
    put(&blob, 0, 8);
    put(&blob, 5, 4); /* PROT_READ | PROT_EXEC */
    put(&blob, 2, 4); /* MAP_PRIVATE */
    put_string(&blob, map->path, round_up(strlen(map->path) + 1, 8));
    put_sample_id(&blob, data, ID_SIDEBAND);
    record_end(&blob);
    return write_blob(out, &blob);
}

static bool write_itrace_start(FILE *out, const struct perf_data *data)
{
    struct blob blob;

    record_begin(&blob, PERF_RECORD_ITRACE_START, 0);
    put(&blob, data->pid, 4);
    put(&blob, data->pid, 4);
    put_sample_id(&blob, data, ID_PT);
    record_end(&blob);
    return write_blob(out, &blob);
}

static bool write_aux(FILE *out, const struct perf_data *data, uint64_t trace_size)
{
    struct blob blob;

    record_begin(&blob, PERF_RECORD_AUX, 0);
    put(&blob, 0, 8); /* offset */
    put(&blob, trace_size, 8);
    put(&blob, 0, 8); /* flags: nothing truncated, nothing overwritten */
    put_sample_id(&blob, data, ID_PT);
    record_end(&blob);
    return write_blob(out, &blob);
}

/* The trace itself follows its AUXTRACE record, padded to 8 bytes. */
static bool write_auxtrace(FILE *out, const struct perf_data *data, FILE *trace, uint64_t size)
{
    uint64_t padded = round_up(size, 8);
    uint8_t chunk[65536];
    struct blob blob;

    record_begin(&blob, RECORD_AUXTRACE, 0);
    put(&blob, padded, 8);
    put(&blob, 0, 8); /* offset */
    /* What the upper bits of the first TSC packet are taken from; perf takes 0 for none. */
    put(&blob, data->end_tsc ? data->end_tsc : 1, 8);
    put(&blob, 0, 4); /* index of the buffer */
    put(&blob, data->pid, 4);
    put(&blob, ~UINT32_C(0), 4); /* a thread's buffer has no CPU */
    put(&blob, 0, 4);
    record_end(&blob);
    if (!write_blob(out, &blob))
        return false;
    for (uint64_t done = 0; done < size;) {
        size_t want = size - done < sizeof chunk ? (size_t)(size - done) : sizeof chunk;

        if (fread(chunk, want, 1, trace) != 1 || fwrite(chunk, want, 1, out) != 1)
            return false;
        done += want;
    }
    memset(chunk, 0, 8);
    return padded == size || fwrite(chunk, (size_t)(padded - size), 1, out) == 1;
}

static bool write_finished_round(FILE *out)
{
    struct blob blob;

    record_begin(&blob, RECORD_FINISHED_ROUND, 0);
    record_end(&blob);
    return write_blob(out, &blob);
}

/* All records; *AUXTRACE_AT is where the AUXTRACE record begins. */
static bool write_records(FILE *out, const struct perf_data *data, FILE *trace, uint64_t trace_size,
                          uint64_t *auxtrace_at)
{
    bool ok = write_auxtrace_info(out, data) && write_time_conv(out, data->profile) &&
              write_comm(out, data);

    for (size_t i = 0; ok && i < data->maps; i++)
        ok = write_mmap2(out, data, &data->map[i]);
    ok = ok && write_itrace_start(out, data) && write_aux(out, data, trace_size);
    *auxtrace_at = (uint64_t)ftello(out);
    return ok && write_auxtrace(out, data, trace, trace_size) && write_finished_round(out);
}

/* A feature section: its bit in the header, and what writes its contents. */
struct feature {
    unsigned bit;
    bool (*write)(FILE *out, const struct perf_data *data, uint64_t auxtrace_at);
};

static bool write_build_ids(FILE *out, const struct perf_data *data, uint64_t auxtrace_at)
{
    struct blob blob;

    (void)auxtrace_at;
    for (size_t i = 0; i < data->maps; i++) {
        const struct perf_data_map *map = &data->map[i];

        if (!map->build_id)
            continue;
        /* misc bit 15: the byte after the id holds its size */
        record_begin(&blob, RECORD_BUILD_ID, PERF_RECORD_MISC_USER | 1 << 15);
        put(&blob, data->pid, 4);
        for (size_t k = 0; k < 20; k++)
            put(&blob, k < map->build_id_size ? map->build_id[k] : 0, 1);
        put(&blob, map->build_id_size, 4);
        put_string(&blob, map->path, round_up(strlen(map->path) + 1, 64));
        record_end(&blob);
        if (!write_blob(out, &blob))
            return false;
    }
    return true;
}

static bool write_string_feature(FILE *out, const char *string)
{
    struct blob blob = { .size = 0 };

    put_feature_string(&blob, string);
    return write_blob(out, &blob);
}

static bool write_osrelease(FILE *out, const struct perf_data *data, uint64_t auxtrace_at)
{
    (void)data, (void)auxtrace_at;
    return write_string_feature(out, "ptsim " PACKAGE_VERSION);
}

static bool write_version(FILE *out, const struct perf_data *data, uint64_t auxtrace_at)
{
    (void)data, (void)auxtrace_at;
    return write_string_feature(out, "ptsim " PACKAGE_VERSION);
}

static bool write_arch(FILE *out, const struct perf_data *data, uint64_t auxtrace_at)
{
    (void)data, (void)auxtrace_at;
    return write_string_feature(out, "x86_64");
}

static bool write_nrcpus(FILE *out, const struct perf_data *data, uint64_t auxtrace_at)
{
    struct blob blob = { .size = 0 };

    (void)data, (void)auxtrace_at;
    put(&blob, 1, 4); /* available */
    put(&blob, 1, 4); /* online */
    return write_blob(out, &blob);
}

static bool write_cpudesc(FILE *out, const struct perf_data *data, uint64_t auxtrace_at)
{
    (void)auxtrace_at;
    return write_string_feature(out, data->profile->title);
}

static bool write_cmdline(FILE *out, const struct perf_data *data, uint64_t auxtrace_at)
{
    struct blob blob = { .size = 0 };

    (void)auxtrace_at;
    put(&blob, data->argc, 4);
    if (!write_blob(out, &blob))
        return false;
    for (size_t i = 0; i < data->argc; i++)
        if (!write_string_feature(out, data->argv[i]))
            return false;
    return true;
}

static bool write_event_desc(FILE *out, const struct perf_data *data, uint64_t auxtrace_at)
{
    static const char *const name[2] = { "intel_pt//", "dummy:u" };
    const struct perf_event_attr attr[2] = { pt_attr(data), sideband_attr() };
    const uint64_t id[2] = { ID_PT, ID_SIDEBAND };
    struct blob blob = { .size = 0 };

    (void)auxtrace_at;
    put(&blob, 2, 4);
    put(&blob, ATTR_SIZE, 4);
    if (!write_blob(out, &blob))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        blob.size = 0;
        put(&blob, 1, 4); /* ids */
        put_feature_string(&blob, name[i]);
        put(&blob, id[i], 8);
        if (!write_attr(out, &attr[i]) || !write_blob(out, &blob))
            return false;
    }
    return true;
}

static bool write_pmu_mappings(FILE *out, const struct perf_data *data, uint64_t auxtrace_at)
{
    struct blob blob = { .size = 0 };

    (void)data, (void)auxtrace_at;
    put(&blob, 2, 4);
    put(&blob, PERF_TYPE_SOFTWARE, 4);
    put_feature_string(&blob, "software");
    put(&blob, PMU_TYPE, 4);
    put_feature_string(&blob, "intel_pt");
    return write_blob(out, &blob);
}

/* An index of the AUXTRACE records: {offset in the file, size of the record}. */
static bool write_auxtrace_index(FILE *out, const struct perf_data *data, uint64_t auxtrace_at)
{
    struct blob blob = { .size = 0 };

    (void)data;
    put(&blob, 1, 8);
    put(&blob, auxtrace_at, 8);
    put(&blob, AUXTRACE_SIZE, 8);
    return write_blob(out, &blob);
}

static const struct feature features[] = {
    { FEATURE_BUILD_ID, write_build_ids },
    { FEATURE_OSRELEASE, write_osrelease },
    { FEATURE_VERSION, write_version },
    { FEATURE_ARCH, write_arch },
    { FEATURE_NRCPUS, write_nrcpus },
    { FEATURE_CPUDESC, write_cpudesc },
    { FEATURE_CMDLINE, write_cmdline },
    { FEATURE_EVENT_DESC, write_event_desc },
    { FEATURE_PMU_MAPPINGS, write_pmu_mappings },
    { FEATURE_AUXTRACE, write_auxtrace_index },
};
enum {
    FEATURES = sizeof features / sizeof *features
};

/* The table of {offset, size} at AT, in bit order, then the contents it points to. */
static bool write_features(FILE *out, const struct perf_data *data, uint64_t at,
                           uint64_t auxtrace_at)
{
    struct blob table = { .size = 0 };

    if (fseeko(out, (off_t)(at + 16 * FEATURES), SEEK_SET) != 0)
        return false;
    for (unsigned i = 0; i < FEATURES; i++) {
        off_t begin = ftello(out);

        if (!features[i].write(out, data, auxtrace_at))
            return false;
        put(&table, (uint64_t)begin, 8);
        put(&table, (uint64_t)(ftello(out) - begin), 8);
    }
    return fseeko(out, (off_t)at, SEEK_SET) == 0 && write_blob(out, &table);
}

static bool write_file_header(FILE *out, uint64_t data_at, uint64_t data_size)
{
    uint64_t bitmap[4] = { 0 };
    struct blob blob = { .size = 0 };

    for (unsigned i = 0; i < FEATURES; i++)
        bitmap[features[i].bit / 64] |= BIT(features[i].bit % 64);
    for (const char *magic = "PERFILE2"; *magic; magic++)
        put(&blob, (uint8_t)*magic, 1);
    put(&blob, FILE_HEADER_SIZE, 8);
    put(&blob, ATTR_ENTRY_SIZE, 8);
    put(&blob, FILE_HEADER_SIZE, 8); /* attrs */
    put(&blob, 2 * ATTR_ENTRY_SIZE, 8);
    put(&blob, data_at, 8);
    put(&blob, data_size, 8);
    put(&blob, 0, 8); /* event types, which nothing uses any more */
    put(&blob, 0, 8);
    for (unsigned i = 0; i < 4; i++)
        put(&blob, bitmap[i], 8);
    return fseeko(out, 0, SEEK_SET) == 0 && write_blob(out, &blob);
}

bool perf_data_write(FILE *out, const struct perf_data *data, FILE *trace, uint64_t trace_size)
{
    uint64_t data_at, data_end, auxtrace_at;

    if (fseeko(out, FILE_HEADER_SIZE, SEEK_SET) != 0 || !write_attrs(out, data))
        return false;
    data_at = (uint64_t)ftello(out);
    if (!write_records(out, data, trace, trace_size, &auxtrace_at))
        return false;
    data_end = (uint64_t)ftello(out);
    return write_features(out, data, data_end, auxtrace_at) &&
           write_file_header(out, data_at, data_end - data_at) && fflush(out) == 0;
}
