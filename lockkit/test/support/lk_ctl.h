/*
 * Programs, mostly lockctl, for their tests: start one, hear what it says, wait for its end.
 */
#ifndef LK_CTL_H
#define LK_CTL_H

#include "lk_support.h"

enum { LKC_TEXT_MAX = 16384 };

/* One that was started. */
struct lkc_program {
    pid_t pid;
    int64_t limit_ms; /* of lkc_finish() [20 s] */
    int out_fd, err_fd;
    char out_path[32], err_path[32];           /* until its end */
    char out[LKC_TEXT_MAX], err[LKC_TEXT_MAX]; /* read at its end */
};

/* A program of the build, with its arguments up to NULL. */
void lkc_start_program(struct lkc_program *program, const char *name, const char *const *words);

/* Arguments of lockctl, up to NULL; LOCKCTL_REDIS is the server's URL, or `url` when not NULL. */
void lkc_start(struct lkc_program *program, struct lks_server *server, const char *url,
               const char *const *words);
#define LKC_START(program, server, ...)                                                            \
    lkc_start((program), (server), NULL, (const char *const[]){__VA_ARGS__, NULL})

/* Wait for its end: its exit status; -n when signal n ended it. Fails the test after limit_ms. */
int lkc_finish(struct lkc_program *program);

/* Both; the program is the last one of lkc_said() and lkc_output(). */
int lkc_do(struct lks_server *server, const char *url, const char *const *words);
#define LKC_DO(server, ...) lkc_do((server), NULL, (const char *const[]){__VA_ARGS__, NULL})
#define LKC_DO_AT(server, url, ...)                                                                \
    lkc_do((server), (url), (const char *const[]){__VA_ARGS__, NULL})
const char *lkc_said(void);   /* on stderr */
const char *lkc_output(void); /* on stdout */

/* The path of the program; that of a file in the server's folder (lives as lks_key() says). */
const char *lkc_path(void);
const char *lkc_file(const struct lks_server *server, const char *name);

/* The text of a file; "" when it is not there. Borrowed until the next call. */
const char *lkc_read(const char *path);

/* Whether a process is there and no zombie. */
bool lkc_lives(pid_t pid);

/* Fails the test unless these words are in the text: what the last program said, or put out. */
void lkc_expect(const char *words, const char *text);
#define LKC_SAID(words)    lkc_expect((words), lkc_said())
#define LKC_PUT_OUT(words) lkc_expect((words), lkc_output())

#define LKC_SH(...)        "--", "sh", "-c", __VA_ARGS__

/* As the foreground job of a new terminal; its pid. Close the terminal. */
pid_t lkc_start_in_terminal(int *out_terminal, const char *const *words);

#endif
