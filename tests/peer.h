/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of ours as those of libipt, and back. */
#ifndef PTSIM_TESTS_PEER_H
#define PTSIM_TESTS_PEER_H

#include <intel-pt.h>

#include "../models/pt/packet.h"

/* Whether libipt has PACKET and means the same by it. Where they differ:
 * - It has no BBP, BIP and BEP.
 * - It has PWRE's HW at bit 3 of byte 2. The manual's figure (33.4.2.24) and Linux have bit 7.
 * - It has five bits of EVD's Type. The manual's figure (33.4.2.30) has six.
 * - It has no bit 1 of PWRX's wake reason, which is reserved.
 * - It writes a CYC of more than 61 bits and does not read it. */
static inline bool peer_has(const struct ipt_packet *packet)
{
    switch (packet->type) {
    case IPT_BBP:
    case IPT_BIP:
    case IPT_BEP:
        return false;
    case IPT_PWRE:
        return !packet->pwre.hw;
    case IPT_PWRX:
        return !(packet->pwrx.wake & 2);
    case IPT_EVD:
        return packet->evd.type < 0x20;
    case IPT_CYC:
        return packet->cyc.cycles >> 61 == 0;
    default:
        return true;
    }
}

static inline void peer_ip(enum pt_packet_type type, const struct ipt_packet *packet,
                           struct pt_packet *peer)
{
    peer->type = type;
    peer->payload.ip.ipc = (enum pt_ip_compression)packet->ip.ip_bytes;
    peer->payload.ip.ip = packet->ip.ip;
}

static inline void peer_tnt(enum pt_packet_type type, const struct ipt_packet *packet,
                            struct pt_packet *peer)
{
    peer->type = type;
    peer->payload.tnt.bit_size = (uint8_t)packet->tnt.count;
    peer->payload.tnt.payload = packet->tnt.bits;
}

/* PACKET as libipt has it; peer_has(PACKET). */
static inline struct pt_packet peer_from(const struct ipt_packet *packet)
{
    struct pt_packet peer;

    memset(&peer, 0, sizeof(peer));
    switch (packet->type) {
    case IPT_PAD:
        peer.type = ppt_pad;
        break;
    case IPT_TNT_8:
        peer_tnt(ppt_tnt_8, packet, &peer);
        break;
    case IPT_TNT_64:
        peer_tnt(ppt_tnt_64, packet, &peer);
        break;
    case IPT_TIP:
        peer_ip(ppt_tip, packet, &peer);
        break;
    case IPT_TIP_PGE:
        peer_ip(ppt_tip_pge, packet, &peer);
        break;
    case IPT_TIP_PGD:
        peer_ip(ppt_tip_pgd, packet, &peer);
        break;
    case IPT_FUP:
        peer_ip(ppt_fup, packet, &peer);
        break;
    case IPT_PIP:
        peer.type = ppt_pip;
        peer.payload.pip.cr3 = packet->pip.cr3;
        peer.payload.pip.nr = packet->pip.nr;
        break;
    case IPT_MODE_EXEC:
        peer.type = ppt_mode;
        peer.payload.mode.leaf = pt_mol_exec;
        peer.payload.mode.bits.exec.csl = packet->mode_exec.cs_l;
        peer.payload.mode.bits.exec.csd = packet->mode_exec.cs_d;
        peer.payload.mode.bits.exec.iflag = packet->mode_exec.rflags_if;
        break;
    case IPT_MODE_TSX:
        peer.type = ppt_mode;
        peer.payload.mode.leaf = pt_mol_tsx;
        peer.payload.mode.bits.tsx.intx = packet->mode_tsx.in_tx;
        peer.payload.mode.bits.tsx.abrt = packet->mode_tsx.abort;
        break;
    case IPT_TRACE_STOP:
        peer.type = ppt_stop;
        break;
    case IPT_CBR:
        peer.type = ppt_cbr;
        peer.payload.cbr.ratio = packet->cbr.ratio;
        break;
    case IPT_TSC:
        peer.type = ppt_tsc;
        peer.payload.tsc.tsc = packet->tsc.tsc;
        break;
    case IPT_MTC:
        peer.type = ppt_mtc;
        peer.payload.mtc.ctc = (uint8_t)packet->mtc.ctc;
        break;
    case IPT_TMA:
        peer.type = ppt_tma;
        peer.payload.tma.ctc = packet->tma.ctc;
        peer.payload.tma.fc = packet->tma.fc;
        break;
    case IPT_CYC:
        peer.type = ppt_cyc;
        peer.payload.cyc.value = packet->cyc.cycles;
        break;
    case IPT_VMCS:
        peer.type = ppt_vmcs;
        peer.payload.vmcs.base = packet->vmcs.base;
        break;
    case IPT_OVF:
        peer.type = ppt_ovf;
        break;
    case IPT_PSB:
        peer.type = ppt_psb;
        break;
    case IPT_PSBEND:
        peer.type = ppt_psbend;
        break;
    case IPT_MNT:
        peer.type = ppt_mnt;
        peer.payload.mnt.payload = packet->mnt.payload;
        break;
    case IPT_PTW:
        peer.type = ppt_ptw;
        peer.payload.ptw.plc = packet->ptw.bytes == 8;
        peer.payload.ptw.payload = packet->ptw.payload;
        peer.payload.ptw.ip = packet->ptw.ip;
        break;
    case IPT_EXSTOP:
        peer.type = ppt_exstop;
        peer.payload.exstop.ip = packet->exstop.ip;
        break;
    case IPT_MWAIT:
        peer.type = ppt_mwait;
        peer.payload.mwait.hints = packet->mwait.hints;
        peer.payload.mwait.ext = packet->mwait.extensions;
        break;
    case IPT_PWRE:
        peer.type = ppt_pwre;
        peer.payload.pwre.state = packet->pwre.state;
        peer.payload.pwre.sub_state = packet->pwre.sub_state;
        break;
    case IPT_PWRX:
        peer.type = ppt_pwrx;
        peer.payload.pwrx.last = packet->pwrx.last;
        peer.payload.pwrx.deepest = packet->pwrx.deepest;
        peer.payload.pwrx.interrupt = !!(packet->pwrx.wake & IPT_WAKE_INTERRUPT);
        peer.payload.pwrx.store = !!(packet->pwrx.wake & IPT_WAKE_STORE);
        peer.payload.pwrx.autonomous = !!(packet->pwrx.wake & IPT_WAKE_HW);
        break;
    case IPT_CFE:
        peer.type = ppt_cfe;
        peer.payload.cfe.type = (enum pt_cfe_type)packet->cfe.type;
        peer.payload.cfe.vector = packet->cfe.vector;
        peer.payload.cfe.ip = packet->cfe.ip;
        break;
    case IPT_EVD:
        peer.type = ppt_evd;
        peer.payload.evd.type = (enum pt_evd_type)packet->evd.type;
        peer.payload.evd.payload = packet->evd.payload;
        break;
    case IPT_BBP:
    case IPT_BIP:
    case IPT_BEP:
    case IPT_PACKET_TYPES:
        break;
    }
    peer.size = packet->size;
    return peer;
}

#endif
