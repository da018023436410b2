/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for addresses and other numbers, and the expressions made of them that scenarios and
 * golden files use: numbers (10, 0x10, 4K, 2M, 1G) and names, joined by + and -. */
#ifndef PTSIM_SIM_SYMBOLS_H
#define PTSIM_SIM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum symbol_kind {
    SYMBOL_LABEL,    /* an address in the code */
    SYMBOL_ROOT,     /* a value of CR3 */
    SYMBOL_CONSTANT, /* what else the environment names */
};

struct symbol {
    char *name;
    uint64_t value;
    enum symbol_kind kind;
};

struct symbols {
    struct symbol *symbol;
    size_t count;
};

void symbols_free(struct symbols *symbols);
/* Adds NAME, of LENGTH bytes, which must be new. False when out of memory. */
bool symbols_add(struct symbols *symbols, const char *name, size_t length, uint64_t value,
                 enum symbol_kind kind);
/* NULL where there is none of that name. */
const struct symbol *symbols_find(const struct symbols *symbols, const char *name, size_t length);
/* The symbol of KIND with the highest value that is not above VALUE, if it is less than REACH
 * below it; of several with one value the first that was added. NULL where there is none. */
const struct symbol *symbols_near(const struct symbols *symbols, enum symbol_kind kind,
                                  uint64_t value, uint64_t reach);

/* Whether TEXT can be a name: letters, digits, _ . and $, not a digit first. */
bool symbol_name(const char *text);

/* A number as scenarios write it. False where TEXT is not one, or does not fit in 64 bits. */
bool number_parse(const char *text, uint64_t *value);

enum expr_result {
    EXPR_OK,
    EXPR_UNKNOWN, /* a name that is none; BAD has it */
    EXPR_SYNTAX,  /* not an expression; BAD has the part that is wrong */
};

struct expr_bad {
    const char *text; /* in the expression */
    int length;
};

/* Evaluates TEXT modulo 2^64. BAD is set where the result is not EXPR_OK. SYMBOLS may be NULL: then
 * every name has the value 0, which checks the syntax alone. */
enum expr_result expr_eval(const char *text, const struct symbols *symbols, uint64_t *value,
                           struct expr_bad *bad);

#endif
