/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"

static const struct command {
    const char *name;
    const char *arguments;
    const char *summary;
    const char *options;
    int (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND(name, arguments, summary, options)                                                 \
    { #name, arguments, summary, options, cmd_##name },
#include "commands.def"
#undef COMMAND
    { .name = NULL },
};

static const struct command *command_find(const char *name)
{
    for (const struct command *c = commands; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

int cmd_help(const char *name)
{
    const struct command *command = command_find(name);

    printf("Usage: ptsim %s %s\n\nptsim %s: %s.\n\nOptions:\n%s"
           "  -h, --help                    this help\n",
           name, command->arguments, name, command->summary, command->options);
    return CMD_OK;
}

static int help(void)
{
    fputs("Usage: ptsim COMMAND [ARGUMENT...]\n\n"
          "Runs x86 code and shows what the tracing hardware of an Intel core makes of it.\n\n"
          "Commands:\n",
          stdout);
    for (const struct command *c = commands; c->name; c++)
        printf("  %-8s %s\n", c->name, c->summary);
    fputs(
        "\n'ptsim COMMAND --help' tells more.\n"
        "Exit status: 0 fine, 1 a golden file differs, 2 a mistake in the command line or a file,\n"
        "3 the guest could not go on.\n",
        stdout);
    return CMD_OK;
}

static bool is(const char *arg, const char *word, const char *letter)
{
    return arg && (!strcmp(arg, word) || !strcmp(arg, letter));
}

int main(int argc, char **argv)
{
    const struct command *command;

    if (argc < 2)
        return cmd_error(CMD_USAGE, "no command given; see 'ptsim --help'");
    if (is(argv[1], "--help", "-h"))
        return help();
    if (is(argv[1], "--version", "-V")) {
        puts(PACKAGE_STRING);
        return CMD_OK;
    }
    command = command_find(argv[1]);
    if (!command)
        return cmd_error(CMD_USAGE, "no command '%s'; see 'ptsim --help'", argv[1]);
    opterr = 0;
    if (is(argv[2], "--help", "-h"))
        return cmd_help(command->name);
    return command->run(argc - 1, argv + 1);
}
