/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "intercepts.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_ROOM = 64
};

void intercepts_free(struct intercepts *set)
{
    free(set->list);
    *set = (struct intercepts){ 0 };
}

/* The index of the first intercept at LINEAR or above. */
static size_t position(const struct intercepts *set, uint64_t linear)
{
    size_t low = 0;
    size_t high = set->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (set->list[middle].linear < linear)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct intercept *intercepts_find(const struct intercepts *set, uint64_t linear)
{
    size_t at = position(set, linear);

    return at < set->count && set->list[at].linear == linear ? &set->list[at] : NULL;
}

struct intercept *intercepts_add(struct intercepts *set, uint64_t linear)
{
    size_t at = position(set, linear);

    if (set->count == set->room) {
        size_t room = set->room ? set->room * 2 : FIRST_ROOM;
        struct intercept *grown = realloc(set->list, room * sizeof(*grown));

        if (!grown)
            return NULL;
        set->list = grown;
        set->room = room;
    }
    memmove(&set->list[at + 1], &set->list[at], (set->count - at) * sizeof(set->list[0]));
    set->count++;
    set->list[at] = (struct intercept){ .linear = linear };
    return &set->list[at];
}

void intercepts_remove(struct intercepts *set, struct intercept *intercept)
{
    size_t at = (size_t)(intercept - set->list);

    set->count--;
    memmove(&set->list[at], &set->list[at + 1], (set->count - at) * sizeof(set->list[0]));
}
