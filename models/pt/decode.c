/* SPDX-License-Identifier: MIT */
/* The decoder of what decode.h has not inline. The fields of packets of shape FIXED come out of
 * code that their rows expand to. */
#include "decode.h"

#include <string.h>

#include "encode.h"

/* The beginning of a packet, zero where the buffer has ended: byte 0 is the lowest of word[0],
 * byte 8 that of word[1]. */
struct image {
    uint64_t word[2];
};

static struct image image_load(const uint8_t *buf, size_t size)
{
    uint8_t bytes[16] = { 0 };

    if (size < sizeof(bytes))
        buf = memcpy(bytes, buf, size);
    return (struct image){ { le64_get(buf), le64_get(buf + 8) } };
}

static inline uint64_t image_get(const struct image *image, unsigned hi, unsigned lo)
{
    uint64_t value;

    if (lo >= 64)
        return bits_get(image->word[1], hi - 64, lo - 64);
    if (hi < 64)
        return bits_get(image->word[0], hi, lo);
    value = image->word[0] >> lo | image->word[1] << (64 - lo);
    return value & BITS(hi - lo, 0);
}

/* Whether the ZERO rows of TYPE hold. */
static inline bool zeros_hold(enum ipt_packet_type type, const struct image *image)
{
    switch (type) {
#define PACKET(id, ...) case IPT_##id:
#define ZERO(id, hi, lo)                                                                           \
    if (image_get(image, hi, lo))                                                                  \
        return false;
#define END(id) return true;
#include "packets.def"
    case IPT_PACKET_TYPES:
        break;
    }
    return false;
}

static enum ptsim_status decode_fixed(enum ipt_packet_type type, const uint8_t *buf, size_t size,
                                      struct ipt_packet *packet)
{
    struct image image = image_load(buf, size);
    size_t need = ipt_packet_row(type)->size;

    if (!zeros_hold(type, &image))
        return PTSIM_BAD_PACKET;
    if (size < need)
        return PTSIM_TRUNCATED;
    packet->type = type;
    packet->size = (uint8_t)need;
    switch (type) {
#define PACKET(id, ...) case IPT_##id:
#define FIELD(id, type, group, member, hi, lo, shift, meaning)                                     \
    packet->group.member = (type)(image_get(&image, hi, lo) << (shift));
#define END(id) break;
#include "packets.def"
    case IPT_PACKET_TYPES:
        break;
    }
    return PTSIM_OK;
}

static enum ptsim_status decode_tnt_64(const uint8_t *buf, size_t size, struct ipt_packet *packet)
{
    uint64_t payload;

    if (size < 8)
        return PTSIM_TRUNCATED;
    payload = le64_get(buf) >> 16;
    return payload > 1 ? ipt_get_tnt(IPT_TNT_64, payload, 8, packet) : PTSIM_BAD_PACKET;
}

enum ptsim_status ipt_get_cyc_long(const uint8_t *buf, size_t size, struct ipt_packet *packet)
{
    uint64_t cycles = buf[0] >> 3;
    bool more = true;
    size_t at = 1;

    for (unsigned shift = 5; more; shift += 7) {
        uint64_t bits;

        if (at == size)
            return PTSIM_TRUNCATED;
        bits = buf[at] >> 1;
        more = buf[at++] & 1;
        if (shift >= 64 || bits << shift >> shift != bits)
            return PTSIM_BAD_PACKET;
        cycles |= bits << shift;
    }
    packet->type = IPT_CYC;
    packet->size = (uint8_t)at;
    packet->cyc.cycles = cycles;
    return PTSIM_OK;
}

static enum ptsim_status decode_psb(const uint8_t *buf, size_t size, struct ipt_packet *packet)
{
    uint8_t psb[IPT_PACKET_MAX];
    size_t need = ipt_put_psb(psb);

    if (memcmp(buf, psb, size < need ? size : need) != 0)
        return PTSIM_BAD_PACKET;
    if (size < need)
        return PTSIM_TRUNCATED;
    packet->type = IPT_PSB;
    packet->size = (uint8_t)need;
    return PTSIM_OK;
}

static enum ptsim_status decode_ptw(const uint8_t *buf, size_t size, struct ipt_packet *packet)
{
    size_t bytes = buf[1] & 0x20 ? 8 : 4;

    if (buf[1] & 0x40)
        return PTSIM_BAD_PACKET;
    if (size < 2 + bytes)
        return PTSIM_TRUNCATED;
    packet->type = IPT_PTW;
    packet->size = (uint8_t)(2 + bytes);
    packet->ptw.bytes = (uint8_t)bytes;
    packet->ptw.ip = buf[1] >> 7;
    packet->ptw.payload = ipt_get_le(buf + 2, bytes, size - 2);
    return PTSIM_OK;
}

static enum ptsim_status decode_bip(size_t bytes, const uint8_t *buf, size_t size,
                                    struct ipt_packet *packet)
{
    if (size < 1 + bytes)
        return PTSIM_TRUNCATED;
    packet->type = IPT_BIP;
    packet->size = (uint8_t)(1 + bytes);
    packet->bip.id = buf[0] >> 3;
    packet->bip.bytes = (uint8_t)bytes;
    packet->bip.payload = ipt_get_le(buf + 1, bytes, size - 1);
    return PTSIM_OK;
}

static enum ptsim_status decode_mode(const uint8_t *buf, size_t size, struct ipt_packet *packet)
{
    if (size < 2)
        return PTSIM_TRUNCATED;
    switch (buf[1] & 0xe0) {
    case IPT_MODE_EXEC_OPCODE:
        return decode_fixed(IPT_MODE_EXEC, buf, size, packet);
    case IPT_MODE_TSX_OPCODE:
        return decode_fixed(IPT_MODE_TSX, buf, size, packet);
    default:
        return PTSIM_BAD_PACKET;
    }
}

/* The packet that each byte after 02 begins, plus 1; 0: none. */
/* clang-format off */
static const uint8_t ext[256] = {
#define NONE(opcode, value)   [opcode] = value,
#define BIT7(opcode, value)   NONE(opcode, value) NONE((opcode) | 0x80, value)
#define BITS76(opcode, value) BIT7(opcode, value) BIT7((opcode) | 0x40, value)
#define BITS75(opcode, value) BITS76(opcode, value) BITS76((opcode) | 0x20, value)
#define BYTE(free, opcode, id)
#define EXT(free, opcode, id) free(opcode, id + 1)
#define EXT2(free, opcode, id)
#define MODE(free, opcode, id)
#define PACKET(id, name, dump, space, opcode, free, shape, size, cyc, text, section)                     \
    space(free, opcode, IPT_##id)
#include "packets.def"
};
/* clang-format on */

/* What begins with 02. */
static enum ptsim_status decode_ext(struct ipt_decode_state *state, const uint8_t *buf, size_t size,
                                    struct ipt_packet *packet)
{
    enum ptsim_status status;

    if (size < 2)
        return PTSIM_TRUNCATED;
    if (buf[1] == IPT_OPCODE_EXT2) {
        if (size < 3)
            return PTSIM_TRUNCATED;
        return buf[2] == IPT_MNT_OPCODE ? decode_fixed(IPT_MNT, buf, size, packet)
                                        : PTSIM_BAD_PACKET;
    }
    if (!ext[buf[1]])
        return PTSIM_BAD_PACKET;
    switch (ext[buf[1]] - 1) {
    case IPT_TNT_64:
        return decode_tnt_64(buf, size, packet);
    case IPT_PTW:
        return decode_ptw(buf, size, packet);
    case IPT_PSB:
        status = decode_psb(buf, size, packet);
        break;
    default:
        status = decode_fixed((enum ipt_packet_type)(ext[buf[1]] - 1), buf, size, packet);
    }
    if (status)
        return status;
    if (packet->type == IPT_BBP)
        state->bip_bytes = packet->bbp.sz ? 4 : 8;
    else if (packet->type == IPT_BEP || packet->type == IPT_OVF || packet->type == IPT_PSB)
        state->bip_bytes = 0;
    return PTSIM_OK;
}

enum ptsim_status ipt_get_rare(struct ipt_decode_state *state, const uint8_t *buf, size_t size,
                               struct ipt_packet *packet)
{
    if (state->bip_bytes && (buf[0] & 7) == IPT_BIP_OPCODE)
        return decode_bip(state->bip_bytes, buf, size, packet);
    switch (buf[0]) {
    case IPT_PAD_OPCODE:
        return decode_fixed(IPT_PAD, buf, size, packet);
    case IPT_OPCODE_EXT:
        return decode_ext(state, buf, size, packet);
    case IPT_TSC_OPCODE:
        return decode_fixed(IPT_TSC, buf, size, packet);
    case IPT_OPCODE_MODE:
        return decode_mode(buf, size, packet);
    }
    if ((buf[0] & 1) == 0) /* in a block, and no BIP */
        return ipt_get_tnt(IPT_TNT_8, buf[0] >> 1, 1, packet);
    return PTSIM_BAD_PACKET;
}

enum ptsim_status ipt_decode(struct ipt_decode_state *state, const uint8_t *buf, size_t size,
                             struct ipt_packet *packet)
{
    return ipt_get(state, buf, size, packet);
}

enum ptsim_status ipt_sync(const uint8_t *buf, size_t size, size_t from, size_t *offset)
{
    uint8_t psb[IPT_PACKET_MAX];
    size_t length = ipt_put_psb(psb);

    while (from < size && size - from >= length) {
        const uint8_t *found = memchr(buf + from, psb[0], size - from - length + 1);

        if (!found)
            break;
        from = (size_t)(found - buf);
        if (memcmp(found, psb, length) == 0) {
            while (size - from >= length + 2 && memcmp(buf + from + length, psb, 2) == 0)
                from += 2;
            *offset = from;
            return PTSIM_OK;
        }
        from++;
    }
    return PTSIM_NO_SYNC;
}
