/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scenarios (docs/scenarios.md): a file read, and what its words mean. */
#ifndef PTSIM_SIM_SCENARIO_H
#define PTSIM_SIM_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "../models/profile.h"
#include "scenario_yaml.h"
#include "symbols.h"

enum scn_mode {
#define SCN_MODE(id, name, arch, bits, paging) SCN_##id,
#include "scenario_tables.def"
};

enum scn_paging {
#define SCN_PAGING(id, name) SCN_PAGING_##id,
#include "scenario_tables.def"
};

/* Where code begins that has no org. */
#define SCN_ORIGIN UINT64_C(0x8000)

/* Page-table root N; the selectors of `tasks` and then of `gates`, and how many there may be. */
#define SCN_ROOT(n) (UINT64_C(0x40000) + UINT64_C(0x1000) * (n))
enum {
    SCN_ROOTS_MAX = 8,
    SCN_TASKS_MAX = 16,
    SCN_GATES_MAX = 64,
    SCN_FIRST_SELECTOR = 0x90,
    SCN_SELECTOR_STEP = 0x10,
};

/* The scenario's keys that do not depend on its code. The others are in file, for whoever does
 * what they say, to be read with the functions below. */
struct scenario {
    char *path;
    struct mistake *mistake; /* where each mistake that is found goes */
    struct scn_file *file;
    const struct cpu_profile *cpu;
    enum scn_mode mode;
    enum scn_paging paging;
    uint8_t cpl;
    uint64_t memory; /* bytes */
    uint64_t limit;  /* instructions */
    bool leave_trace_on;
    struct symbols symbols; /* of the environment; the labels come with scenario_assemble() */
};

/* False on a mistake; then there is nothing to free. MISTAKE must outlive SCENARIO. */
bool scenario_read(struct scenario *scenario, const char *path, struct mistake *mistake);
/* The same with the file's SIZE bytes at YAML, which PATH names. */
bool scenario_parse(struct scenario *scenario, const char *path, const char *yaml, size_t size,
                    struct mistake *mistake);
void scenario_free(struct scenario *scenario);

/* The size of code at the start, in bits; whether it is IA-32e mode. */
unsigned scn_code_bits(const struct scenario *scenario);
bool scn_ia32e(const struct scenario *scenario);

/* Each reads TEXT, or takes OTHERWISE where the key is not there. False on a mistake. */

/* An expression. */
bool scn_value(const struct scenario *scenario, const struct scn_text *text, uint64_t otherwise,
               uint64_t *value);
/* A number from MIN to MAX. */
bool scn_number(const struct scenario *scenario, const struct scn_text *text, uint64_t otherwise,
                uint64_t min, uint64_t max, uint64_t *value);
/* One of WORDS, which NULL ends: its index. */
bool scn_word(const struct scenario *scenario, const struct scn_text *text,
              const char *const *words, unsigned otherwise, unsigned *index);
/* A list of them: bit N of SET for words[N]. */
bool scn_words(const struct scenario *scenario, const struct scn_text *text, unsigned count,
               const char *const *words, unsigned *set);

/* One of the page-table roots, `main` or a name in `roots`: the value of CR3. */
bool scn_root(const struct scenario *scenario, const struct scn_text *text, uint64_t otherwise,
              uint64_t *cr3);

/* A mistake at TEXT: false. */
#define SCN_MISTAKE(scenario, text, ...)                                                           \
    mistake((scenario)->mistake, (scenario)->path, scn_place(text), __VA_ARGS__)

#endif
