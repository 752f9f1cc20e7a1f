/*
 * The fault proxy under test: start it, tell it a verb, ask it for a count.
 */
#ifndef LOADTEST_ITEST_LT_PROXY_H
#define LOADTEST_ITEST_LT_PROXY_H

#include "lt_sandbox.h"

enum { LT_ANSWER_MAX = 16384, LT_PROXY_LINKS_MAX = 2 };

struct lt_proxy {
    struct process process;
    char control[LT_PATH_MAX + 32];
    char history[LT_PATH_MAX + 32];
    int ports[LT_PROXY_LINKS_MAX]; /* of link1, link2 on 127.0.0.1 */
};

/* Start `proxy` with a control socket and a history in the folder, a link per address of `to` (a
 * list that ends with NULL; NULL: none), and `extra` words (the same). Waits until it is ready. */
bool lt_proxy_start(const struct lt_sandbox *sandbox, const char *const to[],
                    const char *const extra[], struct lt_proxy *out_proxy);

/* SIGTERM; false when it does not end, or not with status 0. */
bool lt_proxy_stop(struct lt_proxy *proxy);

/* Send a line to the control socket; false when there is no answer, or not "ok" or a status. */
bool lt_proxy_command(const struct lt_proxy *proxy, const char *line);

/* The same, whatever the answer: it goes to `answer`. */
bool lt_proxy_ask(const struct lt_proxy *proxy, const char *line, char answer[LT_ANSWER_MAX]);

/* A number of link1's status; -1: no such number. */
int64_t lt_proxy_count(const struct lt_proxy *proxy, const char *name);

/* A line of the history that contains all of `words` (ends with NULL). */
bool lt_proxy_has_logged(const struct lt_proxy *proxy, const char *const words[]);

#endif
