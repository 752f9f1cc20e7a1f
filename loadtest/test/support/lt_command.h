/*
 * A command line from text, words with blanks between; and what becomes of programs that get one. All of
 * it asserts: main thread only.
 */
#ifndef LOADTEST_TEST_LT_COMMAND_H
#define LOADTEST_TEST_LT_COMMAND_H

#include "lt_sandbox.h"

enum { LT_COMMAND_TEXT = 4096, LT_COMMAND_FILES = 16 };

struct lt_command {
    int argc;
    union {
        char *words[LT_WORDS_MAX + 1]; /* as main() has them */
        const char *argv[LT_WORDS_MAX + 1];
    };
    char text[LT_COMMAND_TEXT];
    char files[LT_COMMAND_FILES][LT_PATH_MAX + 64];
};

/* Takes printf's format; "@NAME" is a file of the place. Words for which there is no room fail the test. */
void lt_command_make(struct lt_command *out, const struct lt_sandbox *sandbox, const char *format,
                     ...) __attribute__((format(printf, 3, 4)));

/* Run a built program, the line's first word, to its end: within two minutes. */
const struct lt_outcome *lt_try(const struct lt_sandbox *sandbox, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* ... which must be of that status: what it said. Else that is printed, and the test has failed. */
const char *lt_must(const struct lt_sandbox *sandbox, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Start a redis-server that listens on that port, with a certificate of the place and what it wants of clients (NULL: no TLS). */
bool lt_start_redis(struct process *out, const struct lt_sandbox *sandbox, int port,
                    const char *certificate, const char *clients);

/* Words that come where a line has its %s, and what becomes of it. */
struct lt_case {
    const char *words;
    int status;
    const char *says;
};

/* Each of them, as lt_must(); it says that. The last row has no words. */
void lt_must_all(const struct lt_sandbox *sandbox, const char *program, const struct lt_case *rows);

#endif
