/* SPDX-License-Identifier: MIT */
#include "output.h"

#include "rtit_msr.h"

/* ---- Single range (33.2.7.1) ---- */

static void memory_store(struct ipt *ipt, uint64_t address, const uint8_t *data, size_t size)
{
    ipt->mem.write(ipt->mem.ctx, address, data, size);
    if (ipt->tap.store)
        ipt->tap.store(ipt->tap.ctx, address, data, size);
}

static enum ipt_sink_answer range_open(struct ipt *ipt)
{
    uint64_t mask = bits_get(ipt->output_mask_ptrs, 31, 0);
    uint64_t offset = MSR_GET(ipt->output_mask_ptrs, IA32_RTIT_OUTPUT_MASK_PTRS, OutputOffset);

    if ((mask & (mask + 1)) || (ipt->output_base & mask) || offset > mask)
        return IPT_SINK_FATAL;
    ipt->output.region = ipt->output_base;
    ipt->output.size = mask + 1;
    ipt->output.offset = offset;
    ipt->output.pmi_at = IPT_NEVER;
    return IPT_SINK_OK;
}

static enum ipt_sink_answer range_filled(struct ipt *ipt)
{
    ipt->output.offset = 0;
    return IPT_SINK_OK;
}

/* ---- ToPA (33.2.7.2) ---- */

/* An entry of a table (table 33-3). */
enum {
    TOPA_END = 1 << 0,
    TOPA_INT = 1 << 2,
    TOPA_STOP = 1 << 4,
    TOPA_RESERVED = 1 << 1 | 1 << 3 | 1 << 5 | 3 << 10,
};

static uint64_t topa_region_size(uint64_t entry)
{
    return UINT64_C(4096) << bits_get(entry, 9, 6);
}

static uint64_t topa_index(const struct ipt *ipt)
{
    return MSR_GET(ipt->output_mask_ptrs, IA32_RTIT_OUTPUT_MASK_PTRS, MaskOrTableOffset);
}

static void topa_set_index(struct ipt *ipt, uint64_t index)
{
    ipt->output_mask_ptrs =
        MSR_PUT(ipt->output_mask_ptrs, IA32_RTIT_OUTPUT_MASK_PTRS, MaskOrTableOffset, index);
}

static uint64_t topa_entry(const struct ipt *ipt)
{
    return mem_port_read(&ipt->mem, ipt->output_base + 8 * topa_index(ipt), 8);
}

/* "ToPA Errors" 1, 2c, 4: whether ENTRY, found at the present place, is malformed whatever it is
 * used for. */
static bool topa_malformed(const struct ipt *ipt, uint64_t entry)
{
    uint64_t index = topa_index(ipt);
    uint64_t beyond = ~(BIT(ipt->profile->maxphyaddr) - 1);

    if (entry & (TOPA_RESERVED | beyond))
        return true;
    if (entry & TOPA_END)
        return (entry & (TOPA_INT | TOPA_STOP)) || index == 0 ||
               (!ipt->profile->pt_topa_multi && bits_get(entry, 51, 12) << 12 != ipt->output_base);
    return !ipt->profile->pt_topa_multi && index > 0;
}

/* Takes up the entry at the present place, and where it is an END the one it leads to. */
static enum ipt_sink_answer topa_load(struct ipt *ipt)
{
    struct ipt_output *out = &ipt->output;
    uint64_t entry;

    if (ipt->output_base & 0xfff)
        return IPT_SINK_FATAL; /* 2a */
    entry = topa_entry(ipt);
    if (topa_malformed(ipt, entry))
        return IPT_SINK_FATAL;
    if (entry & TOPA_END) {
        ipt->output_base = entry & ~UINT64_C(0xfff);
        topa_set_index(ipt, 0);
        out->offset = 0;
        entry = topa_entry(ipt);
        if (topa_malformed(ipt, entry))
            return IPT_SINK_FATAL;
    }
    out->region = entry & ~UINT64_C(0xfff);
    out->size = topa_region_size(entry);
    out->stop = entry & TOPA_STOP;
    out->pmi_at = entry & TOPA_INT ? out->size - ipt->profile->pt_topa_pmi_lead : IPT_NEVER;
    if ((out->region & (out->size - 1)) || out->offset >= out->size)
        return IPT_SINK_FATAL; /* 2b, 3 */
    return IPT_SINK_OK;
}

static enum ipt_sink_answer topa_open(struct ipt *ipt)
{
    ipt->output.offset = MSR_GET(ipt->output_mask_ptrs, IA32_RTIT_OUTPUT_MASK_PTRS, OutputOffset);
    return topa_load(ipt);
}

static enum ipt_sink_answer topa_filled(struct ipt *ipt)
{
    /* One past it, the field comes round to 0: the table wraps at its maximum size. */
    uint64_t index = topa_index(ipt) + 1;

    if (ipt->output.stop) {
        ipt->output.offset -= !ipt->profile->pt_topa_stop_past_end;
        return IPT_SINK_STOP;
    }
    topa_set_index(ipt, index);
    ipt->output.offset = 0;
    return topa_load(ipt);
}

/* ---- Trace transport subsystem (33.2.7.3) ---- */

static enum ipt_sink_answer fabric_open(struct ipt *ipt)
{
    ipt->output.region = 0;
    ipt->output.size = IPT_NEVER;
    ipt->output.offset = ipt->output.stored;
    ipt->output.pmi_at = IPT_NEVER;
    return IPT_SINK_OK;
}

static void fabric_store(struct ipt *ipt, uint64_t address, const uint8_t *data, size_t size)
{
    if (ipt->fabric.store)
        ipt->fabric.store(ipt->fabric.ctx, address, data, size);
}

static const struct ipt_sink single_range = { range_open, range_filled, memory_store };
static const struct ipt_sink topa = { topa_open, topa_filled, memory_store };
static const struct ipt_sink fabric = { fabric_open, range_filled, fabric_store };

/* ---- What is common to them ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Bytes from the first in the buffer to the one that begins at POSITION, or 0 where that is past.
 */
static uint64_t until(uint64_t position, uint64_t here)
{
    return position > here ? position - here : 0;
}

static void set_limit(struct ipt *ipt)
{
    struct ipt_output *out = &ipt->output;
    uint64_t limit = IPT_OUTPUT_BUFFER;

    limit = least(limit, out->size - out->offset);
    limit = least(limit, until(out->pmi_at, out->offset));
    limit = least(limit, until(ipt->psb.due, out->stored));
    out->limit = (uint32_t)limit;
    /* a TNT with TIPs behind it is sent when it is full */
    out->ahead = ipt->profile->pt_deferred_tips ? 0 : (uint32_t)until(limit, IPT_TNT_AHEAD_PACKETS);
}

static void update_offset(struct ipt *ipt)
{
    if (ipt->output.sink != &fabric)
        ipt->output_mask_ptrs = MSR_PUT(ipt->output_mask_ptrs, IA32_RTIT_OUTPUT_MASK_PTRS,
                                        OutputOffset, ipt->output.offset);
}

enum ipt_sink_answer ipt_output_open(struct ipt *ipt)
{
    struct ipt_output *out = &ipt->output;
    enum ipt_sink_answer answer;

    out->sink = ipt->ctl & MSR_MASK(IA32_RTIT_CTL, FabricEn) ? &fabric
                : ipt->ctl & MSR_MASK(IA32_RTIT_CTL, ToPA)   ? &topa
                                                             : &single_range;
    out->used = 0;
    answer = out->sink->open(ipt);
    if (answer == IPT_SINK_OK)
        set_limit(ipt);
    return answer;
}

/* Writes bytes up to the end of the region, and returns how many. */
static uint32_t store_in_region(struct ipt *ipt, const uint8_t *data, uint32_t size)
{
    struct ipt_output *out = &ipt->output;

    size = (uint32_t)least(size, out->size - out->offset);
    out->sink->store(ipt, out->region + out->offset, data, size);
    out->offset += size;
    out->stored += size;
    if (out->offset >= out->pmi_at) {
        ipt->topa_pmi = true;
        out->pmi_at = IPT_NEVER;
    }
    return size;
}

void ipt_output_end(struct ipt *ipt, enum ipt_sink_answer answer)
{
    ipt->status |= answer == IPT_SINK_STOP ? MSR_MASK(IA32_RTIT_STATUS, Stopped)
                                           : MSR_MASK(IA32_RTIT_STATUS, Error);
    ipt->enables.trigger = false;
    ipt->output.limit = ipt->output.ahead = 0;
}

void ipt_output_commit(struct ipt *ipt)
{
    struct ipt_output *out = &ipt->output;
    enum ipt_sink_answer answer = IPT_SINK_OK;
    uint32_t used = out->used, done = 0;

    out->used = 0;
    if (ipt->overflow.lasts) {
        out->limit = out->ahead = 0; /* so that every packet comes here, and is lost */
        return;
    }
    while (done < used && answer == IPT_SINK_OK) {
        done += store_in_region(ipt, out->buffer + done, used - done);
        if (out->offset == out->size)
            answer = out->sink->filled(ipt);
    }
    if (answer != IPT_SINK_OK)
        ipt_output_end(ipt, answer);
    else
        set_limit(ipt);
    update_offset(ipt);
}
