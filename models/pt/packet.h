/* SPDX-License-Identifier: MIT */
/* Intel PT packets as values: encode and decode (SDM 33.4.2).
 *
 * packets.def has one row a packet; the encoder, the decoder, the printer, `ptsim list packets`
 * and the tests are made from it. encode.h and decode.h have the same two functions for those in
 * a hurry, inline for the packets that are most of a trace. */
#ifndef PTSIM_PT_PACKET_H
#define PTSIM_PT_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../status.h"

enum ipt_packet_type {
#define PACKET(id, ...) IPT_##id,
#include "packets.def"
    IPT_PACKET_TYPES
};

/* The opcode byte of each packet: IPT_TIP_OPCODE. */
enum ipt_opcode {
#define PACKET(id, name, dump, space, opcode, ...) IPT_##id##_OPCODE = (opcode),
#include "packets.def"
};

/* The first bytes of the packets whose opcode byte is not the first. */
enum ipt_opcode_space {
    IPT_OPCODE_EXT = 0x02,
    IPT_OPCODE_EXT2 = 0xc3, /* after IPT_OPCODE_EXT */
    IPT_OPCODE_MODE = 0x99,
};

/* The longest packet: PSB. */
#define IPT_PACKET_MAX 16
/* The most outcomes in a TNT packet. */
#define IPT_TNT_8_MAX  6
#define IPT_TNT_64_MAX 47

/* IPBytes (table 33-18): how an IP is compressed. */
enum ipt_ip_bytes {
    IPT_IP_SUPPRESSED = 0,
    IPT_IP_UPDATE_16 = 1,
    IPT_IP_UPDATE_32 = 2,
    IPT_IP_SEXT_48 = 3,
    IPT_IP_UPDATE_48 = 4,
    IPT_IP_FULL = 6,
};

/* Whether TYPE has an IP: struct ipt_ip. */
static inline bool ipt_is_ip(enum ipt_packet_type type)
{
    return type == IPT_TIP || type == IPT_TIP_PGE || type == IPT_TIP_PGD || type == IPT_FUP;
}

/* Bytes of payload that IP_BYTES sends; 0 for the reserved values too. */
static inline unsigned ipt_ip_size(enum ipt_ip_bytes ip_bytes)
{
    /* By value, for C++ has no designators in arrays. */
    static const uint8_t size[8] = { 0, 2, 4, 6, 6, 0, 8, 0 };

    return size[ip_bytes & 7];
}

/* The bits of an IP that IP_BYTES sends. */
static inline uint64_t ipt_ip_mask(enum ipt_ip_bytes ip_bytes)
{
    static const uint64_t mask[8] = { 0, 0xffff,     0xffffffff, 0xffffffffffff, 0xffffffffffff,
                                      0, UINT64_MAX, 0 };

    return mask[ip_bytes & 7];
}

/* Whether IP_BYTES is none of the reserved values. */
static inline bool ipt_ip_bytes_valid(enum ipt_ip_bytes ip_bytes)
{
    return ip_bytes <= IPT_IP_FULL && ip_bytes != 5;
}

/* TNT outcomes: COUNT of them, the oldest in bit count-1, the youngest in bit 0; 1 is taken.
 * 1 to 6 in a short TNT, 1 to 47 in a long one. */
struct ipt_tnt {
    uint64_t bits;
    uint32_t count;
};

/* TIP, TIP.PGE, TIP.PGD, FUP. ip is the payload's bytes as sent, not reconstructed:
 * see last_ip.h. */
struct ipt_ip {
    uint64_t ip;
    enum ipt_ip_bytes ip_bytes;
};

/* CFE.Type (table 33-50). */
enum ipt_cfe_type {
    IPT_CFE_INTR = 0x1, /* vector: the event's */
    IPT_CFE_IRET = 0x2,
    IPT_CFE_SMI = 0x3,
    IPT_CFE_RSM = 0x4,
    IPT_CFE_SIPI = 0x5, /* vector: the SIPI's */
    IPT_CFE_INIT = 0x6,
    IPT_CFE_VMENTRY = 0x7,
    IPT_CFE_VMEXIT = 0x8,
    IPT_CFE_VMEXIT_INTR = 0x9, /* vector: that of the event that caused the VM exit */
    IPT_CFE_SHUTDOWN = 0xa,
    IPT_CFE_UINTR = 0xc, /* vector: the user interrupt's */
    IPT_CFE_UIRET = 0xd,
};

/* EVD.Type (table 33-51). */
enum ipt_evd_type {
    IPT_EVD_PFA = 0,  /* page fault linear address, as in CR2 */
    IPT_EVD_VMXQ = 1, /* VM exit qualification */
    IPT_EVD_VMXR = 2, /* VM exit reason */
};

/* The bits of PWRX's wake reason, which is one-hot (33.4.2.25). */
enum ipt_wake {
    IPT_WAKE_INTERRUPT = 1 << 0,
    IPT_WAKE_TIMER = 1 << 1, /* reserved in the print of 2016 */
    IPT_WAKE_STORE = 1 << 2,
    IPT_WAKE_HW = 1 << 3,
};

/* The packets that are most of a trace, TNT, IP, CYC and MTC, have one layout: a 64-bit payload,
 * and perhaps 32 bits behind it. So both directions treat them alike, without a branch to tell them
 * apart that nothing could predict. */
struct ipt_packet {
    enum ipt_packet_type type;
    uint8_t size; /* bytes in the stream; set by both directions */
    union {
        struct ipt_tnt tnt; /* TNT_8, TNT_64 */
        struct ipt_ip ip;   /* TIP, TIP_PGE, TIP_PGD, FUP */
        struct {
            uint64_t cr3; /* bits 51:5, in place */
            bool nr;
        } pip;
        struct {
            bool cs_l; /* CS.L & LMA */
            bool cs_d;
            bool rflags_if;
        } mode_exec;
        struct {
            bool in_tx;
            bool abort;
        } mode_tsx;
        struct {
            uint8_t ratio;
        } cbr;
        struct {
            uint64_t tsc; /* 55:0 */
        } tsc;
        struct {
            uint64_t ctc; /* 7:0 */
        } mtc;
        struct {
            uint16_t ctc;
            uint16_t fc; /* 8:0 */
        } tma;
        struct {
            uint64_t cycles;
        } cyc;
        struct {
            uint64_t base; /* bits 51:12, in place */
        } vmcs;
        struct {
            uint64_t payload;
        } mnt;
        struct {
            uint8_t bytes; /* 4 or 8 */
            bool ip;
            uint64_t payload;
        } ptw;
        struct {
            bool ip;
        } exstop;
        struct {
            uint32_t hints;
            uint32_t extensions;
        } mwait;
        struct {
            bool hw;
            uint8_t state; /* resolved thread C-state, 0 based */
            uint8_t sub_state;
        } pwre;
        struct {
            uint8_t last;    /* last core C-state */
            uint8_t deepest; /* deepest core C-state */
            uint8_t wake;    /* enum ipt_wake; bits 3:0 */
        } pwrx;
        struct {
            bool sz; /* BIP payloads are 4 bytes, else 8 */
            uint8_t block_type;
        } bbp;
        struct {
            uint8_t id;
            uint8_t bytes; /* 4 or 8: the SZ of the open block */
            uint64_t payload;
        } bip;
        struct {
            bool ip;
        } bep;
        struct {
            uint8_t type; /* enum ipt_cfe_type; bits 4:0 */
            bool ip;
            uint8_t vector;
        } cfe;
        struct {
            uint8_t type; /* enum ipt_evd_type; bits 5:0 */
            uint64_t payload;
        } evd;
    };
};

/* A packet as a row of packets.def. */
struct ipt_packet_row {
    const char *name;    /* the manual's: "TIP.PGD" */
    const char *dump;    /* that of Intel's ptdump: "tip.pgd" */
    const char *text;    /* how its payload is printed: see packets.def */
    const char *section; /* of the SDM */
    uint8_t header[3];   /* its first bytes, the bits of fields 0 */
    uint8_t header_size;
    uint8_t size; /* in bytes, or 0 where it varies */
    bool cyc_eligible;
    uint8_t first_field; /* for ipt_packet_field() */
};

/* A member of struct ipt_packet that a packet has. */
struct ipt_field {
    enum ipt_packet_type type;
    const char *name;    /* that of the member: "cr3" */
    const char *meaning; /* what the manual calls it */
    uint8_t hi, lo;      /* its bits in the packet, bit 0 of byte 0 being 0; both 0: it varies */
    uint8_t shift;       /* the bit of the member that lo holds */
    uint16_t offset;     /* of the member in struct ipt_packet */
    uint16_t size;       /* of the member, in bytes */
};

/* TYPE is below IPT_PACKET_TYPES. */
const struct ipt_packet_row *ipt_packet_row(enum ipt_packet_type type);
/* The manual's name. */
const char *ipt_packet_name(enum ipt_packet_type type);
/* Field number INDEX of TYPE, or NULL when it has no more. */
const struct ipt_field *ipt_packet_field(enum ipt_packet_type type, unsigned index);
uint64_t ipt_field_value(const struct ipt_field *field, const struct ipt_packet *packet);

/* Encodes PACKET into OUT, which has ROOM bytes, and sets packet->size. It writes those bytes and
 * no more. PTSIM_INVALID where a field is out of its range, PTSIM_NO_SPACE: nothing is written. */
enum ptsim_status ipt_encode(struct ipt_packet *packet, uint8_t *out, size_t room);

/* What decoding has to know from packets before: whether a block is open, in which a byte that
 * would else be a short TNT is a BIP. BBP opens one; BEP, OVF and PSB close it (33.4.2.26). All
 * zero at the start and wherever decoding begins anew. */
struct ipt_decode_state {
    uint8_t bip_bytes; /* the size of the block's items: 4 or 8; 0: no block open */
};

/* Decodes the packet at BUF. PTSIM_END when SIZE is 0; PTSIM_TRUNCATED when all SIZE bytes are the
 * beginning of a packet and more are needed; PTSIM_BAD_PACKET when no packet begins like this. Then
 * PACKET and STATE are unchanged. Never reads past SIZE.
 *
 * Bad are, beside unknown opcodes, the reserved values of IPBytes and PayloadBytes, a TNT without
 * outcomes, a CYC of more than 64 bits, and set bits in a ZERO row of packets.def. Other reserved
 * bits are ignored. */
enum ptsim_status ipt_decode(struct ipt_decode_state *state, const uint8_t *buf, size_t size,
                             struct ipt_packet *packet);

/* The offset of the next PSB at or after BUF + FROM in *OFFSET: PTSIM_OK or PTSIM_NO_SYNC. Where
 * the bytes in front of it look like a part of it, because the packet before ends so, the PSB is at
 * the end of them. */
enum ptsim_status ipt_sync(const uint8_t *buf, size_t size, size_t from, size_t *offset);

#endif
