/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code_pages.h"

#include <stdlib.h>

#define PAGE_OF(address) ((address) & ~UINT64_C(0xfff))

struct take {
    struct code_pages *pages;
    const struct scenario *s;
    const struct lp *lp;
};

static bool has_page(const struct code_pages *pages, uint64_t linear)
{
    for (size_t i = 0; i < pages->count; i++)
        if (pages->page[i].linear == linear)
            return true;
    return false;
}

static bool add_page(const struct take *take, uint64_t linear, uint64_t phys)
{
    struct code_pages *pages = take->pages;
    struct code_page *grown;

    if (has_page(pages, linear))
        return true;
    grown = realloc(pages->page, (pages->count + 1) * sizeof(pages->page[0]));
    if (!grown)
        return false;
    pages->page = grown;
    pages->page[pages->count].linear = linear;
    pages->page[pages->count].phys = phys;
    take->lp->mem.read(take->lp->mem.ctx, phys, pages->page[pages->count].bytes, 4096);
    pages->count++;
    return true;
}

/* Adds the page at LINEAR, if something is mapped there in ROOT. */
static bool add_linear(const struct take *take, uint64_t root, uint64_t linear)
{
    uint64_t phys;

    return !environment_find(take->s, take->lp, root, linear, &phys) ||
           add_page(take, linear, phys);
}

static bool add_piece(const struct take *take, const struct asm_piece *piece)
{
    uint64_t first = PAGE_OF(piece->address);
    uint64_t last = PAGE_OF(piece->address + piece->size - 1);

    for (uint64_t i = 0; i <= last - first; i += 4096)
        if (!add_linear(take, SCN_ROOT(0), first + i))
            return false;
    return true;
}

/* Whether one of the first COUNT pages is the one at PHYS. */
static bool is_code(const struct code_pages *pages, size_t count, uint64_t phys)
{
    for (size_t i = 0; i < count; i++)
        if (pages->page[i].phys == phys)
            return true;
    return false;
}

/* The pages that PAGES maps, where they are among the first COUNT. */
static bool add_mapped(const struct take *take, const struct scn_pages *mapped, size_t count)
{
    const struct scenario *s = take->s;
    uint64_t linear, size, only, phys;

    if (!scn_value(s, &mapped->linear, 0, &linear) ||
        !scn_number(s, &mapped->size, 4096, 4096, UINT64_MAX, &size) ||
        !scn_root(s, &mapped->root, 0, &only))
        return false;
    for (unsigned i = 0; i <= s->file->roots_count; i++)
        for (uint64_t at = 0; at < size && (!only || only == SCN_ROOT(i)); at += 4096)
            if (environment_find(s, take->lp, SCN_ROOT(i), linear + at, &phys) &&
                is_code(take->pages, count, phys) && !add_page(take, linear + at, phys))
                return false;
    return true;
}

bool code_pages_take(struct code_pages *pages, const struct scenario *scenario,
                     const struct assembly *code, const struct lp *lp)
{
    const struct take take = { pages, scenario, lp };
    bool fine = true;
    size_t count;

    *pages = (struct code_pages){ .page = NULL };
    for (size_t i = 0; fine && i < code->pieces; i++)
        fine = add_piece(&take, &code->piece[i]);
    count = pages->count;
    for (size_t i = 0; fine && i < count; i++)
        fine = add_linear(&take, SCN_ROOT(0), pages->page[i].phys);
    for (unsigned i = 0; fine && i < scenario->file->pages_count; i++)
        fine = add_mapped(&take, &scenario->file->pages[i], count);
    if (!fine)
        code_pages_free(pages);
    return fine;
}

void code_pages_free(struct code_pages *pages)
{
    free(pages->page);
    *pages = (struct code_pages){ .page = NULL };
}
