/* SPDX-License-Identifier: MIT */
#include "packet.h"

#include <assert.h>
#include <string.h>

/* clang-format off */
/* The index in fields[] of each packet's first one. */
enum {
#define PACKET(id, ...) FIRST_##id, BEFORE_##id = FIRST_##id - 1,
#define FIELD(id, type, group, member, ...) INDEX_##id##_##member,
#define VARIES(id, type, group, member, ...) INDEX_##id##_##member,
#include "packets.def"
    FIELDS
};

static const struct ipt_packet_row rows[] = {
#define BYTE(opcode) { opcode }, 1
#define EXT(opcode)  { IPT_OPCODE_EXT, opcode }, 2
#define EXT2(opcode) { IPT_OPCODE_EXT, IPT_OPCODE_EXT2, opcode }, 3
#define MODE(opcode) { IPT_OPCODE_MODE, opcode }, 2
#define PACKET(id, name, dump, space, opcode, free, shape, size, cyc, text, section)                     \
    { name, dump, text, section, space(opcode), size, cyc, FIRST_##id },
#include "packets.def"
};

static const struct ipt_field fields[] = {
#define MEMBER(member)                                                                             \
    offsetof(struct ipt_packet, member), sizeof(((struct ipt_packet *)0)->member)
#define FIELD(id, type, group, member, hi, lo, shift, meaning)                                     \
    { IPT_##id, #member, meaning, hi, lo, shift, MEMBER(group.member) },
#define VARIES(id, type, group, member, meaning)                                                   \
    { IPT_##id, #member, meaning, 0, 0, 0, MEMBER(group.member) },
#include "packets.def"
};
/* clang-format on */

const struct ipt_packet_row *ipt_packet_row(enum ipt_packet_type type)
{
    assert(type < IPT_PACKET_TYPES);
    return &rows[type];
}

const char *ipt_packet_name(enum ipt_packet_type type)
{
    return ipt_packet_row(type)->name;
}

const struct ipt_field *ipt_packet_field(enum ipt_packet_type type, unsigned index)
{
    index += ipt_packet_row(type)->first_field;
    return index < FIELDS && fields[index].type == type ? &fields[index] : NULL;
}

uint64_t ipt_field_value(const struct ipt_field *field, const struct ipt_packet *packet)
{
    const char *member = (const char *)packet + field->offset;
    union {
        uint8_t byte;
        uint16_t word;
        uint32_t dword;
        uint64_t qword;
    } value = { .qword = 0 };

    memcpy(&value, member, field->size);
    switch (field->size) {
    case 1:
        return value.byte;
    case 2:
        return value.word;
    case 4:
        return value.dword;
    default:
        return value.qword;
    }
}
