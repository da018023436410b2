/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A PT stream as one line of text, for tests to read like the manual's tables:
 *
 *   "PSB CBR(0x15) PSBEND MODE.Exec(64) TIP.PGE(1,0x1000) TNT(010) TIP.PGD()"
 *
 * IP packets have IPBytes and the payload as sent; TNT its outcomes, the oldest first; MODE.Exec
 * the width of code; CYC is decimal, all else hexadecimal. */
#ifndef PTSIM_TESTS_PT_TEXT_H
#define PTSIM_TESTS_PT_TEXT_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../models/pt/packet.h"

struct pt_text {
    char text[1 << 16];
    size_t length;
};

static inline void pt_text_add(struct pt_text *out, const char *format, ...)
{
    size_t room = sizeof(out->text) - out->length;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(out->text + out->length, room, format, args);
    va_end(args);
    out->length += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static inline void pt_text_payload(struct pt_text *out, const struct ipt_packet *p)
{
    switch (p->type) {
    case IPT_TNT_8:
    case IPT_TNT_64:
        pt_text_add(out, "(");
        for (unsigned i = p->tnt.count; i-- > 0;)
            pt_text_add(out, "%d", (int)(p->tnt.bits >> i & 1));
        pt_text_add(out, ")");
        break;
    case IPT_TIP:
    case IPT_TIP_PGE:
    case IPT_TIP_PGD:
    case IPT_FUP:
        if (p->ip.ip_bytes == IPT_IP_SUPPRESSED)
            pt_text_add(out, "()");
        else
            pt_text_add(out, "(%d,%#" PRIx64 ")", (int)p->ip.ip_bytes, p->ip.ip);
        break;
    case IPT_PIP:
        pt_text_add(out, "(%#" PRIx64 "%s)", p->pip.cr3, p->pip.nr ? ",NR" : "");
        break;
    case IPT_MODE_EXEC:
        pt_text_add(out, "(%d)", p->mode_exec.cs_l ? 64 : p->mode_exec.cs_d ? 32 : 16);
        break;
    case IPT_MODE_TSX:
        pt_text_add(out, "(%d,%d)", p->mode_tsx.in_tx, p->mode_tsx.abort);
        break;
    case IPT_CBR:
        pt_text_add(out, "(%#x)", p->cbr.ratio);
        break;
    case IPT_TSC:
        pt_text_add(out, "(%#" PRIx64 ")", p->tsc.tsc);
        break;
    case IPT_MTC:
        pt_text_add(out, "(%#x)", p->mtc.ctc);
        break;
    case IPT_TMA:
        pt_text_add(out, "(%#x,%#x)", p->tma.ctc, p->tma.fc);
        break;
    case IPT_CYC:
        pt_text_add(out, "(%" PRIu64 ")", p->cyc.cycles);
        break;
    case IPT_PTW:
        pt_text_add(out, "(%d,%#" PRIx64 "%s)", p->ptw.bytes, p->ptw.payload,
                    p->ptw.ip ? ",IP" : "");
        break;
    case IPT_CFE:
        pt_text_add(out, "(%d,%d%s)", p->cfe.type, p->cfe.vector, p->cfe.ip ? ",IP" : "");
        break;
    case IPT_EVD:
        pt_text_add(out, "(%d,%#" PRIx64 ")", p->evd.type, p->evd.payload);
        break;
    default:
        break;
    }
}

/* Appends the packets at DATA; what does not decode is "?" and ends it. */
static inline void pt_text_decode(struct pt_text *out, const uint8_t *data, size_t size)
{
    struct ipt_decode_state state = { 0 };
    struct ipt_packet packet;

    for (size_t at = 0; at < size; at += packet.size) {
        if (out->length)
            pt_text_add(out, " ");
        if (ipt_decode(&state, data + at, size - at, &packet) != PTSIM_OK) {
            pt_text_add(out, "?");
            return;
        }
        pt_text_add(out, "%s", ipt_packet_name(packet.type));
        pt_text_payload(out, &packet);
    }
}

#endif
