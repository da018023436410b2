/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a scenario file, up to where its code would be assembled, and as a golden file: each
 * is taken, or refused with one line. */
#include <stdlib.h>
#include <string.h>

#include "../../sim/environment.h"
#include "../../sim/golden.h"
#include "../../sim/memory.h"
#include "../../sim/scenario_msrs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

static void require_one_line(const struct mistake *mistake)
{
    REQUIRE(!strncmp(mistake->text, "f:", 2));
    REQUIRE(!strchr(mistake->text, '\n'));
    REQUIRE(strlen(mistake->text) > 4);
}

/* Builds what the scenario asks for, with a byte of code. */
static void try_build(struct scenario *scenario)
{
    uint8_t byte = 0x90;
    struct asm_piece piece = { SCN_ORIGIN, 1, &byte };
    const struct assembly code = { .piece = &piece, .pieces = 1 };
    struct memory *memory = memory_new(scenario->memory);
    struct mem_port port;
    struct lp lp;

    REQUIRE(memory);
    port = memory_port(memory);
    lp_init(&lp, scenario->cpu, &port);
    scenario->mistake->text[0] = '\0';
    if (!environment_build(scenario, &code, &lp) || !scenario_msrs_write(scenario, &lp))
        require_one_line(scenario->mistake);
    memory_free(memory);
}

static void try_scenario(const char *text, size_t size)
{
    struct mistake mistake = { .text = "" };
    struct scenario scenario;

    if (!scenario_parse(&scenario, "f", text, size, &mistake)) {
        require_one_line(&mistake);
        return;
    }
    try_build(&scenario);
    scenario_free(&scenario);
}

static void try_golden(const char *text, size_t size)
{
    struct mistake mistake = { .text = "" };
    struct golden golden;

    if (golden_parse(&golden, "f", text, size, &mistake))
        golden_free(&golden);
    else
        require_one_line(&mistake);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_scenario((const char *)data, size);
    try_golden((const char *)data, size);
    return 0;
}
