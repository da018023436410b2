/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scenario_msrs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../models/bits.h"
#include "../models/pt/rtit_msr.h"
#include "msr_text.h"

enum {
#define ENV_PLACE(name, address) ENV_##name = (address),
#include "environment.def"
    DEFAULT_TRACE_SIZE = 1 << 20,
};

/* ---- values ---- */

/* The value of PAIR, which is that of MSR. */
static bool msr_value(const struct scenario *s, const struct msr *msr, const struct scn_pair *pair,
                      uint64_t *value)
{
    const char **word = calloc(pair->value_count ? pair->value_count : 1, sizeof(*word));
    struct msr_text_error error;
    bool fine;

    if (!word)
        return SCN_MISTAKE(s, &pair->name, "out of memory");
    for (unsigned i = 0; i < pair->value_count; i++)
        word[i] = pair->value[i].text;
    fine = msr_text_eval(msr, word, pair->value_count, &s->symbols, value, &error) ||
           SCN_MISTAKE(s, &pair->value[error.word], "%s", error.text);
    free(word);
    return fine;
}

static const struct scn_pair *pair_find(const struct scenario *s, uint32_t index)
{
    const struct msr *msr = msr_find(index);

    for (unsigned i = 0; i < s->file->msrs_count; i++)
        if (!strcmp(s->file->msrs[i].name.text, msr->name))
            return &s->file->msrs[i];
    return NULL;
}

/* A WRMSR that is two bytes long and ends where LP is about to begin. */
static bool write_msr(const struct scenario *s, struct lp *lp, const struct scn_text *at,
                      const struct msr *msr, uint64_t value)
{
    uint64_t next = arch_linear_ip(&lp->arch, lp->arch.rip);
    struct ptsim_event event = {
        .kind = EV_WRMSR,
        .from_ip = next - 2,
        .next_ip = next,
        .to_ip = next,
        .before = arch_context(&lp->arch),
        .after = arch_context(&lp->arch),
    };

    return !lp_wrmsr(lp, msr->index, value, &event).raised ||
           SCN_MISTAKE(s, at, "writing 0x%" PRIx64 " to %s is #GP(0) on cpu %s", value, msr->name,
                       s->cpu->name);
}

static bool write_pair(const struct scenario *s, struct lp *lp, const struct scn_pair *pair)
{
    const struct msr *msr = msr_find_name(pair->name.text);
    uint64_t value;

    if (!msr)
        return SCN_MISTAKE(s, &pair->name,
                           "unknown MSR '%s', expected one of those that 'ptsim list msrs' shows",
                           pair->name.text);
    return msr_value(s, msr, pair, &value) && write_msr(s, lp, &pair->name, msr, value);
}

/* ---- output ---- */

/* IA32_RTIT_OUTPUT_BASE and _MASK_PTRS. */
static bool write_output(const struct scenario *s, struct lp *lp, const struct scn_text *at,
                         uint64_t base, uint64_t mask_ptrs)
{
    return write_msr(s, lp, at, msr_find(IA32_RTIT_OUTPUT_BASE), base) &&
           write_msr(s, lp, at, msr_find(IA32_RTIT_OUTPUT_MASK_PTRS), mask_ptrs);
}

static bool write_single(const struct scenario *s, struct lp *lp, const struct scn_single *single)
{
    uint64_t base, size;

    if (!scn_value(s, &single->base, 0, &base) ||
        !scn_number(s, &single->size, 0, 128, UINT64_C(1) << 32, &size))
        return false;
    if (size & (size - 1))
        return SCN_MISTAKE(s, &single->size, "'%s', expected a power of two", single->size.text);
    return write_output(s, lp, &single->here, base, size - 1);
}

/* An entry of a ToPA table (SDM 33.2.7.2, table 33-3); SIZE in bytes, 4K to 128M. */
static uint64_t topa_entry(uint64_t base, uint64_t size, bool end, bool interrupt, bool stop)
{
    uint64_t encoding = 0;

    while (size > UINT64_C(4096) << encoding)
        encoding++;
    return base | encoding << 6 | (uint64_t)stop << 4 | (uint64_t)interrupt << 2 | end;
}

static bool topa_value(const struct scenario *s, const struct scn_topa_entry *entry,
                       uint64_t *value)
{
    static const char *const words[] = { "END", "INT", "STOP", NULL };
    uint64_t base, size;
    unsigned flags;

    if (!scn_value(s, &entry->raw, 0, value) || !scn_value(s, &entry->base, 0, &base) ||
        !scn_number(s, &entry->size, 4096, 4096, 128 << 20, &size) ||
        !scn_words(s, entry->flags, entry->flags_count, words, &flags))
        return false;
    if (entry->raw.text && (entry->base.text || entry->size.text || flags))
        return SCN_MISTAKE(s, &entry->here, "'raw' stands alone in an entry");
    if (!entry->raw.text && !entry->base.text)
        return SCN_MISTAKE(s, &entry->here, "the key 'base' is missing, or 'raw'");
    if (size & (size - 1))
        return SCN_MISTAKE(s, &entry->size, "'%s', expected a power of two", entry->size.text);
    if (!entry->raw.text)
        *value = topa_entry(base, size, flags & 1, flags & 2, flags & 4);
    return true;
}

static bool write_table(const struct scenario *s, struct lp *lp, const struct scn_topa *topa)
{
    uint64_t table, entry;

    if (!scn_value(s, &topa->table, 0, &table))
        return false;
    for (unsigned i = 0; i < topa->entries_count; i++) {
        if (!topa_value(s, &topa->entries[i], &entry))
            return false;
        mem_port_write(&lp->mem, table + 8 * i, entry, 8);
    }
    return true;
}

static bool write_topa(const struct scenario *s, struct lp *lp)
{
    const struct scn_output *output = s->file->output;
    uint64_t table;

    for (unsigned i = 0; i < output->topa_count; i++)
        if (!write_table(s, lp, &output->topa[i]))
            return false;
    return scn_value(s, &output->topa[0].table, 0, &table) &&
           write_output(s, lp, &output->topa[0].here, table, 0x7f);
}

/* Where there is nothing else: the region at `trace`, alone or behind a table. */
static bool write_default(const struct scenario *s, struct lp *lp, const struct scn_pair *ctl)
{
    uint64_t value = 0;

    if (!msr_value(s, msr_find(IA32_RTIT_CTL), ctl, &value))
        return false;
    if (!(value & MSR_MASK(IA32_RTIT_CTL, ToPA)))
        return write_output(s, lp, &ctl->name, ENV_trace, DEFAULT_TRACE_SIZE - 1);
    mem_port_write(&lp->mem, ENV_topa_table,
                   topa_entry(ENV_trace, DEFAULT_TRACE_SIZE, false, false, false), 8);
    mem_port_write(&lp->mem, ENV_topa_table + 8,
                   topa_entry(ENV_topa_table, 4096, true, false, false), 8);
    return write_output(s, lp, &ctl->name, ENV_topa_table, 0x7f);
}

static bool place_output(const struct scenario *s, struct lp *lp)
{
    const struct scn_output *output = s->file->output;
    const struct scn_pair *ctl = pair_find(s, IA32_RTIT_CTL);

    if (output && !output->single == !output->topa_count)
        return SCN_MISTAKE(s, &output->here, "output is one of 'single' and 'topa'");
    if (output)
        return output->single ? write_single(s, lp, output->single) : write_topa(s, lp);
    return !ctl || !msr_find(IA32_RTIT_OUTPUT_BASE)->exists(s->cpu) ||
           pair_find(s, IA32_RTIT_OUTPUT_BASE) || write_default(s, lp, ctl);
}

bool scenario_msrs_write(const struct scenario *scenario, struct lp *lp)
{
    const struct scn_file *file = scenario->file;
    const struct scn_pair *ctl = pair_find(scenario, IA32_RTIT_CTL);

    if (!place_output(scenario, lp))
        return false;
    for (unsigned i = 0; i < file->msrs_count; i++)
        if (&file->msrs[i] != ctl && !write_pair(scenario, lp, &file->msrs[i]))
            return false;
    return !ctl || write_pair(scenario, lp, ctl);
}
