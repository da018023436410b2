/* SPDX-License-Identifier: MIT */
/* The encoder. Packets of shape FIXED are straight-line code that their rows expand to; the other
 * shapes have a function each. */
#include "encode.h"

#include <string.h>

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

static inline enum ptsim_status image_store(const struct image *image, size_t size,
                                            struct ipt_packet *packet, uint8_t *out, size_t room)
{
    if (room < size)
        return PTSIM_NO_SPACE;
    ipt_put_le(out, image->word[0], size < 8 ? size : 8);
    if (size > 8)
        ipt_put_le(out + 8, image->word[1], size - 8);
    packet->size = (uint8_t)size;
    return PTSIM_OK;
}

/* Whether TNT has from 1 to MAX outcomes and nothing above them. */
static inline bool tnt_valid(const struct ipt_tnt *tnt, unsigned max)
{
    return tnt->count >= 1 && tnt->count <= max && tnt->bits >> tnt->count == 0;
}

static inline enum ptsim_status encode_tnt_8(struct ipt_packet *packet, uint8_t *out, size_t room)
{
    if (!tnt_valid(&packet->tnt, IPT_TNT_8_MAX))
        return PTSIM_INVALID;
    if (room < 1)
        return PTSIM_NO_SPACE;
    packet->size = (uint8_t)ipt_put_tnt_8(out, packet->tnt.bits, packet->tnt.count);
    return PTSIM_OK;
}

static inline enum ptsim_status encode_tnt_64(struct ipt_packet *packet, uint8_t *out, size_t room)
{
    if (!tnt_valid(&packet->tnt, IPT_TNT_64_MAX))
        return PTSIM_INVALID;
    if (room < 8)
        return PTSIM_NO_SPACE;
    packet->size = (uint8_t)ipt_put_tnt_64(out, packet->tnt.bits, packet->tnt.count);
    return PTSIM_OK;
}

static inline enum ptsim_status encode_ip(struct ipt_packet *packet, uint8_t *out, size_t room)
{
    const struct ipt_ip *ip = &packet->ip;
    size_t size = ipt_ip_size(ip->ip_bytes);

    if ((size == 0 && ip->ip_bytes != IPT_IP_SUPPRESSED) || ip->ip_bytes > IPT_IP_FULL ||
        ip->ip & ~ipt_ip_mask(ip->ip_bytes))
        return PTSIM_INVALID;
    if (room < 1 + size)
        return PTSIM_NO_SPACE;
    packet->size = (uint8_t)ipt_put_ip(out, packet->type, ip->ip_bytes, ip->ip);
    return PTSIM_OK;
}

static inline enum ptsim_status encode_cyc(struct ipt_packet *packet, uint8_t *out, size_t room)
{
    uint8_t buf[IPT_CYC_MAX];
    size_t size;

    if (room >= IPT_CYC_MAX) {
        packet->size = (uint8_t)ipt_put_cyc(out, packet->cyc.cycles);
        return PTSIM_OK;
    }
    size = ipt_put_cyc(buf, packet->cyc.cycles);
    if (room < size)
        return PTSIM_NO_SPACE;
    memcpy(out, buf, size);
    packet->size = (uint8_t)size;
    return PTSIM_OK;
}

static enum ptsim_status encode_psb(struct ipt_packet *packet, uint8_t *out, size_t room)
{
    if (room < IPT_PACKET_MAX)
        return PTSIM_NO_SPACE;
    packet->size = (uint8_t)ipt_put_psb(out);
    return PTSIM_OK;
}

/* HEADER, then PAYLOAD in BYTES bytes, which are 4 or 8: PTW and BIP. */
static enum ptsim_status encode_item(struct ipt_packet *packet, struct image header,
                                     size_t header_size, uint64_t payload, unsigned bytes,
                                     uint8_t *out, size_t room)
{
    unsigned lo = 8 * (unsigned)header_size;

    if ((bytes != 4 && bytes != 8) || !image_put(&header, payload, lo + 8 * bytes - 1, lo, 0))
        return PTSIM_INVALID;
    return image_store(&header, header_size + bytes, packet, out, room);
}

static enum ptsim_status encode_ptw(struct ipt_packet *packet, uint8_t *out, size_t room)
{
    unsigned opcode =
        IPT_PTW_OPCODE | (unsigned)packet->ptw.ip << 7 | (unsigned)(packet->ptw.bytes == 8) << 5;

    return encode_item(packet, (struct image){ { IPT_OPCODE_EXT | opcode << 8 } }, 2,
                       packet->ptw.payload, packet->ptw.bytes, out, room);
}

static enum ptsim_status encode_bip(struct ipt_packet *packet, uint8_t *out, size_t room)
{
    unsigned opcode = IPT_BIP_OPCODE | (unsigned)packet->bip.id << 3;

    if (packet->bip.id > 0x1f)
        return PTSIM_INVALID;
    return encode_item(packet, (struct image){ { opcode } }, 1, packet->bip.payload,
                       packet->bip.bytes, out, room);
}

#define BYTE(opcode) (opcode)
#define EXT(opcode)  (IPT_OPCODE_EXT | (opcode) << 8)
#define EXT2(opcode) (IPT_OPCODE_EXT | IPT_OPCODE_EXT2 << 8 | (opcode) << 16)
#define MODE(opcode) (IPT_OPCODE_MODE | (opcode) << 8)

/* What a row does before its fields are put: the shapes with rules of their own end there. */
#define FIXED
#define IP     return encode_ip(packet, out, room);
#define TNT_8  return encode_tnt_8(packet, out, room);
#define TNT_64 return encode_tnt_64(packet, out, room);
#define CYC    return encode_cyc(packet, out, room);
#define PTW    return encode_ptw(packet, out, room);
#define BIP    return encode_bip(packet, out, room);
#define PSB    return encode_psb(packet, out, room);

enum ptsim_status ipt_encode(struct ipt_packet *packet, uint8_t *out, size_t room)
{
    switch (packet->type) {
#define PACKET(id, name, dump, space, opcode, free, shape, bytes, cyc, text, section)              \
    case IPT_##id: {                                                                               \
        struct image image = { { space(opcode) } };                                                \
        const size_t size = bytes;                                                                 \
        shape
#define FIELD(id, type, group, member, hi, lo, shift, meaning)                                     \
    if (!image_put(&image, (uint64_t)packet->group.member, hi, lo, shift))                         \
        return PTSIM_INVALID;
#define END(id)                                                                                    \
    return image_store(&image, size, packet, out, room);                                           \
    }
#include "packets.def"
    case IPT_PACKET_TYPES:
        break;
    }
    return PTSIM_INVALID;
}
