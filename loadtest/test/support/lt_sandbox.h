/*
 * What loadtest's integration tests share: a folder of their own, a Redis of their own, and running
 * the built programs (found in the directory that the environment variable BUILD_DIR names).
 */
#ifndef LOADTEST_ITEST_LT_SANDBOX_H
#define LOADTEST_ITEST_LT_SANDBOX_H

#include "base/process.h"
#include "evidence/facts.h"

enum { LT_PATH_MAX = 200, LT_WORDS_MAX = 62, LT_OUTPUT_MAX = 16384 };

struct lt_sandbox {
    char dir[LT_PATH_MAX];
    char socket[LT_PATH_MAX + 32];
    char url[LT_PATH_MAX + 32];
    struct process redis;
};

/* A new folder under /tmp. false: no such luck. */
bool lt_sandbox_open(struct lt_sandbox *sandbox);
/* Put certificates into it, as lockkit/tools/certificates makes them. */
bool lt_sandbox_certify(const struct lt_sandbox *sandbox);
/* Stop the Redis if there is one, remove the folder. */
void lt_sandbox_close(struct lt_sandbox *sandbox);

/* Start redis-server on a unix socket in the folder and wait until it answers. */
bool lt_sandbox_start_redis(struct lt_sandbox *sandbox);
/* The same again and again, with its files in a folder and more words (NULL behind the last). */
bool lt_sandbox_start_server(struct lt_sandbox *sandbox, const char *data,
                             const char *const more[]);
/* For lt_eventually(): one at that URL lets us in. */
bool lt_redis_answers(void *url);
/* Feed lines of commands to redis-cli; false when one was answered with an error. */
bool lt_sandbox_redis_commands(const struct lt_sandbox *sandbox, const char *commands);
/* ... at that port of 127.0.0.1; redirections of a cluster are followed. The answers go to the file
 * "answers" of the folder, in both. */
bool lt_sandbox_port_commands(const struct lt_sandbox *sandbox, int port, const char *commands);

/* Write a file in the folder; its path goes to `out_path`. */
bool lt_sandbox_write(const struct lt_sandbox *sandbox, const char *name, const char *text,
                      char out_path[LT_PATH_MAX + 64]);

/* What a program did. */
struct lt_outcome {
    int status;                 /* exit status; 128 + signal */
    char output[LT_OUTPUT_MAX]; /* stdout and stderr */
};

/* Run BUILD_DIR/argv[0] to its end (at most `limit_ms`). */
bool lt_run(const struct lt_sandbox *sandbox, const char *const argv[], int64_t limit_ms,
            struct lt_outcome *out_outcome);
/* Start BUILD_DIR/argv[0]; its output goes to a file of that name in the folder. */
bool lt_start(const struct lt_sandbox *sandbox, const char *const argv[], const char *output_name,
              struct process *out_process);

/* Read a file of the folder, cut at size - 1; "" when it is not there. */
void lt_sandbox_read(const struct lt_sandbox *sandbox, const char *name, char *out, size_t size);

/* Read the operators' logs of all instances in the folder, as lt_rig.h starts them. */
bool lt_sandbox_read_operators(const struct lt_sandbox *sandbox, const char *sale,
                               struct facts *facts, struct failure *failure);

/* Processes whose command line names the folder; our own do not. */
int lt_sandbox_count_processes(const struct lt_sandbox *sandbox);

/* Poll until `holds` or the time is over; what `holds` said last. */
bool lt_eventually(bool (*holds)(void *arg), void *arg, int64_t limit_ms);

#endif
