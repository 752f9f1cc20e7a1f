/*
 * lockctl: locks for people and scripts. arguments.c reads the words; each command has a file:
 * run.c holds a lock while a command runs, inspect.c, list.c and break.c look after locks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit/lockkit.h"

#include "arguments.h"
#include "command.h"
#include "common/std_streams.h"

int main(int argc, char **argv)
{
    struct arguments arguments;
    char *servers = secure_getenv("LOCKCTL_REDIS"); /* NOLINT(concurrency-mt-unsafe): no threads */
    char *own = NULL;

    std_streams_open();
    command_become(argc, argv); /* returns, unless this is the start of a command */
    if (servers) own = strdup(servers);
    if (servers && !own) return CTL_SYSTEM;
    int status = arguments_parse(argc, argv, own, &arguments);
    if (status == CTL_OK && arguments.is_help) {
        arguments_print_help(stdout, arguments.command);
    } else if (status == CTL_OK && arguments.is_version) {
        (void)printf("lockctl %s\n", LK_VERSION);
    } else if (status == CTL_OK && !arguments.command) {
        arguments_print_help(stderr, NULL);
        status = CTL_USAGE;
    } else if (status == CTL_OK) {
        status = arguments_run(&arguments);
    }
    free(own);
    return status;
}
