/*
 * The command line.
 */
#ifndef LOCKCTL_ARGUMENTS_H
#define LOCKCTL_ARGUMENTS_H

#include <stdio.h>

#include "ctl.h"

struct arguments_command; /* a row of the table */

/* What the words ask for. */
struct arguments {
    const struct arguments_command *command; /* NULL: none was named */
    struct ctl_request request;
    bool is_help, is_version;
};

/*
 * Read the words behind the program's name.
 *
 * Shape    servers: what LOCKCTL_REDIS says, URLs with blanks between them; NULL: nothing. It is
 *          cut into pieces, and must live as long as *out, as argv must.
 * Returns  CTL_OK, or CTL_USAGE after its complaint.
 */
int arguments_parse(int argc, char **argv, char *servers, struct arguments *out);

/* Help for one command; NULL: for all of them. */
void arguments_print_help(FILE *to, const struct arguments_command *command);

int arguments_run(const struct arguments *arguments);

#endif
