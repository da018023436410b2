/* SPDX-License-Identifier: MIT */
/* The encoder of what encode.h has not inline. Packets of shape FIXED are straight-line code that
 * their rows expand to; the other shapes have a function each. */
#include "encode.h"

#include <string.h>

size_t ipt_put_cyc_long(uint8_t *out, uint64_t cycles)
{
    uint64_t rest = cycles >> 5;
    size_t size = 1;

    out[0] = (uint8_t)(cycles << 3 | (uint64_t)(rest != 0) << 2 | IPT_CYC_OPCODE);
    while (rest) {
        uint64_t low = rest & 0x7f;

        rest >>= 7;
        out[size++] = (uint8_t)(low << 1 | (uint64_t)(rest != 0));
    }
    return size;
}

/* A packet before it is written: byte 0 is the lowest of word[0], byte 8 that of word[1]. */
struct image {
    uint64_t word[2];
};

/* Puts VALUE, whose lowest bit that counts is SHIFT, at bits HI:LO. False where it does not fit. */
static inline bool image_put(struct image *image, uint64_t value, unsigned hi, unsigned lo,
                             unsigned shift)
{
    uint64_t field = value >> shift;

    if (field << shift != value || field & ~BITS(hi - lo, 0))
        return false;
    if (lo >= 64) {
        image->word[1] |= field << (lo - 64);
        return true;
    }
    image->word[0] |= field << lo;
    if (hi >= 64)
        image->word[1] |= field >> (64 - lo);
    return true;
}

/* 0 where a field of the image did not FIT. */
static inline size_t image_store(const struct image *image, size_t size, bool fits, uint8_t *out)
{
    if (!fits)
        return 0;
    le64_put(out, image->word[0]);
    le64_put(out + 8, image->word[1]);
    return size;
}

static size_t put_tnt_64(uint8_t *out, const struct ipt_packet *packet)
{
    const struct ipt_tnt *tnt = &packet->tnt;

    return ipt_tnt_valid(tnt, IPT_TNT_64_MAX) ? ipt_put_tnt_64(out, tnt->bits, tnt->count) : 0;
}

/* The payload of a PTW or a BIP, in BYTES bytes, behind its header of HEADER_SIZE bytes. */
static size_t put_payload(uint8_t *out, struct image header, size_t header_size, uint64_t payload,
                          unsigned bytes)
{
    unsigned lo = 8 * (unsigned)header_size;

    if (bytes != 4 && bytes != 8)
        return 0;
    return image_store(&header, header_size + bytes,
                       image_put(&header, payload, lo + 8 * bytes - 1, lo, 0), out);
}

static size_t put_ptw(uint8_t *out, const struct ipt_packet *packet)
{
    unsigned opcode =
        IPT_PTW_OPCODE | (unsigned)packet->ptw.ip << 7 | (unsigned)(packet->ptw.bytes == 8) << 5;

    return put_payload(out, (struct image){ { IPT_OPCODE_EXT | opcode << 8 } }, 2,
                       packet->ptw.payload, packet->ptw.bytes);
}

static size_t put_bip(uint8_t *out, const struct ipt_packet *packet)
{
    unsigned opcode = IPT_BIP_OPCODE | (unsigned)packet->bip.id << 3;

    if (packet->bip.id > 0x1f)
        return 0;
    return put_payload(out, (struct image){ { opcode } }, 1, packet->bip.payload,
                       packet->bip.bytes);
}

#define BYTE(opcode) (opcode)
#define EXT(opcode)  (IPT_OPCODE_EXT | (opcode) << 8)
#define EXT2(opcode) (IPT_OPCODE_EXT | IPT_OPCODE_EXT2 << 8 | (opcode) << 16)
#define MODE(opcode) (IPT_OPCODE_MODE | (opcode) << 8)

/* What a row does in front of its fields: the shapes with rules of their own end there. */
#define FIXED
#define IP     return 0; /* all of ipt_put() */
#define TNT_8  return 0; /* the same */
#define CYC    return 0; /* the same */
#define TNT_64 return put_tnt_64(out, packet);
#define PTW    return put_ptw(out, packet);
#define BIP    return put_bip(out, packet);
#define PSB    return ipt_put_psb(out);

size_t ipt_put_rare(uint8_t *out, const struct ipt_packet *packet)
{
    switch (packet->type) {
#define PACKET(id, name, dump, space, opcode, free, shape, bytes, cyc, text, section)              \
    case IPT_##id: {                                                                               \
        struct image image = { { space(opcode) } };                                                \
        const size_t size = bytes;                                                                 \
        bool fits = true;                                                                          \
        shape
#define FIELD(id, type, group, member, hi, lo, shift, meaning)                                     \
    fits &= image_put(&image, (uint64_t)packet->group.member, hi, lo, shift);
#define END(id)                                                                                    \
    return image_store(&image, size, fits, out);                                                   \
    }
#include "packets.def"
    case IPT_PACKET_TYPES:
        break;
    }
    return 0;
}

enum ptsim_status ipt_encode(struct ipt_packet *packet, uint8_t *out, size_t room)
{
    uint8_t buf[IPT_PACKET_MAX];
    size_t size = ipt_put(buf, packet);

    if (size == 0)
        return PTSIM_INVALID;
    if (size > room)
        return PTSIM_NO_SPACE;
    memcpy(out, buf, size);
    packet->size = (uint8_t)size;
    return PTSIM_OK;
}
