/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void symbols_free(struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->count; i++)
        free(symbols->symbol[i].name);
    free(symbols->symbol);
    *symbols = (struct symbols){ .symbol = NULL };
}

bool symbols_add(struct symbols *symbols, const char *name, size_t length, uint64_t value,
                 enum symbol_kind kind)
{
    char *copy = strndup(name, length);
    struct symbol *grown =
        realloc(symbols->symbol, (symbols->count + 1) * sizeof(symbols->symbol[0]));

    if (grown)
        symbols->symbol = grown;
    if (!copy || !grown) {
        free(copy);
        return false;
    }
    symbols->symbol[symbols->count++] =
        (struct symbol){ .name = copy, .value = value, .kind = kind };
    return true;
}

const struct symbol *symbols_find(const struct symbols *symbols, const char *name, size_t length)
{
    for (size_t i = 0; i < symbols->count; i++)
        if (!strncmp(symbols->symbol[i].name, name, length) && !symbols->symbol[i].name[length])
            return &symbols->symbol[i];
    return NULL;
}

const struct symbol *symbols_near(const struct symbols *symbols, enum symbol_kind kind,
                                  uint64_t value, uint64_t reach)
{
    const struct symbol *best = NULL;

    for (size_t i = 0; i < symbols->count; i++) {
        const struct symbol *s = &symbols->symbol[i];

        if (s->kind == kind && s->value <= value && value - s->value < reach &&
            (!best || s->value > best->value))
            best = s;
    }
    return best;
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

static size_t term_length(const char *text)
{
    size_t length = 0;

    while (name_char(text[length]))
        length++;
    return length;
}

bool symbol_name(const char *text)
{
    size_t length = term_length(text);

    return length && !text[length] && !isdigit((unsigned char)*text);
}

/* K, M or G behind a decimal number. */
static bool apply_suffix(const char *suffix, uint64_t *value)
{
    static const char suffixes[] = "KMG";
    const char *found = *suffix ? strchr(suffixes, *suffix) : NULL;
    unsigned shift;

    if (!*suffix)
        return true;
    if (!found || suffix[1])
        return false;
    shift = 10 * (unsigned)(found - suffixes + 1);
    if (*value >> (64 - shift))
        return false;
    *value <<= shift;
    return true;
}

bool number_parse(const char *text, uint64_t *value)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    char *end;

    if (!isxdigit((unsigned char)*digits))
        return false;
    errno = 0;
    *value = strtoull(digits, &end, hex ? 16 : 10);
    if (errno || end == digits)
        return false;
    return hex ? !*end : apply_suffix(end, value);
}

static enum expr_result term_eval(const char *text, size_t length, const struct symbols *symbols,
                                  uint64_t *value)
{
    char number[32];
    const struct symbol *symbol;

    if (isdigit((unsigned char)*text)) {
        if (length >= sizeof(number))
            return EXPR_SYNTAX;
        memcpy(number, text, length);
        number[length] = '\0';
        return number_parse(number, value) ? EXPR_OK : EXPR_SYNTAX;
    }
    *value = 0;
    if (!symbols)
        return EXPR_OK;
    symbol = symbols_find(symbols, text, length);
    if (!symbol)
        return EXPR_UNKNOWN;
    *value = symbol->value;
    return EXPR_OK;
}

enum expr_result expr_eval(const char *text, const struct symbols *symbols, uint64_t *value,
                           struct expr_bad *bad)
{
    bool minus = false;

    *value = 0;
    text += strspn(text, " ");
    if (*text == '+' || *text == '-')
        minus = *text++ == '-';
    for (;;) {
        enum expr_result result;
        size_t length;
        uint64_t term;

        text += strspn(text, " ");
        length = term_length(text);
        *bad = (struct expr_bad){ .text = text, .length = length ? (int)length : !!*text };
        result = length ? term_eval(text, length, symbols, &term) : EXPR_SYNTAX;
        if (result != EXPR_OK)
            return result;
        *value = minus ? *value - term : *value + term;
        text += length;
        text += strspn(text, " ");
        if (!*text)
            return EXPR_OK;
        *bad = (struct expr_bad){ .text = text, .length = 1 };
        if (*text != '+' && *text != '-')
            return EXPR_SYNTAX;
        minus = *text++ == '-';
    }
}
