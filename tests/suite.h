/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of every test's main(). */
#ifndef PTSIM_TESTS_SUITE_H
#define PTSIM_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

#define TEST_COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* Runs SUITE and frees it; returns what main() returns. */
static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
