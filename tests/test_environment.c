/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What environment_build() leaves is looked at through models/arch, as the processor does. */
#include "../sim/environment.h"

#include <stdio.h>
#include <string.h>

#include "../models/arch/far.h"
#include "../models/arch/interrupt.h"
#include "../models/bits.h"
#include "../models/pt/rtit_msr.h"
#include "../sim/memory.h"
#include "../sim/scenario_msrs.h"
#include "suite.h"

struct fixture {
    struct scenario s;
    struct memory *memory;
    struct lp lp;
    struct arch_cpu cpu;
    struct mistake mistake;
};

static uint8_t code_bytes[] = { 0x90, 0xf4 };
static struct asm_piece code_piece = { 0x8000, sizeof(code_bytes), code_bytes };
static const struct assembly code = { .piece = &code_piece, .pieces = 1 };

static void read_scenario(struct fixture *f, const char *keys)
{
    char yaml[1000];
    struct mem_port mem;

    snprintf(yaml, sizeof(yaml), "title: t\ncite: c\ncode: nop\n%s", keys);
    ck_assert_msg(scenario_parse(&f->s, "f", yaml, strlen(yaml), &f->mistake), "%s",
                  f->mistake.text);
    ck_assert(symbols_add(&f->s.symbols, "target", 6, 0x9000, SYMBOL_LABEL));
    f->memory = memory_new(f->s.memory);
    ck_assert_ptr_nonnull(f->memory);
    mem = memory_port(f->memory);
    lp_init(&f->lp, f->s.cpu, &mem);
    f->cpu = (struct arch_cpu){ &f->lp.arch, &f->lp.limits, &f->lp.mem };
}

static void set_up(struct fixture *f, const char *keys)
{
    read_scenario(f, keys);
    ck_assert_msg(environment_build(&f->s, &code, &f->lp), "%s", f->mistake.text);
}

static void tear_down(struct fixture *f)
{
    memory_free(f->memory);
    scenario_free(&f->s);
}

/* ---- the start state ---- */

static const struct {
    const char *keys;
    unsigned bits;
    unsigned cpl;
    uint16_t cs;
    uint16_t ss;
    uint64_t cr0;
    uint64_t cr3;
    uint64_t cr4;
    uint64_t efer;
    uint64_t rflags;
} modes[] = {
    { "mode: real16\n", 16, 0, 0, 0, CR0_ET | CR0_NE, 0, 0, 0, 0x202 },
    { "mode: prot16\n", 16, 0, 0x08, 0x10, CR0_PE | CR0_ET | CR0_NE, 0, 0, EFER_SCE, 0x202 },
    { "mode: prot16\ncpl: 3\n", 16, 3, 0x53, 0x23, CR0_PE | CR0_ET | CR0_NE, 0, 0, EFER_SCE,
      0x202 },
    { "mode: prot32\n", 32, 0, 0x08, 0x10, CR0_PE | CR0_ET | CR0_NE | CR0_WP | CR0_PG, 0x40000,
      CR4_OSFXSR | CR4_OSXMMEXCPT, EFER_SCE, 0x202 },
    { "mode: prot32\ncpl: 1\n", 32, 1, 0x59, 0x61, CR0_PE | CR0_ET | CR0_NE | CR0_WP | CR0_PG,
      0x40000, CR4_OSFXSR | CR4_OSXMMEXCPT, EFER_SCE, 0x202 },
    { "mode: prot32\ncpl: 2\npaging: none\n", 32, 2, 0x6a, 0x72, CR0_PE | CR0_ET | CR0_NE | CR0_WP,
      0, CR4_OSFXSR | CR4_OSXMMEXCPT, EFER_SCE, 0x202 },
    { "mode: prot32\ncpl: 3\npaging: pae\n", 32, 3, 0x1b, 0x23,
      CR0_PE | CR0_ET | CR0_NE | CR0_WP | CR0_PG, 0x40000, CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_PAE,
      EFER_SCE, 0x202 },
    { "mode: v86\n", 16, 3, 0, 0, CR0_PE | CR0_ET | CR0_NE | CR0_WP | CR0_PG, 0x40000,
      CR4_OSFXSR | CR4_OSXMMEXCPT, EFER_SCE, 0x23202 },
    { "mode: compat32\n", 32, 0, 0x40, 0x10, CR0_PE | CR0_ET | CR0_NE | CR0_WP | CR0_PG, 0x40000,
      CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_PAE, EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE, 0x202 },
    { "mode: compat32\ncpl: 3\n", 32, 3, 0x1b, 0x23, CR0_PE | CR0_ET | CR0_NE | CR0_WP | CR0_PG,
      0x40000, CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_PAE, EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE,
      0x202 },
    { "", 64, 0, 0x08, 0x10, CR0_PE | CR0_ET | CR0_NE | CR0_WP | CR0_PG, 0x40000,
      CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_PAE, EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE, 0x202 },
    { "cpl: 3\n", 64, 3, 0x2b, 0x23, CR0_PE | CR0_ET | CR0_NE | CR0_WP | CR0_PG, 0x40000,
      CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_PAE, EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE, 0x202 },
};

START_TEST(start_state)
{
    struct fixture f;
    const struct arch_state *state = &f.lp.arch;
    uint8_t fetched[2];

    set_up(&f, modes[_i].keys);
    ck_assert_uint_eq(arch_code_bits(state), modes[_i].bits);
    ck_assert_uint_eq(state->cpl, modes[_i].cpl);
    ck_assert_uint_eq(state->sreg[ARCH_CS].selector, modes[_i].cs);
    ck_assert_uint_eq(state->sreg[ARCH_SS].selector, modes[_i].ss);
    ck_assert_uint_eq(state->sreg[ARCH_GS].selector, modes[_i].ss);
    ck_assert_uint_eq(state->cr0, modes[_i].cr0);
    ck_assert_uint_eq(state->cr3, modes[_i].cr3);
    ck_assert_uint_eq(state->cr4, modes[_i].cr4);
    ck_assert_uint_eq(state->efer, modes[_i].efer);
    ck_assert_uint_eq(state->rflags, modes[_i].rflags);
    ck_assert_uint_eq(state->gpr[ARCH_RSP], 0x8000);
    ck_assert_uint_eq(arch_linear_ip(state, state->rip), 0x8000);
    ck_assert(
        !arch_linear_read(state, &f.lp.limits, &f.lp.mem, 0x8000, fetched, 2, state->cpl).raised);
    ck_assert_mem_eq(fetched, code_bytes, 2);
    tear_down(&f);
}
END_TEST

/* ---- descriptors ---- */

/* Every segment register can be loaded with each data selector of the CPL and of those above. */
START_TEST(data_selectors)
{
    static const uint16_t data[] = { 0x10, 0x61, 0x72, 0x23 };
    struct fixture f;

    set_up(&f, modes[_i].keys);
    if (arch_real_mode(&f.lp.arch) || arch_v86_mode(&f.lp.arch)) {
        tear_down(&f);
        return;
    }
    for (unsigned dpl = 0; dpl < 4; dpl++) {
        bool fine = dpl >= modes[_i].cpl;

        ck_assert_int_eq(arch_load_sreg(&f.cpu, ARCH_ES, data[dpl]).raised, !fine);
    }
    tear_down(&f);
}
END_TEST

/* INT 33 and an exception go to their handlers, at CPL 0 on the TSS's stack where CPL was 3. */
START_TEST(delivery)
{
    struct fixture f;
    char keys[200];
    struct arch_interruption what = { .type = ARCH_INT_SW_INTERRUPT, .vector = 33 };
    struct arch_fault fault;
    bool real;

    snprintf(keys, sizeof(keys), "%sidt: {33: target}\nivt: {33: target}\n", modes[_i].keys);
    set_up(&f, keys);
    real = arch_real_mode(&f.lp.arch);
    what.return_rip = 0x8002;
    ck_assert_int_eq(arch_deliver(&f.cpu, &what, &fault), ARCH_DELIVERED);
    ck_assert_uint_eq(f.lp.arch.rip, 0x9000);
    ck_assert_uint_eq(f.lp.arch.cpl, 0);
    if (!real)
        ck_assert_uint_eq(f.lp.arch.sreg[ARCH_CS].selector, 0x08);
    if (modes[_i].cpl == 3)
        ck_assert_uint_eq((f.lp.arch.gpr[ARCH_RSP] - 1) >> 12, 0x28);
    tear_down(&f);
}
END_TEST

START_TEST(handler_keys)
{
    struct fixture f;
    struct arch_interruption what = { .type = ARCH_INT_HW_EXCEPTION, .vector = 14 };
    struct arch_fault fault;

    set_up(&f, "cpl: 3\nidt:\n  14: {at: target+4, ist: 3, dpl: 0, type: trap}\n");
    what.has_error = true;
    ck_assert_int_eq(arch_deliver(&f.cpu, &what, &fault), ARCH_DELIVERED);
    ck_assert_uint_eq(f.lp.arch.rip, 0x9004);
    ck_assert_uint_eq((f.lp.arch.gpr[ARCH_RSP] - 1) >> 12, 0x2d); /* below ist3_top */
    ck_assert(f.lp.arch.rflags & RFLAGS_IF);                      /* a trap gate */
    tear_down(&f);
    set_up(&f, "cpl: 3\nidt:\n  14: {at: target, dpl: 0}\n");
    what.type = ARCH_INT_SW_INTERRUPT;
    what.has_error = false;
    ck_assert_int_eq(arch_deliver(&f.cpu, &what, &fault), ARCH_DELIVERY_FAULT);
    ck_assert_uint_eq(fault.vector, ARCH_GP);
    tear_down(&f);
    set_up(&f, "");
    what.vector = 40;
    ck_assert_int_eq(arch_deliver(&f.cpu, &what, &fault), ARCH_DELIVERY_FAULT);
    ck_assert_uint_eq(fault.vector, ARCH_GP);
    tear_down(&f);
}
END_TEST

START_TEST(call_gates)
{
    static const char *const keys[] = {
        "mode: prot32\ncpl: 3\ngates: [{name: G, type: call, at: target, params: 1}]\n",
        "cpl: 3\ngates: [{name: G, type: call, at: target}]\n",
        "mode: prot16\ncpl: 3\ngates: [{name: G, type: call16, at: target}]\n",
    };
    struct fixture f;

    set_up(&f, keys[_i]);
    ck_assert_uint_eq(symbols_find(&f.s.symbols, "G", 1)->value, 0x90);
    ck_assert(!arch_far_call(&f.cpu, 0x90, 0, _i == 2 ? 2 : 4, 0x8007).raised);
    ck_assert_uint_eq(f.lp.arch.rip, 0x9000);
    ck_assert_uint_eq(f.lp.arch.cpl, 0);
    tear_down(&f);
}
END_TEST

START_TEST(tasks)
{
    struct fixture f;

    set_up(&f, "mode: prot32\nroots: [other]\n"
               "tasks: [{name: T, at: target, root: other, stack: 0x7000, rflags: 0x202},\n"
               "        {name: V, at: target, v86: true, rflags: 0x3000}]\n"
               "gates: [{name: G, type: task, selector: T}]\n");
    ck_assert_uint_eq(symbols_find(&f.s.symbols, "G", 1)->value, 0xb0);
    ck_assert(!arch_far_call(&f.cpu, 0xb0, 0, 4, 0x8007).raised);
    ck_assert_uint_eq(f.lp.arch.rip, 0x9000);
    ck_assert_uint_eq(f.lp.arch.cr3, SCN_ROOT(1));
    ck_assert_uint_eq(f.lp.arch.gpr[ARCH_RSP], 0x7000);
    ck_assert_uint_eq(f.lp.arch.tr.selector, 0x90);
    ck_assert_uint_eq(f.lp.arch.sreg[ARCH_DS].selector, 0x10);
    ck_assert(f.lp.arch.rflags & RFLAGS_IF);
    ck_assert(!arch_far_call(&f.cpu, 0xa0, 0, 4, 0x9007).raised);
    ck_assert(arch_v86_mode(&f.lp.arch));
    ck_assert_uint_eq(f.lp.arch.sreg[ARCH_CS].selector, 0);
    ck_assert_uint_eq(f.lp.arch.cr3, SCN_ROOT(0));
    tear_down(&f);
}
END_TEST

/* ---- pages ---- */

START_TEST(pages)
{
    struct fixture f;
    struct arch_translation out;
    const struct arch_state *state = &f.lp.arch;

    set_up(&f, "roots: [other]\npages:\n"
               "  - {linear: 0xffffffff80000000, phys: 0x200000, size: 8K}\n"
               "  - {linear: 0xffffffff80001000, phys: 0x300000, root: other}\n"
               "  - {linear: 0x9000, phys: 0x9000, flags: [supervisor, readonly, nx]}\n"
               "  - {linear: 0xa000, flags: [absent]}\n");
    ck_assert(
        !arch_translate(state, &f.lp.limits, &f.lp.mem, 0xffffffff80001234, ARCH_WRITE, 3, &out)
             .raised);
    ck_assert_uint_eq(out.phys, 0x201234);
    ck_assert(!arch_translate(state, &f.lp.limits, &f.lp.mem, 0x9000, ARCH_READ, 0, &out).raised);
    ck_assert(!out.user && !out.write && !out.execute);
    ck_assert(arch_translate(state, &f.lp.limits, &f.lp.mem, 0xa000, ARCH_READ, 0, &out).raised);
    ck_assert(
        !arch_translate(state, &f.lp.limits, &f.lp.mem, 0x3ff000, ARCH_FETCH, 3, &out).raised);
    ck_assert(arch_translate(state, &f.lp.limits, &f.lp.mem, 0x400000, ARCH_READ, 0, &out).raised);
    f.lp.arch.cr3 = symbols_find(&f.s.symbols, "other", 5)->value;
    ck_assert(
        !arch_translate(state, &f.lp.limits, &f.lp.mem, 0xffffffff80001234, ARCH_WRITE, 3, &out)
             .raised);
    ck_assert_uint_eq(out.phys, 0x300234);
    tear_down(&f);
}
END_TEST

/* ---- registers, MSRs, output ---- */

START_TEST(registers)
{
    struct fixture f;

    set_up(&f,
           "start: target+1\nregs: {rax: target, r15: 0xffffffffffffffff, rflags: 2, cr4: 0x20,\n"
           "       dr7: 0x400}\n");
    ck_assert_uint_eq(f.lp.arch.rip, 0x9001);
    ck_assert_uint_eq(f.lp.arch.gpr[ARCH_RAX], 0x9000);
    ck_assert_uint_eq(f.lp.arch.gpr[ARCH_R15], UINT64_MAX);
    ck_assert_uint_eq(f.lp.arch.rflags, 2);
    ck_assert_uint_eq(f.lp.arch.cr4, 0x20);
    ck_assert_uint_eq(f.lp.arch.dr[7], 0x400);
    tear_down(&f);
}
END_TEST

static const struct {
    const char *keys;
    uint64_t ctl, base, mask;
} outputs[] = {
    { "", 0, 0, 0x7f },
    { "msrs: {IA32_RTIT_CTL: [OS]}\n", 4, 0x100000, 0xfffff },
    { "msrs: {IA32_RTIT_CTL: [OS, ToPA]}\n", 0x104, 0xf0000, 0x7f },
    { "msrs: {IA32_RTIT_CTL: 0x104}\n", 0x104, 0xf0000, 0x7f },
    { "msrs: {IA32_RTIT_CTL: [OS], IA32_RTIT_OUTPUT_BASE: target-0x1000}\n", 4, 0x8000, 0x7f },
    { "output: {single: {base: 0x180000, size: 4K}}\nmsrs: {IA32_RTIT_CTL: [User, PSBFreq=3]}\n",
      0x03000008, 0x180000, 0xfff },
    { "output: {topa: [{table: 0x181000, entries: [{base: 0x200000, size: 8K, flags: [INT, "
      "STOP]},\n"
      "  {raw: 0x123}, {base: 0x181000, flags: END}]}]}\n",
      0, 0x181000, 0x7f },
};

START_TEST(msrs_and_output)
{
    struct fixture f;

    set_up(&f, outputs[_i].keys);
    ck_assert_msg(scenario_msrs_write(&f.s, &f.lp), "%s", f.mistake.text);
    ck_assert_uint_eq(f.lp.pt.ctl, outputs[_i].ctl);
    ck_assert_uint_eq(f.lp.pt.output_base, outputs[_i].base);
    ck_assert_uint_eq(f.lp.pt.output_mask_ptrs, outputs[_i].mask);
    if (outputs[_i].ctl & 0x100) {
        ck_assert_uint_eq(mem_port_read(&f.lp.mem, 0xf0000, 8), 0x100000 | 8 << 6);
        ck_assert_uint_eq(mem_port_read(&f.lp.mem, 0xf0008, 8), 0xf0001);
    }
    if (outputs[_i].base == 0x181000) {
        ck_assert_uint_eq(mem_port_read(&f.lp.mem, 0x181000, 8), 0x200000 | 1 << 6 | 1 << 4 | 4);
        ck_assert_uint_eq(mem_port_read(&f.lp.mem, 0x181008, 8), 0x123);
        ck_assert_uint_eq(mem_port_read(&f.lp.mem, 0x181010, 8), 0x181001);
    }
    tear_down(&f);
}
END_TEST

/* IA32_RTIT_CTL is written last, wherever it stands, and at the address before the first
 * instruction. */
START_TEST(ctl_last)
{
    struct fixture f;

    set_up(&f, "msrs: {IA32_RTIT_CTL: [TraceEn, OS, BranchEn], IA32_LSTAR: target,\n"
               "       IA32_RTIT_CR3_MATCH: cr3_main}\n");
    ck_assert_msg(scenario_msrs_write(&f.s, &f.lp), "%s", f.mistake.text);
    ck_assert_uint_eq(f.lp.arch.lstar, 0x9000);
    ck_assert_uint_eq(f.lp.pt.cr3_match, 0x40000);
    ck_assert(ipt_packet_en(&f.lp.pt));
    tear_down(&f);
}
END_TEST

/* ---- mistakes ---- */

static const struct {
    const char *keys;
    const char *mistake;
} bad[] = {
    { "start: nowhere\n", "f:4:8: 'nowhere' is no label of the code and no symbol of the env" },
    { "regs: {eax: 3}\n", "f:4:8: unknown register 'eax', expected one of rax to r15" },
    { "regs: {rip: 3}\n", "f:4:8: unknown register 'rip', expected one of rax to r15" },
    { "regs: {rax: [1, 2]}\n", "f:4:8: 'rax' is a list, expected a value" },
    { "idt: {256: target}\n", "f:4:7: '256', expected a number from 0 to 255" },
    { "idt: {3: {dpl: 3}}\n", "f:4:10: the key 'at' is missing" },
    { "idt: {3: {at: target, type: gate}}\n",
      "f:4:29: 'gate', expected one of interrupt, trap, task" },
    { "idt: {3: {type: task, selector: 0}}\n", "f:4:17: IA-32e mode has no gates of type task" },
    { "idt: {3: {at: target, ist: 8}}\n", "f:4:28: '8', expected a number from 0 to 7" },
    { "mode: prot32\nidt: {3: {at: target, ist: 1}}\n", "f:5:28: only IA-32e mode has an IST" },
    { "mode: prot32\nidt: {3: {type: task}}\n", "f:5:10: the key 'selector' is missing" },
    { "ivt: {3: {at: target, dpl: 3}}\n", "f:4:10: an entry of the IVT is a label alone" },
    { "pages: [{linear: 0x123, phys: 0}]\n", "f:4:9: linear, phys and size must be multiples" },
    { "pages: [{linear: 0x1000}]\n", "f:4:9: the key 'phys' is missing" },
    { "pages: [{linear: 0x0000800000000000, phys: 0}]\n",
      "f:4:18: '0x0000800000000000' is not a l" },
    { "pages: [{linear: 0x1000, phys: 0, flags: [x]}]\n", "f:4:43: 'x', expected one of superv" },
    { "pages: [{linear: 0x1000, phys: 0, root: x}]\n",
      "f:4:41: 'x', expected main or one of roots" },
    { "mode: prot32\npages: [{linear: 0x1000, phys: 0, flags: nx}]\n",
      "f:5:9: 32-bit paging has " },
    { "mode: real16\npages: [{linear: 0x1000, phys: 0}]\n", "f:5:9: pages, but no paging in this" },
    { "pages: [{linear: 1G, phys: 0, size: 64M}, {linear: 2G, phys: 0, size: 64M}]\n",
      "f:4:43: no room left for page tables" },
    { "pages: [{linear: 0x8000, flags: absent}]\n",
      "f:3:7: the code has bytes at 0x8000, where there is no memory" },
    { "tasks: [{name: T, at: target}]\n", "f:4:9: IA-32e mode has no task switches" },
    { "gates: [{name: T, type: call}]\n", "f:4:9: the key 'at' is missing" },
    { "gates: [{name: T, type: task, selector: 8}]\n",
      "f:4:25: IA-32e mode has no gates of type t" },
    { "msrs: {IA32_RTIT_CTRL: 0}\n", "f:4:8: unknown MSR 'IA32_RTIT_CTRL', expected one of those" },
    { "msrs: {IA32_RTIT_CTL: [OS, Usr]}\n",
      "f:4:28: unknown bit 'Usr' of IA32_RTIT_CTL, expected " },
    { "msrs: {IA32_RTIT_CTL: Usr}\n", "f:4:23: unknown bit 'Usr' of IA32_RTIT_CTL, expected one " },
    { "msrs: {IA32_RTIT_CTL: [OS, PSBFreq]}\n",
      "f:4:28: PSBFreq of IA32_RTIT_CTL has 4 bits, exp" },
    { "msrs: {IA32_RTIT_CTL: [PSBFreq=16]}\n",
      "f:4:24: 0x10 does not fit in PSBFreq of IA32_RTIT" },
    { "msrs: {IA32_RTIT_CTL: [PSBFreq=x]}\n", "f:4:24: 'x' is neither a number nor a label" },
    { "msrs: {IA32_RTIT_CTL: [ADDR0_CFG=9]}\n",
      "f:4:8: writing 0x900000000 to IA32_RTIT_CTL is #GP" },
    { "cpu: nopt\nmsrs: {IA32_RTIT_CTL: [OS]}\n", "f:5:8: writing " },
    { "output: {}\n", "f:4:9: output is one of 'single' and 'topa'" },
    { "output: {single: {base: 0, size: 5000}}\n", "f:4:34: '5000', expected a power of two" },
    { "output: {topa: [{table: 0, entries: [{size: 4K}]}]}\n",
      "f:4:38: the key 'base' is missing" },
    { "output: {topa: [{table: 0, entries: [{base: 0, raw: 1}]}]}\n",
      "f:4:38: 'raw' stands alone" },
    { "output: {topa: [{table: 0, entries: [{base: 0, size: 5K}]}]}\n",
      "f:4:54: '5K', expected a p" },
    { "output: {topa: [{table: 0, entries: [{base: 0, flags: int}]}]}\n",
      "f:4:55: 'int', expected " },
};

START_TEST(mistakes)
{
    struct fixture f;

    read_scenario(&f, bad[_i].keys);
    f.mistake.text[0] = '\0';
    ck_assert(!environment_build(&f.s, &code, &f.lp) || !scenario_msrs_write(&f.s, &f.lp));
    ck_assert_msg(!strncmp(f.mistake.text, bad[_i].mistake, strlen(bad[_i].mistake)),
                  "%s\nexpected %s", f.mistake.text, bad[_i].mistake);
    tear_down(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("environment");
    TCase *tcase = tcase_create("environment");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, start_state, 0, TEST_COUNT(modes));
    tcase_add_loop_test(tcase, data_selectors, 0, TEST_COUNT(modes));
    tcase_add_loop_test(tcase, delivery, 0, TEST_COUNT(modes));
    tcase_add_test(tcase, handler_keys);
    tcase_add_loop_test(tcase, call_gates, 0, 3);
    tcase_add_test(tcase, tasks);
    tcase_add_test(tcase, pages);
    tcase_add_test(tcase, registers);
    tcase_add_loop_test(tcase, msrs_and_output, 0, TEST_COUNT(outputs));
    tcase_add_test(tcase, ctl_last);
    tcase_add_loop_test(tcase, mistakes, 0, TEST_COUNT(bad));
    return suite_run(suite);
}
