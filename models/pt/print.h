/* SPDX-License-Identifier: MIT */
/* Packets as text, in the names and the layout of Intel's ptdump:
 *
 *   0000000000000010  tip.pge    3: 0000000000401000
 *   0000000000000017  tnt.8      !..!
 *
 * Text goes into the caller's buffer, with a NUL, without a newline. */
#ifndef PTSIM_PT_PRINT_H
#define PTSIM_PT_PRINT_H

#include "last_ip.h"
#include "packet.h"

/* Room for any payload, and for any line, with the NUL. */
#define IPT_PAYLOAD_TEXT_MAX 48
#define IPT_LINE_TEXT_MAX    160

/* The columns of a line beside name and payload. */
enum ipt_print_column {
    IPT_PRINT_OFFSET = 1 << 0,    /* in front: where the packet begins */
    IPT_PRINT_RAW = 1 << 1,       /* after the offset: the packet's bytes */
    IPT_PRINT_LAST_IP = 1 << 2,   /* after the payload of an IP packet: the IP it stands for */
    IPT_PRINT_EXEC_MODE = 1 << 3, /* after that of MODE.Exec: the mode it stands for */
};

/* The payload of PACKET alone, "" where it has none, into OUT, which has IPT_PAYLOAD_TEXT_MAX
 * bytes. Returns the length. */
size_t ipt_print_payload(const struct ipt_packet *packet, char *out);

/* The line of PACKET, whose bytes are RAW, at OFFSET into OUT, which has IPT_LINE_TEXT_MAX bytes.
 * COLUMNS is of enum ipt_print_column. LAST is used, and stepped, for IPT_PRINT_LAST_IP alone.
 * Returns the length. */
size_t ipt_print_line(unsigned columns, struct ipt_last_ip *last, uint64_t offset,
                      const uint8_t *raw, const struct ipt_packet *packet, char *out);

/* VALUE in lower-case hexadecimal, with at least DIGITS digits (1 to 16), into OUT, which has 17
 * bytes. Returns the length. */
size_t ipt_print_hex(uint64_t value, unsigned digits, char *out);

/* The SIZE bytes from RAW as two digits each into OUT, which has 2 * SIZE + 1 bytes. Returns the
 * length. */
size_t ipt_print_bytes(const uint8_t *raw, size_t size, char *out);

#endif
