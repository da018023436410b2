/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../models/bits.h"
#include "../sim/assemble.h"

enum {
    TSS_SELECTOR = 0x50,
    TSS_SIZE = 0x68,
};

static void put(struct guest *guest, uint64_t phys, uint64_t value, size_t size)
{
    struct mem_port mem = memory_port(machine_memory(guest->machine));

    mem_port_write(&mem, phys, value, size);
}

/* Flat descriptors where ARCH_FLAT_CODE() and ARCH_FLAT_DATA() look for them, and a TSS. */
static void make_gdt(struct guest *guest, enum arch_mode mode)
{
    struct arch_state *state = &guest->lp->arch;

    for (uint8_t cpl = 0; cpl < 4; cpl++) {
        struct arch_state flat;

        arch_setup(&flat, mode, cpl);
        put(guest, GUEST_GDT + (ARCH_FLAT_CODE(cpl) & ~7u), arch_seg_encode(&flat.sreg[ARCH_CS]),
            8);
        put(guest, GUEST_GDT + (ARCH_FLAT_DATA(cpl) & ~7u), arch_seg_encode(&flat.sreg[ARCH_DS]),
            8);
    }
    state->gdtr = (struct arch_table){ .base = GUEST_GDT, .limit = 0x7f };
    state->tr = (struct arch_seg){ .selector = TSS_SELECTOR,
                                   .ar = ARCH_AR_P | ARCH_TYPE_TSS32_BUSY,
                                   .limit = TSS_SIZE - 1,
                                   .base = GUEST_TSS };
    put(guest, GUEST_GDT + TSS_SELECTOR, arch_seg_encode(&state->tr), 8);
    if (arch_long_mode(state)) {
        put(guest, GUEST_TSS + 4, GUEST_STACK0, 8);
    } else {
        put(guest, GUEST_TSS + 4, GUEST_STACK0, 4);
        put(guest, GUEST_TSS + 8, ARCH_FLAT_DATA(0), 2);
    }
}

/* 4-KByte pages for the first 2 MBytes and one of 2 MBytes for the second. */
static void make_page_tables(struct guest *guest)
{
    enum {
        P_RW_US = 7,
        PS = 0x80
    };

    put(guest, GUEST_PML4, (GUEST_PML4 + 0x1000) | P_RW_US, 8);
    put(guest, GUEST_PML4 + 0x1000, (GUEST_PML4 + 0x2000) | P_RW_US, 8);
    put(guest, GUEST_PML4 + 0x2000, GUEST_PT | P_RW_US, 8);
    put(guest, GUEST_PML4 + 0x2008, 0x200000 | PS | P_RW_US, 8);
    for (unsigned i = 0; i < 512; i++)
        put(guest, GUEST_PT + i * 8u, i * 0x1000u | P_RW_US, 8);
    guest->lp->arch.cr3 = GUEST_PML4;
}

static void make_gate(struct guest *guest, unsigned vector, uint64_t handler)
{
    const struct arch_state *state = &guest->lp->arch;
    uint64_t present_dpl3_gate32 = UINT64_C(0xee00) << 32; /* an interrupt gate */
    uint64_t low = bits_get(handler, 15, 0) | (uint64_t)ARCH_FLAT_CODE(0) << 16 |
                   present_dpl3_gate32 | bits_get(handler, 31, 16) << 48;

    if (arch_real_mode(state)) {
        put(guest, vector * 4u, handler, 4);
    } else if (arch_long_mode(state)) {
        put(guest, GUEST_IDT + vector * 16u, low, 8);
        put(guest, GUEST_IDT + vector * 16u + 8, handler >> 32, 8);
    } else {
        put(guest, GUEST_IDT + vector * 8u, low, 8);
    }
}

static void make_idt(struct guest *guest)
{
    bool real = arch_real_mode(&guest->lp->arch);

    guest->lp->arch.idtr =
        (struct arch_table){ .base = real ? 0 : GUEST_IDT, .limit = real ? 0x3ff : 0xfff };
    for (size_t i = 0; i < guest->symbols.count; i++) {
        const struct symbol *symbol = &guest->symbols.symbol[i];
        unsigned vector;

        if (sscanf(symbol->name, "vec_%u", &vector) == 1)
            make_gate(guest, vector, symbol->value);
    }
}

static void load_program(struct guest *guest, unsigned bits, const char *text)
{
    struct mem_port mem = memory_port(machine_memory(guest->machine));
    char labelled[GUEST_TEXT];
    struct asm_source source = {
        .path = "guest", .text = labelled, .bits = bits, .origin = GUEST_CODE
    };
    struct assembly assembly;
    struct mistake mistake;

    snprintf(labelled, sizeof(labelled), "start:\n%s", text);
    if (!assemble(&source, &guest->symbols, &assembly, &mistake))
        ck_abort_msg("%s", mistake.text);
    for (size_t i = 0; i < assembly.pieces; i++)
        mem.write(mem.ctx, assembly.piece[i].address, assembly.piece[i].bytes,
                  assembly.piece[i].size);
    assembly_free(&assembly);
}

void guest_start(struct guest *guest, const char *profile, enum arch_mode mode, uint8_t cpl,
                 const char *text)
{
    memset(guest, 0, sizeof(*guest));
    guest->machine = machine_new(cpu_profile_find(profile), GUEST_MEMORY);
    ck_assert_ptr_nonnull(guest->machine);
    guest->lp = machine_lp(guest->machine);
    arch_setup(&guest->lp->arch, mode, cpl);
    load_program(guest, arch_code_bits(&guest->lp->arch), text);
    if (mode != ARCH_MODE_REAL)
        make_gdt(guest, mode);
    if (arch_long_mode(&guest->lp->arch))
        make_page_tables(guest);
    make_idt(guest);
    guest->lp->arch.rip = GUEST_CODE;
    guest->lp->arch.gpr[ARCH_RSP] = GUEST_STACK;
}

void guest_end(struct guest *guest)
{
    machine_free(guest->machine);
    symbols_free(&guest->symbols);
}

uint64_t guest_label(const struct guest *guest, const char *name)
{
    const struct symbol *symbol = symbols_find(&guest->symbols, name, strlen(name));

    ck_assert_msg(symbol, "no label %s", name);
    return symbol->value;
}

enum machine_end guest_run(struct guest *guest)
{
    return machine_run(guest->machine, 10000);
}

/*
 * What happened
 */

static __attribute__((format(printf, 3, 4))) void add(char *to, size_t size, const char *format,
                                                      ...)
{
    size_t length = strlen(to);
    va_list args;

    va_start(args, format);
    vsnprintf(to + length, size - length, format, args);
    va_end(args);
}

#define ADD(member, ...) add(guest->member, sizeof(guest->member), __VA_ARGS__)

static const char *name_of(const struct guest *guest, uint64_t address, char buffer[80])
{
    const struct symbol *near = symbols_near(&guest->symbols, SYMBOL_LABEL, address, 0x1000);

    /* the program's own label for its beginning, if it has one */
    for (size_t i = 0; i < guest->symbols.count; i++)
        if (guest->symbols.symbol[i].value == address &&
            guest->symbols.symbol[i].kind == SYMBOL_LABEL)
            near = &guest->symbols.symbol[i];
    if (!near)
        snprintf(buffer, 80, "%#" PRIx64, address);
    else if (near->value == address)
        snprintf(buffer, 80, "%s", near->name);
    else
        snprintf(buffer, 80, "%s+%" PRIu64, near->name, address - near->value);
    return buffer;
}

static void on_event(void *ctx, uint64_t n, const struct ptsim_event *event)
{
    struct guest *guest = ctx;
    char from[80], to[80];

    guest->cycles += event->cycles;
    guest->insns += event->insns;
    if (event->kind == EV_TIME || event->kind == EV_CLOCK_STOP)
        return;
    ADD(events, "%" PRIu64 " %s", n, ev_kind_name(event->kind));
    if (event->kind == EV_COND_BRANCH)
        ADD(events, " %s", event->taken ? "taken" : "not_taken");
    if (event->kind >= EV_SW_INTERRUPT && event->kind <= EV_NMI)
        ADD(events, " %u", event->vector);
    ADD(events, " %s", name_of(guest, event->from_ip, from));
    ADD(events, " %s\n", name_of(guest, event->to_ip, to));
}

static void on_packet_en(void *ctx, uint64_t n, bool packet_en)
{
    struct guest *guest = ctx;

    ADD(packet_en, "%s%" PRIu64, packet_en ? "+" : "-", n);
}

static void on_truth(void *ctx, const uint64_t *ip, size_t n)
{
    struct guest *guest = ctx;
    char name[80];

    for (size_t i = 0; i < n; i++)
        ADD(truth, "%s%s", guest->truth[0] ? " " : "", name_of(guest, ip[i], name));
}

void guest_watch(struct guest *guest)
{
    machine_watch(guest->machine, &(struct machine_watch){ .ctx = guest,
                                                           .event = on_event,
                                                           .packet_en = on_packet_en,
                                                           .truth = on_truth });
}
