/* SPDX-License-Identifier: MIT */
/* The packet generator: from events to packets.
 *
 * An event is looked at in two steps. decide() finds what it does to the enables and which packets
 * come of it (tables 33-55 and 33-56), and changes nothing; carry_out() sends them. Timing packets
 * are not decided on: they come with time, and in front of other packets. */
#include "emit.h"
#include "event_trace.h"
#include "fast.h"
#include "power.h"
#include "ptwrite.h"
#include "rtit_msr.h"

/* What a kind of event is to the generator. */
struct kind {
    enum {
        STRAIGHT,
        CONDITIONAL,
        DIRECT,
        INDIRECT,
        RETURN,
        FAR_TRANSFER,
        WAITS /* for a SIPI, and no instruction is executed: PacketEn is clear until it comes */
    } flow;
    bool fup;   /* its source cannot be told from the code (table 33-23) */
    bool lands; /* FilterEn and TraceStop look at where it goes; a conditional branch: if taken */
};

static const struct kind kinds[EV_KINDS] = {
    [EV_COND_BRANCH] = { CONDITIONAL, false, true },  [EV_JMP_DIRECT] = { DIRECT, false, true },
    [EV_CALL_DIRECT] = { DIRECT, false, true },       [EV_JMP_INDIRECT] = { INDIRECT, false, true },
    [EV_CALL_INDIRECT] = { INDIRECT, false, true },   [EV_RET] = { RETURN, false, true },
    [EV_FAR_BRANCH] = { FAR_TRANSFER, false, true },  [EV_IRET] = { FAR_TRANSFER, false, true },
    [EV_SW_INTERRUPT] = { FAR_TRANSFER, true, true }, [EV_FAULT] = { FAR_TRANSFER, true, true },
    [EV_TRAP] = { FAR_TRANSFER, true, true },         [EV_INTERRUPT] = { FAR_TRANSFER, true, true },
    [EV_NMI] = { FAR_TRANSFER, true, true },          [EV_INIT] = { FAR_TRANSFER, true, true },
    [EV_INIT_WAIT] = { WAITS, true, false },          [EV_SIPI] = { FAR_TRANSFER, false, true },
    [EV_MOV_CR3] = { STRAIGHT, false, true },
};

static bool changes_context(enum ev_kind kind)
{
    enum {
        NEAR,
        FAR
    };
    static const bool far[] = {
#define EVENT(name, text, context) context == FAR,
#include "../events.def"
#undef EVENT
    };

    return far[kind];
}

/* The IP that a packet carries is linear or effective, and as wide as the mode's (33.3.1.1). */
static uint64_t ip_base(const struct ipt *ipt, const struct ev_context *context)
{
    return ipt->profile->pt_lip ? 0 : context->cs_base;
}

static uint64_t ip_mask(const struct ev_context *context)
{
    return context->cs_l && context->lma ? ~UINT64_C(0) : BITS(31, 0);
}

static uint64_t packet_ip_in(const struct ipt *ipt, const struct ev_context *context,
                             uint64_t linear)
{
    return (linear - ip_base(ipt, context)) & ip_mask(context);
}

static void set_context(struct ipt *ipt, const struct ev_context *context)
{
    ipt->context = *context;
    ipt->ip_base = ip_base(ipt, context);
    ipt->ip_mask = ip_mask(context);
}

/* ---- Deciding ---- */

enum end {
    NO_END,
    OUTCOME,
    TIP,
    TIP_PGE,
    TIP_PGD,
    TIP_PGD_NO_IP
};

/* What an event comes to. Its packets are sent in this order. */
struct decision {
    struct ipt_enables after;
    bool fup;
    uint64_t from_ip; /* where it happened */
    bool pip;
    bool mode_exec;
    enum end end;
    uint64_t ip; /* where execution goes on */
    bool trace_stop;
};

/* The last packet of an event before and after which PacketEn is set (table 33-55). */
static enum end traced_end(const struct ipt *ipt, const struct kind *kind, uint64_t ip)
{
    switch (kind->flow) {
    case STRAIGHT:
    case DIRECT:
    case WAITS:
        break;
    case CONDITIONAL:
        return OUTCOME;
    case RETURN:
        return ipt_ret_stack_matches(&ipt->ret_stack, ip) ? OUTCOME : TIP;
    case INDIRECT:
    case FAR_TRANSFER:
        return TIP;
    }
    return NO_END;
}

/* The last packet of any event (tables 33-55 and 33-56). TIP.PGD has no IP out of context, nor for
 * a conditional branch, which then is known to be taken (33.4.2.5). */
static enum end end_of(const struct ipt *ipt, const struct kind *kind,
                       const struct ipt_enables *after, uint64_t ip)
{
    if (kind->flow == WAITS)
        return NO_END; /* table 33-55, case 23: it is a FUP alone */
    if (!ipt_packet_en(ipt))
        return ipt_enables_packet(*after) ? TIP_PGE : NO_END;
    if (ipt_enables_packet(*after))
        return traced_end(ipt, kind, ip);
    return after->context && kind->flow != CONDITIONAL ? TIP_PGD : TIP_PGD_NO_IP;
}

/* 33.4.2.8 */
static bool needs_mode_exec(const struct ipt *ipt, const struct kind *kind, enum end end,
                            const struct ev_context *context)
{
    struct ipt_mode mode = ipt_mode_of(ipt, context);
    bool told = ipt->mode.sent && ipt->mode.cs_l == mode.cs_l && ipt->mode.cs_d == mode.cs_d &&
                ipt->mode.rflags_if == mode.rflags_if;

    if (end == TIP_PGE)
        return !told || ipt->profile->pt_mode_exec_always;
    return end == TIP && kind->flow == FAR_TRANSFER && !told;
}

static struct decision decide(const struct ipt *ipt, const struct ptsim_event *event)
{
    const struct kind *kind = &kinds[event->kind];
    bool lands = kind->lands && (event->kind != EV_COND_BRANCH || event->taken);
    struct decision d = { .fup = kind->fup && ipt_packet_en(ipt) };
    struct ev_context context = ipt->context;

    d.from_ip = ipt_packet_ip(ipt, event->from_ip);
    if (changes_context(event->kind))
        context = event->after;
    d.ip = packet_ip_in(ipt, &context, event->to_ip);
    d.after = ipt_enables_after(ipt, &context, lands, d.ip);
    if (kind->flow == WAITS)
        d.after.filter = false;
    d.pip = event->kind == EV_MOV_CR3 || ((kind->flow == FAR_TRANSFER || kind->flow == WAITS) &&
                                          event->before.cr3 != event->after.cr3);
    d.end = end_of(ipt, kind, &d.after, d.ip);
    d.mode_exec = needs_mode_exec(ipt, kind, d.end, &context);
    d.trace_stop = !d.after.trigger;
    return d;
}

/* ---- Carrying out ---- */

static void update_status(struct ipt *ipt)
{
    uint64_t status = ipt->status;

    status = MSR_PUT(status, IA32_RTIT_STATUS, FilterEn, ipt->enables.filter);
    status = MSR_PUT(status, IA32_RTIT_STATUS, ContextEn, ipt->enables.context);
    status = MSR_PUT(status, IA32_RTIT_STATUS, TriggerEn, ipt->enables.trigger);
    status = MSR_PUT(status, IA32_RTIT_STATUS, PacketByteCnt, ipt_psb_packet_byte_cnt(ipt));
    ipt->status = status;
}

/* TriggerEn is cleared otherwise than by the output: what was sent until now goes to memory. */
static void clear_trigger(struct ipt *ipt)
{
    if (ipt->enables.trigger) {
        ipt_emit_full_tnts(ipt);
        ipt_output_commit(ipt);
    }
    ipt->enables.trigger = false;
}

static void trace_stop(struct ipt *ipt)
{
    ipt_emit(ipt, (struct ipt_packet){ .type = IPT_TRACE_STOP });
    if (ipt->enables.trigger)
        ipt->status |= MSR_MASK(IA32_RTIT_STATUS, Stopped);
    clear_trigger(ipt);
}

static void follow_calls(struct ipt *ipt, const struct ptsim_event *event, enum end end)
{
    bool call = event->kind == EV_CALL_INDIRECT ||
                (event->kind == EV_CALL_DIRECT && event->to_ip != event->next_ip);

    if (call)
        ipt_ret_stack_push(&ipt->ret_stack, ipt_packet_ip(ipt, event->next_ip));
    else if (event->kind == EV_RET && end == OUTCOME)
        ipt_ret_stack_pop(&ipt->ret_stack);
    else if (event->kind == EV_RET)
        ipt_ret_stack_clear(&ipt->ret_stack);
}

static void send_end(struct ipt *ipt, const struct ptsim_event *event, const struct decision *d)
{
    switch (d->end) {
    case NO_END:
        break;
    case OUTCOME:
        ipt_emit_outcome(ipt, event->kind == EV_RET || event->taken);
        break;
    case TIP:
        if (event->kind == EV_RET)
            ipt_emit_ip(ipt, IPT_TIP, d->ip); /* never deferred (33.4.2.2) */
        else
            ipt_emit_tip(ipt, d->ip);
        break;
    case TIP_PGE:
        ipt_emit_ip(ipt, IPT_TIP_PGE, d->ip);
        break;
    case TIP_PGD:
        ipt_emit_ip(ipt, IPT_TIP_PGD, d->ip);
        break;
    case TIP_PGD_NO_IP:
        ipt_emit_no_ip(ipt, IPT_TIP_PGD);
        break;
    }
}

static void carry_out(struct ipt *ipt, const struct ptsim_event *event, const struct decision *d)
{
    bool was_traced = ipt_packet_en(ipt), was_in_context = ipt->enables.context;

    ipt_event_trace(ipt, event, d->after.context, d->fup, d->from_ip);
    if (d->fup)
        ipt_emit_ip(ipt, IPT_FUP, d->from_ip);
    if (changes_context(event->kind))
        set_context(ipt, &event->after);
    ipt->enables.context = d->after.context;
    ipt->enables.filter = d->after.filter;
    if (d->pip)
        ipt_emit_pip(ipt);
    ipt_timing_advance(ipt, ipt->clock->core);
    if (d->mode_exec)
        ipt_emit_mode_exec(ipt);
    if (was_traced && ipt_packet_en(ipt))
        follow_calls(ipt, event, d->end);
    else if (was_traced || ipt_packet_en(ipt))
        ipt_ret_stack_clear(&ipt->ret_stack);
    send_end(ipt, event, d);
    ipt_event_trace_if(ipt, event, was_in_context, d->from_ip);
    if (event->kind == EV_PTWRITE)
        ipt_ptwrite(ipt, event, d->from_ip);
    else if (event->kind == EV_CLOCK_STOP)
        ipt_power_stop(ipt, event, d->from_ip);
    else if (event->kind == EV_CLOCK_START)
        ipt_power_start(ipt, event);
    else if (event->kind == EV_OVERFLOW)
        ipt_overflow_begin(ipt);
    else if (event->kind == EV_OVERFLOW_END)
        ipt_overflow_end(ipt, d->ip);
    if (d->trace_stop)
        trace_stop(ipt);
}

/* Whether EVENT leaves the processor at an instruction that it is going to execute. */
static bool arrives(const struct ptsim_event *event)
{
    return event->kind != EV_TIME && event->kind != EV_CYCLE_COUNTER_RESET &&
           event->kind != EV_CLOCK_STOP && event->kind != EV_OVERFLOW;
}

/* A PSB is sent where one event is complete and the next has not begun, and the IP is known. */
static void psb_if_due(struct ipt *ipt, bool ip_known, uint64_t ip)
{
    if (ipt_output_total(ipt) >= ipt->psb.due && ipt->enables.trigger && !ipt->overflow.lasts &&
        (ip_known || !ipt_packet_en(ipt)))
        ipt_psb_send(ipt, ipt_packet_en(ipt), ip);
}

/* The core clocks until which fast.h may do without ipt_event(). */
static void update_fast(struct ipt *ipt)
{
    bool no_ranges = !ipt->filter.filter && !ipt->filter.stop;
    bool quiet = ipt->enables.trigger && no_ranges && !ipt->overflow.lasts &&
                 !ipt->profile->pt_deferred_tips;
    uint64_t until = quiet ? ipt_timing_due(ipt) : 0;
    bool packet_en = ipt_packet_en(ipt);

    ipt->fast.untraced = packet_en ? 0 : until;
    ipt->fast.branch = packet_en ? until : 0;
}

void ipt_event(struct ipt *ipt, const struct ptsim_event *event)
{
    struct decision d;

    if (!ipt->enables.trigger)
        return;
    ipt_timing_advance(ipt, ipt->clock->core - event->cycles_after_cr3);
    if (event->kind == EV_CYCLE_COUNTER_RESET)
        ipt_timing_cyc_alone(ipt);
    if (ipt->enables.trigger) {
        d = decide(ipt, event);
        carry_out(ipt, event, &d);
        psb_if_due(ipt, arrives(event), d.ip);
    }
    if (!ipt->enables.trigger)
        update_status(ipt);
    update_fast(ipt);
}

/* ---- The fast path ---- */

void ipt_near_branch(struct ipt *ipt, enum ev_kind kind, bool taken, uint64_t from_ip,
                     uint64_t next_ip, uint64_t to_ip)
{
    if (!ipt->enables.trigger || ipt->clock->core < ipt->fast.untraced)
        return;
    ipt_event(
        ipt,
        &(struct ptsim_event){
            .kind = kind, .taken = taken, .from_ip = from_ip, .next_ip = next_ip, .to_ip = to_ip });
}

/* The end of an event that sent a packet or more, or none. What timing packet is due next may have
 * changed, but only to a later core clock: ipt_event() will see to that. */
static bool quiet_end(struct ipt *ipt, uint64_t to_ip)
{
    if (ipt->output.used && ipt->output.used < ipt->output.limit)
        return true;
    psb_if_due(ipt, true, ipt_packet_ip(ipt, to_ip));
    if (!ipt->enables.trigger)
        update_status(ipt);
    update_fast(ipt);
    return false;
}

bool ipt_quiet_tip(struct ipt *ipt, uint64_t core, uint64_t to_ip)
{
    ipt->timing.now = core;
    ipt_emit_prepare(ipt, true);
    if (ipt->enables.trigger)
        ipt_emit_prepared_ip(ipt, IPT_TIP, ipt_packet_ip(ipt, to_ip));
    return quiet_end(ipt, to_ip);
}

bool ipt_quiet_due(struct ipt *ipt, uint64_t core, bool taken, uint64_t to_ip)
{
    ipt->timing.now = core;
    ipt_emit_outcome(ipt, taken);
    return quiet_end(ipt, to_ip);
}

/* ---- TraceEn (33.2.8.3) ---- */

/* The packets of TraceEn 0->1 (table 33-56, cases 1 and 2). */
static void send_start(struct ipt *ipt, const struct ptsim_event *event, bool psb,
                       const struct ipt_enables *after, uint64_t ip)
{
    const struct cpu_profile *profile = ipt->profile;
    bool packet_en = ipt_enables_packet(*after);

    if (psb) {
        ipt_psb_send(ipt, packet_en && profile->pt_psb_start_ip, ip);
    } else {
        ipt_timing_tsc(ipt);
        ipt_timing_cbr(ipt);
    }
    ipt_event_trace(ipt, event, after->context, false, ip);
    if (packet_en) {
        if (!ipt->mode.sent)
            ipt_emit_mode_exec(ipt);
        ipt_emit_ip(ipt, IPT_TIP_PGE, ip);
    } else if (!after->context && after->branch && profile->pt_mode_exec_start) {
        ipt_emit_mode_exec(ipt);
    }
    if (!after->trigger)
        trace_stop(ipt);
}

static void enable(struct ipt *ipt, const struct ptsim_event *event)
{
    const uint64_t halted = MSR_MASK(IA32_RTIT_STATUS, Error) | MSR_MASK(IA32_RTIT_STATUS, Stopped);
    bool psb = ipt_psb_start(ipt);
    uint64_t ip = packet_ip_in(ipt, &event->after, event->to_ip);
    enum ipt_sink_answer answer;
    struct ipt_enables after;

    if (ipt->status & halted)
        return;
    set_context(ipt, &event->after);
    ipt->filter = ipt_filter_of_ctl(ipt->ctl);
    ipt->enables = (struct ipt_enables){ .trigger = true,
                                         .filter = !ipt->filter.filter,
                                         .branch = ipt->ctl & MSR_MASK(IA32_RTIT_CTL, BranchEn) };
    ipt_tnt_clear(&ipt->tnt, IPT_TNT_8_MAX, false);
    ipt_ret_stack_clear(&ipt->ret_stack);
    ipt->mode.sent = false;
    ipt->overflow.lasts = false;
    ipt->deferred.count = 0;
    ipt->last_ip_unknown = true;
    ipt->ret_stack.off = ipt->ctl & MSR_MASK(IA32_RTIT_CTL, DisRETC);
    answer = ipt_output_open(ipt);
    if (answer != IPT_SINK_OK) {
        ipt_output_end(ipt, answer);
        return;
    }
    ipt_timing_start(ipt, ipt->clock->core);
    after = ipt_enables_after(ipt, &event->after, true, ip);
    ipt->enables.context = after.context;
    ipt->enables.filter = after.filter;
    send_start(ipt, event, psb, &after, ip);
}

/* Table 33-56, case 3. */
static void disable(struct ipt *ipt, const struct ptsim_event *event)
{
    uint64_t ip = packet_ip_in(ipt, &event->before, event->from_ip);

    if (!ipt->enables.trigger)
        return;
    ipt_timing_advance(ipt, ipt->clock->core);
    ipt_overflow_end(ipt, ip); /* clearing TraceEn empties the buffers (33.2.8.2) */
    ipt_event_trace(ipt, event, false, ipt_packet_en(ipt), ip);
    if (ipt_packet_en(ipt)) {
        ipt_emit_ip(ipt, IPT_FUP, ip);
        ipt_emit_no_ip(ipt, IPT_TIP_PGD);
    }
    clear_trigger(ipt);
}

void ipt_write_ctl(struct ipt *ipt, uint64_t value, const struct ptsim_event *event)
{
    bool was = ipt->ctl & MSR_MASK(IA32_RTIT_CTL, TraceEn);
    bool is = value & MSR_MASK(IA32_RTIT_CTL, TraceEn);

    if (was && is) {
        ipt_event(ipt, event);
        return;
    }
    if (was) {
        disable(ipt, event);
        update_status(ipt);
    }
    ipt->ctl = value;
    if (is) {
        enable(ipt, event);
        update_status(ipt);
    }
    update_fast(ipt);
}

/* ---- Reset and flush ---- */

void ipt_init(struct ipt *ipt, const struct cpu_profile *profile, const struct clock *clock,
              const struct mem_port *mem)
{
    *ipt = (struct ipt){ .profile = profile, .clock = clock, .mem = *mem };
    ipt_tnt_clear(&ipt->tnt, IPT_TNT_8_MAX, false);
    ipt_msrs_reset(ipt);
}

void ipt_warm_reset(struct ipt *ipt)
{
    clear_trigger(ipt);
    if (ipt->ctl & MSR_MASK(IA32_RTIT_CTL, TraceEn))
        update_status(ipt);
    ipt->ctl &= ~MSR_MASK(IA32_RTIT_CTL, TraceEn);
    if (!ipt->profile->pt_ip_filter)
        ipt_msrs_reset(ipt);
    update_fast(ipt);
}

void ipt_flush(struct ipt *ipt)
{
    if (!ipt->enables.trigger)
        return;
    ipt_emit_full_tnts(ipt);
    ipt_output_commit(ipt);
    update_status(ipt);
}
