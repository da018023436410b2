/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of a scenario as a decoder has to know it: whole pages at each of their linear
 * addresses. */
#ifndef PTSIM_SIM_CODE_PAGES_H
#define PTSIM_SIM_CODE_PAGES_H

#include "environment.h"

struct code_page {
    uint64_t linear;
    uint64_t phys;
    uint8_t bytes[4096];
};

struct code_pages {
    struct code_page *page;
    size_t count;
};

/* The pages that have bytes of CODE, as they are now, each at its own linear address, where linear
 * is physical, and wherever the key `pages` maps it. Where a linear address has several, that of
 * the first root. False when out of memory. */
bool code_pages_take(struct code_pages *pages, const struct scenario *scenario,
                     const struct assembly *code, const struct lp *lp);
void code_pages_free(struct code_pages *pages);

#endif
