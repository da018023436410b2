/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subcommands of ptsim, and the two ways in which all of them talk to their user. */
#ifndef PTSIM_SIM_CMD_H
#define PTSIM_SIM_CMD_H

/* Exit statuses of ptsim. ptsim record passes its program's own through instead of CMD_OK. */
enum cmd_status {
    CMD_OK = 0,
    CMD_DIFFERS = 1, /* a golden file differs */
    CMD_USAGE = 2,   /* the user's mistake, in a command line or a file */
    CMD_GUEST = 3,   /* the guest could not go on */
};

/* Each gets the command line from its own name on, and returns ptsim's exit status. */
#define COMMAND(name, arguments, summary, options) int cmd_##name(int argc, char **argv);
#include "commands.def"
#undef COMMAND

/* Prints the help of the subcommand NAME on stdout; returns CMD_OK. */
int cmd_help(const char *name);

/* Prints "ptsim: " and the message on stderr as one line. Returns STATUS, so that a caller can end
 * with `return cmd_error(...)`. */
__attribute__((format(printf, 2, 3))) int cmd_error(int status, const char *format, ...);

/* What a command with the command line ARGV does where getopt() answers '?': getopt() itself says
 * nothing. */
int cmd_bad_option(char **argv);

#endif
