/*
 * Answers of the service read by a strict reader: what a lenient one would forgive is an error here,
 * for whoever attacks a service lives on what two readers understand differently.
 */
#ifndef SECKILL_HOSTILE_HTTP_H
#define SECKILL_HOSTILE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

enum { HOSTILE_NAME_SIZE = 72, HOSTILE_WHY_SIZE = 160 };

/* One answer. Strings are "" where it does not say. */
struct hostile_answer {
    int status;
    bool closes;                        /* Connection: close */
    char problem[HOSTILE_NAME_SIZE];    /* the name in its type */
    char field[HOSTILE_NAME_SIZE];      /* a member of the problem */
    char request_id[HOSTILE_NAME_SIZE]; /* X-Request-Id */
    char buyer[HOSTILE_NAME_SIZE];      /* a member of the body, as are the next two */
    char id[HOSTILE_NAME_SIZE];
    char order_id[HOSTILE_NAME_SIZE];
};

/*
 * Read the first answer in `bytes`: status line, headers (only those that we know, each once, those
 * that keep a browser safe among them), and exactly the body that they announce. A problem's body
 * parses and says the same as the head. An event stream, and a body that HTTP/1.0 ends by closing,
 * take all that is there.
 *
 * Units    is_head: the body was not asked for.
 * Returns  its length; 0: it is not whole yet; -1: it is wrong, and `why` says how.
 */
long hostile_read_answer(const char *bytes, size_t len, bool is_head, struct hostile_answer *out,
                         char why[HOSTILE_WHY_SIZE]);

#endif
