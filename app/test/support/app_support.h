/*
 * What the service's tests share: real processes in a folder of their own, and HTTP spoken to them,
 * through libcurl or byte by byte.
 *
 * Everything that is started is tied to the test program's life by the kernel, so that nothing is
 * left behind, however a test ends.
 */
#ifndef SECKILL_APP_SUPPORT_H
#define SECKILL_APP_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { APP_PATH_SIZE = 128, APP_URL_SIZE = 192, APP_ARGS_MAX = 40, APP_REPLY_SIZE = 262144 };

/* ---- folders and processes ------------------------------------------------------------------- */

/* A new folder under TMPDIR; app_folder_remove() deletes it with all it holds. */
void app_folder_make(char out[APP_PATH_SIZE]);
void app_folder_remove(const char *path);

/* What a file of a folder holds, "" without one; static per thread. */
const char *app_file(const char *dir, const char *name);

struct app_process {
    pid_t pid;                 /* 0: not running */
    char buyers[APP_URL_SIZE]; /* "http://127.0.0.1:PORT"; of a seckilld */
    char admin[APP_URL_SIZE];
    char redis[APP_URL_SIZE];
};

/*
 * Start the seckilld under test on free ports and wait for its ready line.
 *
 * Shape    dir: its --data, and where its messages go (seckilld.log). args: more flags, NULL at the
 *          end; NULL: none. --lab is given unless args begin with "no-lab".
 * Returns  false when it did not get ready.
 */
bool app_start(struct app_process *out, const char *dir, const char *const *args);

/* A redis-server on dir/own.sock (out->redis is its URL), append-only, fsync always. */
bool app_start_redis(struct app_process *out, const char *dir);
/* The same with more arguments, which win; NULL at their end. */
bool app_start_redis_with(struct app_process *out, const char *dir, const char *const *more);

/* Start any program, found on PATH or by its path; its messages go to dir/seckilld.log. */
void app_start_program(struct app_process *out, const char *program, const char *const *args,
                       const char *dir);

/* Run a program of the build ("seckillctl") to its end; its output goes to `output`, cut. */
int app_run(const char *program, const char *const *args, char *output, size_t size);

/* The exit status (128 + signal when killed), or -1 when it has not ended in time. */
int app_wait(struct app_process *process, int64_t limit_ms);
/* Ask it to end and wait 15 s; else kill. The exit status; 0 when it was not running. */
int app_stop(struct app_process *process);
void app_kill(struct app_process *process);

/* The redis-servers that this process keeps, at most so many; the first one, or 0. */
size_t app_redis_children_of(const struct app_process *process, pid_t *out, size_t max);
pid_t app_redis_child_of(const struct app_process *process);

/* ---- HTTP ------------------------------------------------------------------------------------ */

struct app_call {
    const char *method; /* NULL: GET, or POST with a body */
    const char *base;   /* process->buyers or ->admin */
    const char *path;
    const char *user;       /* X-User-Id; NULL: none */
    const char *token;      /* bearer token; NULL: none */
    const char *body;       /* sent as application/json unless headers say otherwise */
    const char *headers[4]; /* more header lines */
    int64_t limit_ms;       /* 0: 10 s */
};

struct app_reply {
    long status; /* 0: no answer */
    size_t len;
    char headers[2048];
    char body[APP_REPLY_SIZE]; /* NUL-terminated, cut when larger */
};

/*
 * One call on a connection of its own: an idle one that is kept alive would hold up a stop by 2 s.
 *
 * Returns  the status, which is in the reply too.
 * Threads  any.
 */
long app_http(const struct app_call *call, struct app_reply *out);
/* The status alone. */
long app_status(const struct app_call *call);
/* POST orders for a buyer; key may be NULL. */
long app_buy(const char *base, const char *sale, const char *user, const char *key,
             struct app_reply *out);
/* Put a sale up with the token of `dir`; false when refused. */
bool app_create_sale(const struct app_process *process, const char *dir, const char *body);
/* The token of this data folder; static per thread. */
const char *app_token(const char *dir);
/* A string member of a JSON body ("" when it is not there); static per thread. */
const char *app_member(const struct app_reply *reply, const char *name);
/* A number member; -1 when it is not there. */
long long app_number(const struct app_reply *reply, const char *name);
/* Whether this is the problem of that name, with the headers every answer has. */
bool app_is_problem(const struct app_reply *reply, long status, const char *name);

/* Connect to a base URL; bytes go out and come back as they are. */
int app_connect(const char *base);
bool app_send(int fd, const char *bytes, size_t len);
/* Read until the peer closes, `enough` occurs in what came (NULL: do not look), or the limit. */
size_t app_receive(int fd, char *out, size_t size, const char *enough, int64_t limit_ms);
/* Read one answer of a connection that is kept. Its status; 0 when there is no whole one. */
int app_receive_answer(int fd, char *out, size_t size);
/* Send once, read until closed; true when the peer did close. */
bool app_exchange(const char *base, const char *bytes, char *out, size_t size);

/* ---- Redis ----------------------------------------------------------------------------------- */

/* A command, its words between single blanks; the answer is yours (lk_reply_free), NULL: none came. */
struct lk_reply *app_redis_command(const char *url, const char *command);
/* "GET", "HLEN", "EXISTS"... of one key, as a number; -1 when there is none. */
long long app_ask_redis(const char *url, const char *command, const char *key);
/* A connection to the Redis of app_start_redis(dir) that is told every command; -1: none. */
int app_monitor(const char *dir);
/* Somebody else takes the lock of a sale for so long [at once: 0, it is free again]. */
bool app_hold_lock(const char *url, const char *sale, int64_t lease_ms);

/* ---- waiting --------------------------------------------------------------------------------- */

/* Whether `claim` came true in time; asked every 10 ms. */
bool app_eventually(bool (*claim)(void *arg), void *arg, int64_t limit_ms);
/* Pause this thread until then, by clock_mono_ns(): of one that keeps a pace. */
void app_pause_until(int64_t at_ns);

#endif
