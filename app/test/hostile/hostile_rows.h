/*
 * What hostile clients send, and what is the answer to it: the tables of hostile_itest.c.
 */
#ifndef SECKILL_HOSTILE_ROWS_H
#define SECKILL_HOSTILE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/* Where a row knocks. */
enum hostile_door {
    DOOR_LAB,    /* the buyers' port of a service with --lab: X-User-Id names a buyer */
    DOOR_TOKENS, /* of one without */
    DOOR_ADMIN,  /* the operators' port of one without */
    DOOR_COUNT
};

#define HOSTILE_KEY      "the first key has thirty-two bytes"
#define HOSTILE_OLD_KEY  "the key before has enough of them too"
#define HOSTILE_OPERATOR "an-operator-token-of-the-hostile-table"

struct hostile_attempt {
    enum hostile_door door;
    bool is_alone;   /* nothing may follow: the row itself is not whole */
    bool says_field; /* `expected` names the field of a problem */
    bool is_framing; /* a row about where a request ends: of interest behind a proxy */
    size_t len;
    char *bytes; /* owned: free() */
    char name[96];
    /*
     * "STATUS PROBLEM, END": every answer but that to what follows, and then "close" or "open".
     * Several, with "|" between them, where HTTP leaves the choice.
     */
    const char *expected;
};

/* The attempt of row `index` into *out; false past the end. */
bool hostile_attempt_at(size_t index, struct hostile_attempt *out);

/* The result is yours (free): a token for that buyer, good for years. */
char *hostile_token(const char *buyer);

#endif
