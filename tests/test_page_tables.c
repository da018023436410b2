/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables are walked by models/arch, as the processor walks them. */
#include "../sim/page_tables.h"

#include "../models/arch/paging.h"
#include "../sim/memory.h"
#include "suite.h"

#define ROOT 0x10000

static const struct arch_limits limits = { .maxphyaddr = 52, .linear_width = 48 };

static const struct {
    enum page_format format;
    uint64_t cr4;
    uint64_t efer;
    uint64_t linear;
    uint64_t last; /* the highest page of the format */
} formats[] = {
    { PAGES_32BIT, 0, 0, 0x00c03000, 0xfffff000 },
    { PAGES_PAE, CR4_PAE, EFER_NXE, 0x80203000, 0xfffff000 },
    { PAGES_4LEVEL, CR4_PAE, EFER_LME | EFER_LMA | EFER_NXE, 0x00007f0080203000,
      0xfffffffffffff000 },
};

static const struct {
    uint64_t flags;
    bool user, write, execute;
} rights[] = {
    { PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER, true, true, true },
    { PAGE_PRESENT | PAGE_USER, true, false, true },
    { PAGE_PRESENT | PAGE_WRITABLE, false, true, true },
    { PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER | PAGE_NX, true, true, false },
};

static struct page_tables tables_in(struct memory *memory, enum page_format format)
{
    return (struct page_tables){
        .mem = memory_port(memory), .format = format, .next = 0x11000, .end = 0x20000
    };
}

static struct arch_state state_for(int format, const struct page_tables *tables)
{
    struct arch_state state;

    arch_setup(&state, ARCH_MODE_PROT32, 0);
    state.cr0 |= CR0_PG | CR0_WP;
    state.cr3 = ROOT;
    state.cr4 = formats[format].cr4;
    state.efer = formats[format].efer;
    if (tables->format == PAGES_PAE)
        ck_assert(!arch_load_pdptes(&state, &limits, &tables->mem, ROOT).raised);
    return state;
}

START_TEST(the_processor_finds_pages)
{
    struct memory *memory = memory_new(1 << 20);
    struct page_tables tables = tables_in(memory, formats[_i].format);
    const uint64_t linear[] = { 0, formats[_i].linear, formats[_i].last };
    struct arch_state state;
    uint64_t phys;

    for (unsigned i = 0; i < 3; i++)
        ck_assert(page_tables_map(&tables, ROOT, linear[i], 0x40000 + i * 0x1000,
                                  PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER));
    state = state_for(_i, &tables);
    for (unsigned i = 0; i < 3; i++) {
        struct arch_translation out;

        ck_assert(
            !arch_translate(&state, &limits, &tables.mem, linear[i] + 0x123, ARCH_WRITE, 3, &out)
                 .raised);
        ck_assert_uint_eq(out.phys, 0x40123 + i * 0x1000);
        ck_assert(page_tables_find(&tables, ROOT, linear[i] + 0x123, &phys));
        ck_assert_uint_eq(phys, out.phys);
    }
    ck_assert(!page_tables_find(&tables, ROOT, formats[_i].linear + 0x1000, &phys));
    ck_assert(page_tables_map(&tables, ROOT, 0, 0, 0));
    ck_assert(!page_tables_find(&tables, ROOT, 0, &phys));
    memory_free(memory);
}
END_TEST

START_TEST(rights_are_the_pages_own)
{
    struct memory *memory = memory_new(1 << 20);

    for (int i = 0; i < TEST_COUNT(rights); i++) {
        struct page_tables tables = tables_in(memory, formats[_i].format);
        struct arch_state state;
        struct arch_translation out;

        if (formats[_i].format == PAGES_32BIT && !rights[i].execute)
            continue;
        ck_assert(page_tables_map(&tables, ROOT, formats[_i].linear, 0x40000, rights[i].flags));
        state = state_for(_i, &tables);
        ck_assert(
            !arch_translate(&state, &limits, &tables.mem, formats[_i].linear, ARCH_READ, 0, &out)
                 .raised);
        ck_assert_int_eq(out.user, rights[i].user);
        ck_assert_int_eq(out.execute, rights[i].execute);
        ck_assert_int_eq(
            arch_translate(&state, &limits, &tables.mem, formats[_i].linear, ARCH_WRITE, 0, &out)
                .raised,
            !rights[i].write);
    }
    memory_free(memory);
}
END_TEST

START_TEST(frames_run_out)
{
    struct memory *memory = memory_new(1 << 20);
    struct page_tables tables = tables_in(memory, formats[_i].format);

    tables.end = tables.next;
    ck_assert(!page_tables_map(&tables, ROOT, 0, 0x40000, PAGE_PRESENT));
    memory_free(memory);
}
END_TEST

START_TEST(addresses_of_a_format)
{
    ck_assert(page_format_has(PAGES_4LEVEL, 0xffff800000000000));
    ck_assert(!page_format_has(PAGES_4LEVEL, 0x0000800000000000));
    ck_assert(page_format_has(PAGES_PAE, 0xffffffff));
    ck_assert(!page_format_has(PAGES_32BIT, 0x100000000));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("page_tables");
    TCase *tcase = tcase_create("page_tables");

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, the_processor_finds_pages, 0, TEST_COUNT(formats));
    tcase_add_loop_test(tcase, rights_are_the_pages_own, 0, TEST_COUNT(formats));
    tcase_add_loop_test(tcase, frames_run_out, 0, TEST_COUNT(formats));
    tcase_add_test(tcase, addresses_of_a_format);
    return suite_run(suite);
}
