/*
 * A client as an article prints it, as data: commands, a line each, and what their answers must be.
 */
#ifndef SECKILL_LAB_LINES_H
#define SECKILL_LAB_LINES_H

#include <stdbool.h>

struct stage_actor;

/*
 * A command's words stand between blanks. In each of them these are replaced: $me (the actor), $buyer, $order (its number),
 * $got (the answer of the line before), $compare_and_delete (a script: KEYS[1] the lock, ARGV[1] the token). SQL is one
 * statement, as it stands. An answer that does not fit `wanted` ends the actor: its buyer is told `told`.
 */
struct stage_line {
    const char *text;   /* NULL: behind the last */
    const char *wanted; /* a pattern, fnmatch(3); NULL: any answer fits */
    const char *told;
    bool is_sql;     /* for the database beside */
    bool is_wait;    /* whose answer does not fit waits for the key, the second word, for ever */
    bool is_finally; /* said also after a line that has ended the actor */
};

/* Rows: any answer fits; the answer must be this, else its buyer is told that; the end. */
#define SAY(line)                                                                                  \
    {                                                                                              \
        .text = (line)                                                                             \
    }
#define ASK(line, answer, or_else)                                                                 \
    {                                                                                              \
        .text = (line), .wanted = (answer), .told = (or_else)                                      \
    }
#define END                                                                                        \
    {                                                                                              \
        .text = NULL                                                                               \
    }

/* A body: it says cast.lines, in their order, and tells its buyer "created", unless one has ended it. */
void stage_say(struct stage_actor *self);

/* Of a cast. */
#define SAYS(list) .body = stage_say, .lines = (list)

#endif
