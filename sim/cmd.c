/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>

int cmd_error(int status, const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fputs("ptsim: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

int cmd_bad_option(char **argv)
{
    char letter[3] = { '-', (char)optopt, '\0' };

    return cmd_error(CMD_USAGE, "%s: unknown option or missing value; see 'ptsim %s --help'",
                     optopt ? letter : argv[optind - 1], argv[0]);
}
