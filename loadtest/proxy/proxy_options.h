/*
 * The command line of the fault proxy.
 */
#ifndef LOADTEST_PROXY_OPTIONS_H
#define LOADTEST_PROXY_OPTIONS_H

#include <stdio.h>

#include "proxy_links.h"

struct proxy_options {
    struct proxy_link_plan links[PROXY_LINKS_MAX];
    size_t link_count;
    const char *control;  /* path; NULL: no control socket */
    const char *log;      /* file; NULL: no history */
    const char *schedule; /* file; NULL: faults by hand alone */
    uint64_t seed;
    bool is_help, is_version;
};

/*
 * Understand the words of argv; host names are looked up.
 *
 * Owns     the strings are borrowed from argv.
 * Returns  false   a word that cannot be used; `failure` names flag and value.
 */
bool proxy_options_parse(int argc, char **argv, struct proxy_options *out_options,
                         struct failure *failure);

void proxy_options_help(FILE *to);

#endif
