/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The set of intercepted linear addresses, each with the hook that makes Unicorn stop there. */
#ifndef PTSIM_SIM_INTERCEPTS_H
#define PTSIM_SIM_INTERCEPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intercept {
    uint64_t linear;
    size_t hook;
};

struct intercepts {
    struct intercept *list; /* ascending addresses */
    size_t count;
    size_t room;
};

void intercepts_free(struct intercepts *set);

/* The intercept at LINEAR; NULL: there is none. Valid until the set changes. */
struct intercept *intercepts_find(const struct intercepts *set, uint64_t linear);
/* Puts in LINEAR, which is not there yet; NULL when out of memory. */
struct intercept *intercepts_add(struct intercepts *set, uint64_t linear);
/* Takes out what intercepts_find() gave. */
void intercepts_remove(struct intercepts *set, struct intercept *intercept);

#endif
