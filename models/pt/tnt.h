/* SPDX-License-Identifier: MIT */
/* The TNT buffer: the outcomes of conditional branches and compressed RETs that are not in a
 * packet yet (SDM 33.4.2.1). */
#ifndef PTSIM_PT_TNT_H
#define PTSIM_PT_TNT_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

struct ipt_tnt_buffer {
    uint32_t bits; /* the stop bit of the packet, then the outcomes, the oldest highest */
};

#define IPT_TNT_EMPTY 1u /* the stop bit alone */
#define IPT_TNT_FULL                                                                               \
    (1u << IPT_TNT_8_MAX) /* from here on it holds the 6 outcomes of a short TNT                   \
                           */

static inline void ipt_tnt_clear(struct ipt_tnt_buffer *tnt)
{
    tnt->bits = IPT_TNT_EMPTY;
}

static inline bool ipt_tnt_empty(const struct ipt_tnt_buffer *tnt)
{
    return tnt->bits == IPT_TNT_EMPTY;
}

/* Adds an outcome to a buffer that is not full; returns whether it now is. */
static inline bool ipt_tnt_add(struct ipt_tnt_buffer *tnt, bool taken)
{
    tnt->bits = tnt->bits << 1 | taken;
    return tnt->bits >= IPT_TNT_FULL;
}

/* The packet with what is in the buffer, which is not empty: a short TNT. */
static inline uint8_t ipt_tnt_packet(const struct ipt_tnt_buffer *tnt)
{
    return (uint8_t)(tnt->bits << 1 | IPT_TNT_8_OPCODE);
}

#endif
