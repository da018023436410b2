/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "msr_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../models/bits.h"

static const struct msr_field *field_find(const struct msr *msr, const char *word, size_t length)
{
    char name[64];

    if (length >= sizeof(name))
        return NULL;
    memcpy(name, word, length);
    name[length] = '\0';
    return msr_field_find(msr, name);
}

static bool unknown_bit(const struct msr *msr, const char *word, size_t length,
                        struct msr_text_error *error)
{
    const struct msr_field *field;
    size_t used = (size_t)snprintf(error->text, sizeof(error->text),
                                   "unknown bit '%.*s' of %s, expected one of ",
                                   (int)(length < 64 ? length : 64), word, msr->name);

    for (unsigned i = 0; (field = msr_field_at(msr, i)) && used < sizeof(error->text); i++)
        used += (size_t)snprintf(error->text + used, sizeof(error->text) - used, "%s%s",
                                 i ? ", " : "", field->name);
    return false;
}

/* FIELD, or FIELD=EXPRESSION. */
static bool field_eval(const struct msr *msr, const char *word, const struct symbols *symbols,
                       uint64_t *value, struct msr_text_error *error)
{
    size_t length = strcspn(word, "=");
    const struct msr_field *field = field_find(msr, word, length);
    uint64_t set = 1;
    struct expr_bad bad;

    if (!field)
        return unknown_bit(msr, word, length, error);
    if (!word[length] && field->hi != field->lo) {
        snprintf(error->text, sizeof(error->text), "%s of %s has %u bits, expected its value: %s=N",
                 field->name, msr->name, field->hi - field->lo + 1u, field->name);
        return false;
    }
    if (word[length] && expr_eval(word + length + 1, symbols, &set, &bad) != EXPR_OK) {
        snprintf(error->text, sizeof(error->text), "'%.100s' is neither a number nor a label",
                 word + length + 1);
        return false;
    }
    if (set > BITS(field->hi - field->lo, 0)) {
        snprintf(error->text, sizeof(error->text), "0x%" PRIx64 " does not fit in %s of %s", set,
                 field->name, msr->name);
        return false;
    }
    *value = bits_put(*value, field->hi, field->lo, set);
    return true;
}

bool msr_text_eval(const struct msr *msr, const char *const *word, size_t count,
                   const struct symbols *symbols, uint64_t *value, struct msr_text_error *error)
{
    struct expr_bad bad;

    *value = 0;
    error->word = 0;
    if (count == 1 && !field_find(msr, word[0], strcspn(word[0], "=")) &&
        expr_eval(word[0], symbols, value, &bad) == EXPR_OK)
        return true;
    *value = 0;
    for (; error->word < count; error->word++)
        if (!field_eval(msr, word[error->word], symbols, value, error))
            return false;
    return true;
}

char *msr_text_print(const struct msr *msr, uint64_t value, char *text, size_t size)
{
    const struct msr_field *field;
    uint64_t left = value;
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; msr_field_at(msr, 1) && (field = msr_field_at(msr, i)); i++) {
        uint64_t set = bits_get(value, field->hi, field->lo);

        left &= ~BITS(field->hi, field->lo);
        if (!set || used >= size)
            continue;
        used += (size_t)snprintf(text + used, size - used,
                                 field->hi == field->lo ? "%s%s" : "%s%s=0x%" PRIx64,
                                 used ? " " : "", field->name, set);
    }
    if (left || !value)
        snprintf(text, size, "0x%" PRIx64, value);
    return text;
}
