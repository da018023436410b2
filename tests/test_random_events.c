/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A million random events, and a trace that has to be one: every packet decodes, TIP.PGE and
 * TIP.PGD take turns with what may stand between them, and every IP and CR3 that a decoder makes of
 * the payloads is one that was there, over PSBs, overflows and TraceEn. */
#include "pt_rig.h"

#define EVENTS    100000
#define ADDRESSES 16

static const struct {
    const char *profile;
    uint64_t ctl;
} configurations[] = {
    { "max", CTL_BRANCHES },
    { "skylake", CTL_BRANCHES },
    { "icelake", CTL_BRANCHES | CTL(TSCEn) | CTL(MTCEn) },
    { "max", CTL_BRANCHES | CTL(DisRETC) },
    { "deferred", CTL_BRANCHES | CTL(MTCEn) | CTL(PTWEn) },
    { "max", CTL_BRANCHES | CTL(CYCEn) | CTL(MTCEn) | CTL(TSCEn) | CTL(PwrEvtEn) },
    { "max", CTL_BRANCHES | CTL(PTWEn) | CTL(FUPonPTW) | CTL(PwrEvtEn) },
    { "max", (CTL_BRANCHES | CTL(CYCEn) | CTL(PTWEn)) & ~CTL(OS) },
    { "max", (CTL_BRANCHES | CTL(MTCEn) | CTL(PwrEvtEn)) & ~CTL(User) },
    { "max", CTL_BRANCHES | CTL(EventEn) },
    { "flat", CTL_BRANCHES | CTL(CR3Filter) | CTL(EventEn) | CTL(PTWEn) },
};

static const uint64_t addresses[ADDRESSES] = {
    0x1000,
    0x1002,
    0x1fff0,
    0x20000,
    0x7fff0000,
    0x7fff1234,
    0x123456789000,
    0x12345678a000,
    0x7fffffffe000,
    0xffff800000000000,
    0xffffffff8100,
    0x400000,
    0x400100,
    0xffffffff81000000,
    0xffffffff81000100,
    0x55555555,
};
static const struct ev_context contexts[] = {
    CONTEXT_64(0, 0x5000), CONTEXT_64(3, 0x5000), CONTEXT_64(0, 0x6000),
    CONTEXT_64(3, 0x6000), CONTEXT_32(3, 0x5000),
};

struct guest {
    struct rig *rig;
    uint32_t random;
    unsigned context;
    uint64_t ip;
    bool overflows;
};

static unsigned pick(struct guest *guest, unsigned choices)
{
    guest->random = guest->random * 1664525 + 1013904223;
    return (guest->random >> 8) % choices;
}

static struct ptsim_event event_of(struct guest *guest, enum ev_kind kind)
{
    struct ptsim_event event = { .kind = kind,
                                 .taken = pick(guest, 2),
                                 .vector = (uint8_t)pick(guest, 256),
                                 .size = pick(guest, 2) ? 8 : 4,
                                 .value = pick(guest, 1000),
                                 .from_ip = guest->ip,
                                 .next_ip = guest->ip + 2,
                                 .before = contexts[guest->context] };

    guest->rig->clock.core += pick(guest, 40);
    event.to_ip = addresses[pick(guest, ADDRESSES)];
    event.after = event.before;
    return event;
}

static void show(struct guest *guest, const struct ptsim_event *event)
{
    ipt_event(&guest->rig->ipt, event);
    guest->ip = event->to_ip;
}

static void near(struct guest *guest)
{
    static const enum ev_kind kinds[] = { EV_COND_BRANCH,  EV_COND_BRANCH,   EV_COND_BRANCH,
                                          EV_CALL_DIRECT,  EV_CALL_INDIRECT, EV_RET,
                                          EV_JMP_INDIRECT, EV_JMP_DIRECT };
    struct ptsim_event event = event_of(guest, kinds[pick(guest, 8)]);

    show(guest, &event);
}

static void far(struct guest *guest)
{
    static const enum ev_kind kinds[] = { EV_FAR_BRANCH, EV_IRET,  EV_SW_INTERRUPT,
                                          EV_INTERRUPT,  EV_FAULT, EV_MOV_CR3 };
    struct ptsim_event event = event_of(guest, kinds[pick(guest, 6)]);

    if (event.kind == EV_MOV_CR3) {
        event.to_ip = event.from_ip;
        guest->context ^= guest->context < 4 ? 2 : 0; /* the other CR3 at the same CPL */
    } else {
        guest->context = pick(guest, TEST_COUNT(contexts));
    }
    event.after = contexts[guest->context];
    show(guest, &event);
}

/* One that is no transfer. */
static void stay(struct guest *guest, enum ev_kind kind)
{
    struct ptsim_event event = event_of(guest, kind);

    event.to_ip = event.from_ip;
    event.cstate = (struct ev_cstate){ .sleep = event.taken, .state = 2, .last = 2, .deepest = 2 };
    show(guest, &event);
}

/* TraceEn off and on again. */
static void restart(struct guest *guest)
{
    struct ipt *ipt = &guest->rig->ipt;
    struct ptsim_event event = event_of(guest, EV_WRMSR);
    uint64_t ctl = ipt->ctl;

    event.to_ip = event.from_ip;
    ipt_write_ctl(ipt, ctl & ~CTL(TraceEn), &event);
    event = event_of(guest, EV_WRMSR);
    event.to_ip = event.from_ip;
    ipt_write_ctl(ipt, ctl, &event);
    guest->overflows = false;
}

static void step(struct guest *guest)
{
    unsigned n = pick(guest, 1000);

    if (n < 900) {
        near(guest);
    } else if (n < 960) {
        far(guest);
    } else if (n < 975) {
        stay(guest, EV_PTWRITE);
    } else if (n < 980) {
        stay(guest, EV_CLOCK_STOP);
        clock_stand_still(&guest->rig->clock, pick(guest, 100000));
        stay(guest, EV_CLOCK_START);
    } else if (n < 985) {
        stay(guest, guest->overflows ? EV_OVERFLOW_END : EV_OVERFLOW);
        guest->overflows = !guest->overflows;
    } else if (n < 995) {
        stay(guest, n < 990 ? EV_TIME : EV_CYCLE_COUNTER_RESET);
    } else if (n < 997) {
        restart(guest);
    }
}

/* ---- the decoder's side ---- */

struct reader {
    struct ipt_last_ip last_ip;
    bool traced, in_psb, after_ovf;
    bool wants_fup; /* a packet said that one follows */
    size_t at;
    unsigned count[IPT_PACKET_TYPES];
};

static bool among_addresses(const struct rig *rig, uint64_t ip)
{
    for (int i = 0; i < ADDRESSES; i++)
        if (ip == addresses[i] || ip == (uint32_t)addresses[i])
            return true;
    (void)rig;
    return false;
}

static void read_ip(struct reader *reader, const struct rig *rig, const struct ipt_packet *packet)
{
    uint64_t ip;
    bool has = ipt_last_ip_update(&reader->last_ip, &packet->ip, &ip);

    ck_assert_msg(!reader->wants_fup || packet->type == IPT_FUP, "offset %zx: no FUP", reader->at);
    reader->wants_fup = false;
    ck_assert_msg(!has || among_addresses(rig, ip), "offset %zx: IP %llx", reader->at,
                  (unsigned long long)ip);
    switch (packet->type) {
    case IPT_TIP_PGE:
        ck_assert_msg(!reader->traced && has, "offset %zx: TIP.PGE", reader->at);
        reader->traced = true;
        break;
    case IPT_TIP_PGD:
        ck_assert_msg(reader->traced, "offset %zx: TIP.PGD", reader->at);
        reader->traced = false;
        break;
    case IPT_FUP:
        ck_assert_msg(has, "offset %zx: FUP", reader->at);
        if (reader->after_ovf)
            reader->traced = true;
        ck_assert_msg(reader->traced || !reader->in_psb, "offset %zx: FUP in PSB+", reader->at);
        break;
    default:
        ck_assert_msg(reader->traced && has, "offset %zx: TIP", reader->at);
    }
    reader->after_ovf = false;
}

static void read_packet(struct reader *reader, const struct rig *rig,
                        const struct ipt_packet *packet)
{
    reader->count[packet->type]++;
    reader->wants_fup |= (packet->type == IPT_PTW && packet->ptw.ip) ||
                         (packet->type == IPT_EXSTOP && packet->exstop.ip) ||
                         (packet->type == IPT_CFE && packet->cfe.ip);
    if (ipt_is_ip(packet->type)) {
        read_ip(reader, rig, packet);
        return;
    }
    switch (packet->type) {
    case IPT_PSB:
        ipt_last_ip_reset(&reader->last_ip);
        reader->in_psb = true;
        break;
    case IPT_PSBEND:
        ck_assert(reader->in_psb);
        reader->in_psb = false;
        break;
    case IPT_OVF:
        reader->wants_fup = false;
        reader->traced = false;
        reader->after_ovf = true;
        break;
    case IPT_TNT_8:
        ck_assert_msg(reader->traced && !reader->in_psb, "offset %zx: TNT", reader->at);
        break;
    case IPT_PIP:
        ck_assert(packet->pip.cr3 == 0x5000 || packet->pip.cr3 == 0x6000);
        break;
    case IPT_CYC:
    case IPT_MTC:
    case IPT_TSC:
    case IPT_TMA:
    case IPT_CBR:
    case IPT_MODE_EXEC:
    case IPT_MODE_TSX:
        break;
    default:
        ck_assert_msg(!reader->in_psb, "offset %zx: %s in PSB+", reader->at,
                      ipt_packet_name(packet->type));
        reader->after_ovf = false;
    }
}

static void read_all(struct rig *rig, struct reader *reader)
{
    struct ipt_decode_state state = { 0 };
    struct ipt_packet packet;

    while (reader->at < rig->stored) {
        ck_assert_msg(ipt_decode(&state, rig->stream + reader->at, rig->stored - reader->at,
                                 &packet) == PTSIM_OK,
                      "offset %zx", reader->at);
        read_packet(reader, rig, &packet);
        reader->at += packet.size;
    }
}

START_TEST(million)
{
    struct rig *rig = rig_new(configurations[_i].profile);
    struct guest guest = { .rig = rig, .random = (uint32_t)_i, .ip = 0x1000 };
    struct reader reader = { .at = 0 };
    const struct ev_context *start = &contexts[0];

    rig->ipt.cr3_match = 0x5000;
    rig_ctl(rig, configurations[_i].ctl, 0x1000 - 2, start);
    guest.ip = 0x1000;
    for (int i = 0; i < EVENTS; i++)
        step(&guest);
    restart(&guest);
    ipt_flush(&rig->ipt);
    read_all(rig, &reader);
    ck_assert_uint_gt(reader.count[IPT_PSB], 5);
    ck_assert_uint_gt(reader.count[IPT_TNT_8], 1000);
    ck_assert_uint_gt(reader.count[IPT_TIP], 1000);
    ck_assert_uint_gt(reader.count[IPT_TIP_PGE], 50);
    ck_assert_uint_gt(reader.count[IPT_OVF], 20);
    free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_events");
    TCase *tcase = tcase_create("random_events");

    tcase_add_loop_test(tcase, million, 0, TEST_COUNT(configurations));
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
