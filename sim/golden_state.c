/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of state in golden files: msr, reg, mem. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "golden.h"
#include "msr_text.h"

struct compare {
    const struct golden *golden;
    const struct golden_state *state;
    const struct symbols *symbols;
    struct lp *lp;
    bool *same;
    struct state_difference *difference;
};

#define WRONG(c, ...)                                                                              \
    mistake((c)->golden->mistake, (c)->golden->path, (struct place){ .line = (c)->state->line },   \
            __VA_ARGS__)

static bool value_of(const struct compare *c, const char *word, uint64_t *value)
{
    struct expr_bad bad;

    if (expr_eval(word, c->symbols, value, &bad) == EXPR_OK)
        return true;
    return WRONG(c, "'%.*s' is neither a number nor a label", bad.length, bad.text);
}

static void name_value(const struct symbols *symbols, uint64_t value, char *out, size_t size)
{
    char address[PACKET_TEXT_MAX];

    address_text(value, symbols, address);
    if (strncmp(address, "0x", 2))
        snprintf(out, size, "0x%" PRIx64 " (%s)", value, address);
    else
        snprintf(out, size, "%s", address);
}

static bool compare_values(const struct compare *c, uint64_t expected, uint64_t got)
{
    *c->same = expected == got;
    name_value(c->symbols, expected, c->difference->expected, sizeof(c->difference->expected));
    name_value(c->symbols, got, c->difference->got, sizeof(c->difference->got));
    return true;
}

static bool compare_msr(const struct compare *c)
{
    const struct golden_state *state = c->state;
    const struct msr *msr = msr_find_name(state->word[1]);
    struct msr_text_error error;
    uint64_t expected, got;

    if (!msr)
        return WRONG(c, "unknown MSR '%s'", state->word[1]);
    if (!msr_text_eval(msr, (const char *const *)(state->word + 2), state->words - 2, c->symbols,
                       &expected, &error))
        return WRONG(c, "%s", error.text);
    if (lp_rdmsr(c->lp, msr->index, &got).raised)
        return WRONG(c, "the processor has no %s", msr->name);
    *c->same = expected == got;
    msr_text_print(msr, expected, c->difference->expected, sizeof(c->difference->expected));
    msr_text_print(msr, got, c->difference->got, sizeof(c->difference->got));
    return true;
}

static const char *const reg_names[] = {
#define SCN_REG(name, member, at_start) #name,
#include "scenario_tables.def"
    NULL,
};

/* The value of the register at INDEX in that order. */
static uint64_t reg_get(const struct arch_state *arch, size_t index)
{
    const uint64_t values[] = {
#define SCN_REG(name, member, at_start) arch->member,
#include "scenario_tables.def"
    };

    return values[index];
}

static bool compare_reg(const struct compare *c)
{
    size_t index = 0;
    uint64_t expected;

    while (reg_names[index] && strcmp(reg_names[index], c->state->word[1]))
        index++;
    if (!reg_names[index])
        return WRONG(c,
                     "unknown register '%s', expected rax and the like, rip, rflags, cr0, cpl, "
                     "cs and the like",
                     c->state->word[1]);
    if (c->state->words != 3)
        return WRONG(c, "'%s' behind the value", c->state->word[3]);
    return value_of(c, c->state->word[2], &expected) &&
           compare_values(c, expected, reg_get(&c->lp->arch, index));
}

/* mem ADDRESS SIZE VALUE...: the first that differs is told. */
static bool compare_mem(const struct compare *c)
{
    static const struct {
        const char *name;
        unsigned size;
    } sizes[] = { { "u8", 1 }, { "u16", 2 }, { "u32", 4 }, { "u64", 8 }, { "bytes", 1 } };
    const struct golden_state *state = c->state;
    uint64_t at, expected;
    unsigned i = 0;
    char number[32];

    while (i < sizeof(sizes) / sizeof(sizes[0]) && strcmp(sizes[i].name, state->word[2]))
        i++;
    if (i == sizeof(sizes) / sizeof(sizes[0]) || state->words < 4)
        return WRONG(c, "expected u8, u16, u32, u64 or bytes, and values");
    if (!value_of(c, state->word[1], &at))
        return false;
    for (size_t word = 3; word < state->words && *c->same; word++, at += sizes[i].size) {
        snprintf(number, sizeof(number), "0x%.20s", state->word[word]);
        if (!value_of(c, strcmp(sizes[i].name, "bytes") ? state->word[word] : number, &expected))
            return false;
        snprintf(c->difference->what, sizeof(c->difference->what), "mem 0x%" PRIx64 " %s", at,
                 sizes[i].name);
        compare_values(c, expected, mem_port_read(&c->lp->mem, at, sizes[i].size));
    }
    return true;
}

bool golden_state_compare(const struct golden *golden, size_t index,
                          const struct scenario *scenario, struct lp *lp, bool *same,
                          struct state_difference *difference)
{
    const struct golden_state *state = &golden->state[index];
    const struct compare c = { golden, state, &scenario->symbols, lp, same, difference };

    *same = true;
    *difference = (struct state_difference){ .line = state->line };
    snprintf(difference->what, sizeof(difference->what), "%s %s", state->word[0], state->word[1]);
    if (!strcmp(state->word[0], "msr"))
        return compare_msr(&c);
    if (!strcmp(state->word[0], "reg"))
        return compare_reg(&c);
    return compare_mem(&c);
}
