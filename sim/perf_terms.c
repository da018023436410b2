/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perf_terms.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../models/bits.h"

enum term {
#define TERM(name, high, low, encodings) TERM_##name,
#include "perf_terms.def"
#undef TERM
    TERMS
};

static const struct {
    const char *name;
    uint8_t high;
    uint8_t low;
} term_rows[] = {
#define TERM(name, high, low, encodings) { #name, high, low },
#include "perf_terms.def"
#undef TERM
};

#define FLAG(supported) ((supported) ? BIT(1) : 0)

/* The values of TERM beside 0 that P supports, a bit each. */
static uint64_t term_encodings(enum term term, const struct cpu_profile *p)
{
    switch (term) {
#define TERM(name, high, low, encodings)                                                           \
    case TERM_##name:                                                                              \
        return encodings;
#include "perf_terms.def"
#undef TERM
    case TERMS:
        break;
    }
    return 0;
}

#define USER BIT(3) /* IA32_RTIT_CTL.User: the modifier u */

struct parser {
    const struct cpu_profile *profile;
    uint64_t config;
    char *error;
    size_t error_size;
};

#define FAIL(parser, ...) (snprintf((parser)->error, (parser)->error_size, __VA_ARGS__), false)

static void term_put(struct parser *parser, enum term term, uint64_t value)
{
    parser->config = bits_put(parser->config, term_rows[term].high, term_rows[term].low, value);
}

static uint64_t term_get(const struct parser *parser, enum term term)
{
    return bits_get(parser->config, term_rows[term].high, term_rows[term].low);
}

/* The supported encoding that perf takes where it wants WANTED: the highest up to it, or else the
 * lowest. */
static uint64_t nearest_encoding(uint64_t encodings, unsigned wanted)
{
    for (unsigned below = wanted + 1; below-- > 0;)
        if (encodings & BIT(below))
            return below;
    for (unsigned above = wanted; above < 16; above++)
        if (encodings & BIT(above))
            return above;
    return 0;
}

/* What perf asks for where no term says otherwise (intel_pt_default_config() of its source). */
static void put_defaults(struct parser *parser)
{
    uint64_t mtc_periods = term_encodings(TERM_mtc_period, parser->profile);
    uint64_t psb_periods = term_encodings(TERM_psb_period, parser->profile);

    term_put(parser, TERM_pt, 1);
    term_put(parser, TERM_tsc, 1);
    term_put(parser, TERM_branch, 1);
    if (mtc_periods) {
        term_put(parser, TERM_mtc, 1);
        term_put(parser, TERM_mtc_period, nearest_encoding(mtc_periods, 3));
        term_put(parser, TERM_psb_period, nearest_encoding(psb_periods, 3));
    }
}

static bool find_term(struct parser *parser, const char *name, size_t length, enum term *term)
{
    char known[160] = "";

    for (unsigned t = 0; t < TERMS; t++) {
        *term = (enum term)t;
        if (strlen(term_rows[t].name) == length && !memcmp(term_rows[t].name, name, length))
            return true;
        strcat(known, " ");
        strcat(known, term_rows[t].name);
    }
    return FAIL(parser, "unknown term '%.*s'; expected one of%s", (int)length, name, known);
}

/* TEXT, of LENGTH characters, is one term: NAME or NAME=VALUE. */
static bool parse_term(struct parser *parser, const char *text, size_t length)
{
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals ? (size_t)(equals - text) : length;
    const char *end = text + length;
    uint64_t value = 1;
    uint64_t encodings;
    enum term term;
    char *stop;

    if (!find_term(parser, text, name_length, &term))
        return false;
    if (equals) {
        value = strtoull(equals + 1, &stop, 0);
        if (stop != end || !isdigit((unsigned char)equals[1]))
            return FAIL(parser, "'%.*s': expected a number after '='", (int)length, text);
    } else if (term_rows[term].high != term_rows[term].low) {
        return FAIL(parser, "term '%s' needs a value", term_rows[term].name);
    }
    if (value > bits_get(~UINT64_C(0), term_rows[term].high, term_rows[term].low))
        return FAIL(
            parser, "'%.*s' is out of range: at most %llu", (int)length, text,
            (unsigned long long)bits_get(~UINT64_C(0), term_rows[term].high, term_rows[term].low));
    encodings = term_encodings(term, parser->profile);
    if (value && !(encodings & BIT(value)))
        return FAIL(parser, "'%.*s' is not supported by the profile %s", (int)length, text,
                    parser->profile->name);
    term_put(parser, term, value);
    return true;
}

static bool parse_terms(struct parser *parser, const char *text, const char *end)
{
    while (text < end) {
        size_t length = strcspn(text, ",/");

        if (!parse_term(parser, text, length))
            return false;
        text += length + 1;
    }
    if (term_get(parser, TERM_fup_on_ptw) && !term_get(parser, TERM_ptw))
        return FAIL(parser, "fup_on_ptw without ptw has no effect");
    return true;
}

bool perf_terms_parse(const char *event, const struct cpu_profile *profile, uint64_t *ctl,
                      char *error, size_t error_size)
{
    static const char prefix[] = "intel_pt/";
    struct parser parser = { .profile = profile, .error = error, .error_size = error_size };
    const char *terms = event + sizeof(prefix) - 1;
    const char *modifier;

    if (strncmp(event, prefix, sizeof(prefix) - 1))
        return FAIL(&parser, "expected intel_pt/TERMS/u");
    modifier = strchr(terms, '/');
    if (!modifier)
        return FAIL(&parser, "expected a second '/' after the terms");
    if (strcmp(modifier, "/u"))
        return FAIL(&parser, "only user mode can be recorded: expected 'u' after the last '/'");
    put_defaults(&parser);
    if (!parse_terms(&parser, terms, modifier))
        return false;
    term_put(&parser, TERM_pt, 0);
    *ctl = parser.config | USER;
    return true;
}
