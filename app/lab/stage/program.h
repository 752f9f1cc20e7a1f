/*
 * A guard that is somebody's own program, in whatever language: a process for each purchase, which is told by its
 * environment what to do, and says in one line of JSON what it believes. One thread, its actor's.
 */
#ifndef SECKILL_LAB_PROGRAM_H
#define SECKILL_LAB_PROGRAM_H

#include "guards/base/guard.h"
#include "task.h"

enum { PROGRAM_ENV_MAX = 16 };

struct program {
    struct guard guard; /* as which it is played */
    const struct task *task;
    const char *command; /* borrowed: as for sh -c */
    bool is_loud;        /* what it says on its standard error goes to ours */
};

/* Make *out, of which a guard is a part: it must stay where it is. */
void program_init(struct program *out, const struct task *task, const char *command);
/* NULL: it is a guard of ours. */
const struct program *program_of(const struct guard *guard);

/* Who an actor is to its program. */
struct program_buyer {
    const char *name;
    int number; /* from 0 */
    const char *url, *order_id;
    const char *servers[3]; /* URLs, where its task has further ones */
};

/* Its environment, owned texts, NULL behind the last; false: no memory. */
bool program_env(const struct program *self, const struct program_buyer *buyer,
                 char *out[PROGRAM_ENV_MAX]);

/* What it has said, and why that is no answer. */
struct program_answer {
    const char *told; /* static; NULL: nothing that counts */
    enum task_claim claim;
    struct start_error trouble;
};

/* Its exit status, and what is to be read at the ends of its pipes. */
struct program_answer program_read(const struct program *self, int status, int out, int err);

#endif
