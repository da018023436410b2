/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "packet_diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The longest part for which the best pairing is looked for: the table has its square of entries.
 */
#define PAIRING_MAX 2000

static bool same(const struct packet_seen *a, const struct packet_seen *b)
{
    return a->packet.size == b->packet.size && a->cut == b->cut && a->bad == b->bad &&
           !memcmp(a->bytes, b->bytes, a->packet.size);
}

struct sides {
    const struct packet_seen *expected;
    const struct packet_seen *got;
    size_t expected_from, expected_to; /* the part between the common beginning and end */
    size_t got_from, got_to;
};

static void put(struct packet_diff *diff, long expected, long got, bool is_same)
{
    diff->row[diff->rows++] = (struct packet_pair){ expected, got, is_same };
    diff->differences += !is_same;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void pair_one_by_one(struct packet_diff *diff, const struct sides *s)
{
    size_t i = s->expected_from, j = s->got_from;

    for (; i < s->expected_to && j < s->got_to; i++, j++)
        put(diff, (long)i, (long)j, same(&s->expected[i], &s->got[j]));
    for (; i < s->expected_to; i++)
        put(diff, (long)i, -1, false);
    for (; j < s->got_to; j++)
        put(diff, -1, (long)j, false);
}

/* LENGTH[i * COLUMNS + j] is how many packets can be paired from i and j on: the longest common
 * subsequence. */
static void fill_lengths(const struct sides *s, uint16_t *length, size_t columns)
{
    for (size_t i = s->expected_to - s->expected_from; i-- > 0;)
        for (size_t j = s->got_to - s->got_from; j-- > 0;) {
            const uint16_t *here = &length[i * columns + j];
            uint16_t skip = here[columns] > here[1] ? here[columns] : here[1];

            length[i * columns + j] =
                same(&s->expected[s->expected_from + i], &s->got[s->got_from + j])
                    ? (uint16_t)(here[columns + 1] + 1)
                    : skip;
        }
}

static bool pair_best(struct packet_diff *diff, const struct sides *s)
{
    size_t rows = s->expected_to - s->expected_from, columns = s->got_to - s->got_from + 1;
    uint16_t *length = calloc((rows + 1) * columns, sizeof(*length));
    size_t i = 0, j = 0;

    if (!length)
        return false;
    fill_lengths(s, length, columns);
    while (i < rows || j + 1 < columns) {
        const uint16_t *here = &length[i * columns + j];
        long expected = (long)(s->expected_from + i), got = (long)(s->got_from + j);
        bool both = i < rows && j + 1 < columns;

        if (both && same(&s->expected[expected], &s->got[got])) {
            put(diff, expected, got, true);
            i++, j++;
        } else if (both && here[columns + 1] == *here) {
            put(diff, expected, got, false);
            i++, j++;
        } else if (i < rows && (j + 1 == columns || here[columns] == *here)) {
            put(diff, expected, -1, false);
            i++;
        } else {
            put(diff, -1, got, false);
            j++;
        }
    }
    free(length);
    return true;
}

bool packet_diff_make(struct packet_diff *diff, const struct packet_list *expected,
                      const struct packet_list *got)
{
    struct sides s = { .expected = expected->packet, .got = got->packet };
    size_t common = smaller(expected->count, got->count), end = 0;

    *diff = (struct packet_diff){
        .row = calloc(expected->count + got->count + 1, sizeof(diff->row[0])),
    };
    if (!diff->row)
        return false;
    while (s.got_from < common && same(&s.expected[s.got_from], &s.got[s.got_from])) {
        put(diff, (long)s.got_from, (long)s.got_from, true);
        s.got_from++;
    }
    s.expected_from = s.got_from;
    while (end < common - s.got_from &&
           same(&s.expected[expected->count - 1 - end], &s.got[got->count - 1 - end]))
        end++;
    s.expected_to = expected->count - end;
    s.got_to = got->count - end;
    if (s.expected_to - s.expected_from > PAIRING_MAX || s.got_to - s.got_from > PAIRING_MAX)
        pair_one_by_one(diff, &s);
    else if (!pair_best(diff, &s)) {
        packet_diff_free(diff);
        return false;
    }
    for (; end; end--)
        put(diff, (long)(expected->count - end), (long)(got->count - end), true);
    return true;
}

void packet_diff_free(struct packet_diff *diff)
{
    free(diff->row);
    *diff = (struct packet_diff){ .row = NULL };
}
