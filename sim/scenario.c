/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mode {
    unsigned bits;
    enum scn_paging paging;
} modes[] = {
#define SCN_MODE(id, name, arch, bits, paging) { bits, SCN_PAGING_##paging },
#include "scenario_tables.def"
};

static const char *const mode_words[] = {
#define SCN_MODE(id, name, arch, bits, paging) name,
#include "scenario_tables.def"
    NULL,
};

static const char *const paging_words[] = {
#define SCN_PAGING(id, name) name,
#include "scenario_tables.def"
    NULL,
};

static const struct {
    const char *name;
    uint64_t value;
} environment_symbols[] = {
#define ENV_PLACE(name, address)          { #name, address },
#define ENV_SEGMENT(name, selector, kind) { #name, selector },
#include "environment.def"
};

unsigned scn_code_bits(const struct scenario *scenario)
{
    return modes[scenario->mode].bits;
}

bool scn_ia32e(const struct scenario *scenario)
{
    return scenario->mode == SCN_LONG64 || scenario->mode == SCN_COMPAT32;
}

/* ---- reading values ---- */

bool scn_value(const struct scenario *scenario, const struct scn_text *text, uint64_t otherwise,
               uint64_t *value)
{
    struct expr_bad bad;

    *value = otherwise;
    if (!text->text)
        return true;
    switch (expr_eval(text->text, &scenario->symbols, value, &bad)) {
    case EXPR_UNKNOWN:
        return SCN_MISTAKE(scenario, text,
                           "'%.*s' is no label of the code and no symbol of the environment",
                           bad.length, bad.text);
    case EXPR_SYNTAX:
        return SCN_MISTAKE(scenario, text,
                           "'%s' is not a value, expected numbers and labels joined by + and -",
                           text->text);
    default:
        return true;
    }
}

bool scn_number(const struct scenario *scenario, const struct scn_text *text, uint64_t otherwise,
                uint64_t min, uint64_t max, uint64_t *value)
{
    *value = otherwise;
    if (!text->text)
        return true;
    if (number_parse(text->text, value) && *value >= min && *value <= max)
        return true;
    return SCN_MISTAKE(scenario, text, "'%s', expected a number from %" PRIu64 " to %" PRIu64,
                       text->text, min, max);
}

static bool word_find(const char *const *words, const char *word, unsigned *index)
{
    for (*index = 0; words[*index]; ++*index)
        if (!strcmp(words[*index], word))
            return true;
    return false;
}

static bool unknown_word(const struct scenario *scenario, const struct scn_text *text,
                         const char *const *words)
{
    char list[200] = "";

    for (unsigned i = 0; words[i]; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "", words[i]);
    return SCN_MISTAKE(scenario, text, "'%s', expected one of %s", text->text, list);
}

bool scn_word(const struct scenario *scenario, const struct scn_text *text,
              const char *const *words, unsigned otherwise, unsigned *index)
{
    *index = otherwise;
    return !text->text || word_find(words, text->text, index) ||
           unknown_word(scenario, text, words);
}

bool scn_words(const struct scenario *scenario, const struct scn_text *text, unsigned count,
               const char *const *words, unsigned *set)
{
    unsigned index;

    *set = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!word_find(words, text[i].text, &index))
            return unknown_word(scenario, &text[i], words);
        *set |= 1u << index;
    }
    return true;
}

bool scn_root(const struct scenario *scenario, const struct scn_text *text, uint64_t otherwise,
              uint64_t *cr3)
{
    const char *name = text->text && !strcmp(text->text, "main") ? "cr3_main" : text->text;
    const struct symbol *symbol;

    *cr3 = otherwise;
    if (!name)
        return true;
    symbol = symbols_find(&scenario->symbols, name, strlen(name));
    if (!symbol || symbol->kind != SYMBOL_ROOT)
        return SCN_MISTAKE(scenario, text, "'%s', expected main or one of roots", text->text);
    *cr3 = symbol->value;
    return true;
}

/* ---- what does not depend on the code ---- */

static bool read_cpu(struct scenario *s)
{
    const struct scn_text *text = &s->file->cpu;
    char list[200] = "";

    s->cpu = text->text ? cpu_profile_find(text->text) : cpu_profile_at(0);
    if (s->cpu)
        return true;
    for (unsigned i = 0; cpu_profile_at(i); i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
                 cpu_profile_at(i)->name);
    return SCN_MISTAKE(s, text, "unknown cpu '%s', expected one of %s", text->text, list);
}

/* The privilege levels and paging modes that go with the mode. */
static bool check_mode(const struct scenario *s)
{
    const struct scn_file *file = s->file;
    enum scn_paging own = modes[s->mode].paging;
    bool choice = s->mode == SCN_PROT32;

    if (s->mode == SCN_REAL16 && s->cpl)
        return SCN_MISTAKE(s, &file->cpl, "real16 runs at CPL 0");
    if (s->mode == SCN_V86 && s->cpl != 3)
        return SCN_MISTAKE(s, &file->cpl, "v86 runs at CPL 3");
    if (s->mode == SCN_COMPAT32 && s->cpl % 3)
        return SCN_MISTAKE(s, &file->cpl, "compat32 has 32-bit code at CPL 0 and 3");
    if (s->paging != own && !(choice && s->paging != SCN_PAGING_4LEVEL))
        return SCN_MISTAKE(s, &file->paging, "'%s' does not go with mode %s", file->paging.text,
                           mode_words[s->mode]);
    return true;
}

static bool read_mode(struct scenario *s)
{
    const struct scn_file *file = s->file;
    unsigned mode, paging;
    uint64_t cpl;

    if (!scn_word(s, &file->mode, mode_words, SCN_LONG64, &mode))
        return false;
    s->mode = (enum scn_mode)mode;
    if (!scn_word(s, &file->paging, paging_words, modes[mode].paging, &paging) ||
        !scn_number(s, &file->cpl, mode == SCN_V86 ? 3 : 0, 0, 3, &cpl))
        return false;
    s->paging = (enum scn_paging)paging;
    s->cpl = (uint8_t)cpl;
    if (scn_ia32e(s) && !s->cpu->intel64)
        return SCN_MISTAKE(s, file->mode.text ? &file->mode : &file->here,
                           "mode %s needs Intel 64, which %s has not", mode_words[mode],
                           s->cpu->name);
    return check_mode(s);
}

static bool read_sizes(struct scenario *s)
{
    const struct scn_file *file = s->file;

    if (!scn_number(s, &file->memory, 4 << 20, 2 << 20, UINT64_C(4) << 30, &s->memory) ||
        !scn_number(s, &file->limit, 1000000, 1, UINT64_MAX, &s->limit))
        return false;
    if (s->memory % 4096)
        return SCN_MISTAKE(s, &file->memory, "'%s', expected a multiple of 4K", file->memory.text);
    return true;
}

static bool read_trace_end(struct scenario *s)
{
    static const char *const words[] = { "clear", "leave", NULL };
    unsigned index;

    if (!scn_word(s, &s->file->trace_end, words, 0, &index))
        return false;
    s->leave_trace_on = index == 1;
    return true;
}

/* ---- symbols ---- */

static bool name_symbol(struct scenario *s, const struct scn_text *name, uint64_t value,
                        enum symbol_kind kind)
{
    size_t length = strlen(name->text);

    if (!symbol_name(name->text))
        return SCN_MISTAKE(s, name, "'%s' is not a name: expected letters, digits and _",
                           name->text);
    if (symbols_find(&s->symbols, name->text, length))
        return SCN_MISTAKE(s, name, "the name '%s' is taken", name->text);
    return symbols_add(&s->symbols, name->text, length, value, kind) ||
           SCN_MISTAKE(s, name, "out of memory");
}

static bool add_symbols(struct scenario *s)
{
    const struct scn_file *file = s->file;
    uint16_t selector = SCN_FIRST_SELECTOR;

    for (size_t i = 0; i < sizeof(environment_symbols) / sizeof(environment_symbols[0]); i++)
        if (!symbols_add(&s->symbols, environment_symbols[i].name,
                         strlen(environment_symbols[i].name), environment_symbols[i].value,
                         SYMBOL_CONSTANT))
            return SCN_MISTAKE(s, &file->here, "out of memory");
    if (!symbols_add(&s->symbols, "cr3_main", 8, SCN_ROOT(0), SYMBOL_ROOT))
        return SCN_MISTAKE(s, &file->here, "out of memory");
    if (file->roots_count > SCN_ROOTS_MAX - 1)
        return SCN_MISTAKE(s, &file->roots[0], "more roots than %d", SCN_ROOTS_MAX - 1);
    for (unsigned i = 0; i < file->roots_count; i++)
        if (!name_symbol(s, &file->roots[i], SCN_ROOT(i + 1), SYMBOL_ROOT))
            return false;
    if (file->tasks_count > SCN_TASKS_MAX)
        return SCN_MISTAKE(s, &file->tasks[0].here, "more tasks than %d", SCN_TASKS_MAX);
    if (file->gates_count > SCN_GATES_MAX)
        return SCN_MISTAKE(s, &file->gates[0].here, "more gates than %d", SCN_GATES_MAX);
    for (unsigned i = 0; i < file->tasks_count; i++, selector += SCN_SELECTOR_STEP)
        if (!name_symbol(s, &file->tasks[i].name, selector, SYMBOL_CONSTANT))
            return false;
    for (unsigned i = 0; i < file->gates_count; i++, selector += SCN_SELECTOR_STEP)
        if (!name_symbol(s, &file->gates[i].name, selector, SYMBOL_CONSTANT))
            return false;
    return true;
}

/* ---- the whole ---- */

static bool check(struct scenario *s)
{
    return read_cpu(s) && read_mode(s) && read_sizes(s) && read_trace_end(s) && add_symbols(s);
}

static bool take_file(struct scenario *scenario, const char *path, struct scn_file *file,
                      struct mistake *to)
{
    if (!file)
        return false;
    *scenario = (struct scenario){ .path = strdup(path), .mistake = to, .file = file };
    if (!scenario->path)
        mistake(to, path, (struct place){ .line = 0 }, "out of memory");
    if (scenario->path && check(scenario))
        return true;
    scenario_free(scenario);
    return false;
}

bool scenario_read(struct scenario *scenario, const char *path, struct mistake *mistake)
{
    return take_file(scenario, path, scn_read(path, mistake), mistake);
}

bool scenario_parse(struct scenario *scenario, const char *path, const char *yaml, size_t size,
                    struct mistake *mistake)
{
    return take_file(scenario, path, scn_parse(path, yaml, size, mistake), mistake);
}

void scenario_free(struct scenario *scenario)
{
    scn_free(scenario->file);
    symbols_free(&scenario->symbols);
    free(scenario->path);
}
