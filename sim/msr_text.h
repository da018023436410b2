/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The value of an MSR in words, as scenarios and golden files write it: one expression, or the
 * fields that are set: TraceEn, PSBFreq=3. */
#ifndef PTSIM_SIM_MSR_TEXT_H
#define PTSIM_SIM_MSR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../models/core/msr.h"
#include "symbols.h"

struct msr_text_error {
    size_t word;    /* which one is wrong */
    char text[400]; /* and why */
};

/* The value that the COUNT words at WORD give MSR. False where one is wrong. */
bool msr_text_eval(const struct msr *msr, const char *const *word, size_t count,
                   const struct symbols *symbols, uint64_t *value, struct msr_text_error *error);

/* VALUE as such words, with a space between them: the fields that are not 0, or a number where the
 * MSR has but one field or VALUE has bits of none. Returns TEXT. */
char *msr_text_print(const struct msr *msr, uint64_t value, char *text, size_t size);

#endif
