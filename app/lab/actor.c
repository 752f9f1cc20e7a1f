/*
 * Actors: each has a thread here, which runs its way itself, or starts a process that does and looks
 * after it. The process ends with its thread (PR_SET_PDEATHSIG), and the thread with its process.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app_scripts.h"
#include "lab/stage_inside.h"
#include "lab/ways.h"

static const char becomes_actor[] = "seckillctl:lab-actor";

enum { LEASE_MS = 30000, ARG_PARENT = 1, ARG_URL, ARG_WAY, ARG_NAME, ARG_BUYER, ARG_ORDER };
enum { ARG_LEASE = ARG_ORDER + 1, ARG_COUNT };

/* ---- buying ------------------------------------------------------------------------------------ */

const char *actor_answer(guard_status status, outcome which)
{
    switch (status) {
    case GUARD_DONE:
        return outcome_name(which);
    case GUARD_BUSY:
        return outcome_name(OUTCOME_LOCK_TIMEOUT);
    case GUARD_UNAVAILABLE:
        return outcome_name(OUTCOME_STORE_UNAVAILABLE);
    case GUARD_UNKNOWN:
        return outcome_name(OUTCOME_UNKNOWN);
    case GUARD_UNSYNCED:
        return outcome_name(OUTCOME_UNSYNCED);
    }
    return NULL;
}

struct guard_result actor_buy(lk_client *client, const struct stage_cast *cast,
                              const char *order_id, struct purchase *out)
{
    struct guard_ctx ctx = {
        .client = client,
        .purchase = lk_script_new(app_script_named("purchase")),
        .resolve = lk_script_new(app_script_named("resolve")),
        .confirm = lk_script_new(app_script_named("confirm")),
        .sale_id = STAGE_SALE,
        .instance = cast->name,
        .process = cast->name,
        .attempt = 1,
        .lease_ms = cast->lease_ms ? cast->lease_ms : LEASE_MS,
        .limit_ms = STAGE_LIMIT_MS,
    };
    struct guard_result result = {.status = GUARD_UNAVAILABLE};

    *out = (struct purchase){.buyer = cast->buyer ? cast->buyer : cast->name, .key = ""};
    (void)snprintf(out->order_id, sizeof out->order_id, "%s", order_id);
    if (ctx.purchase && ctx.resolve && ctx.confirm) result = cast->guard->sell(&ctx, &out, 1);
    lk_script_free(ctx.purchase);
    lk_script_free(ctx.resolve);
    lk_script_free(ctx.confirm);
    return result;
}

static lk_client *connect_to(const char *url, struct lk_error *err)
{
    return lk_client_open(&(struct lk_client_options){.url = url,
                                                      .pool_size = 4,
                                                      .connect_ms = STAGE_LIMIT_MS,
                                                      .command_ms = STAGE_LIMIT_MS,
                                                      .poll_ms = STAGE_LIMIT_MS},
                          err);
}

/* ---- in a process ------------------------------------------------------------------------------ */

static void stand_still(void)
{
    (void)raise(SIGSTOP);
}

static int buy_in_process(char **argv)
{
    const struct stage_cast cast = {.name = argv[ARG_NAME],
                                    .guard = way_find(argv[ARG_WAY]),
                                    .buyer = argv[ARG_BUYER],
                                    .lease_ms = strtoll(argv[ARG_LEASE], NULL, 10)};
    lk_client *client = connect_to(argv[ARG_URL], NULL);
    struct purchase purchase = {0};

    if (!client || !cast.guard) return STAGE_CODE_NOT + GUARD_UNAVAILABLE;
    way_set_pause(stand_still);
    struct guard_result result = actor_buy(client, &cast, argv[ARG_ORDER], &purchase);
    lk_client_close(client);
    return result.status == GUARD_DONE ? STAGE_CODE_DONE + (int)purchase.outcome
                                       : STAGE_CODE_NOT + (int)result.status;
}

bool lab_actor_is_this(int argc, char **argv)
{
    if (argc != ARG_COUNT || strcmp(argv[0], becomes_actor) != 0) return false;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(126);
    if (getppid() != (pid_t)strtol(argv[ARG_PARENT], NULL, 10))
        _exit(126); /* it has died already */
    _exit(buy_in_process(argv));
}

static bool spawn(struct stage_actor *self)
{
    char parent[24];
    char lease[24];
    const char *const args[ARG_COUNT] = {
        becomes_actor,
        [ARG_PARENT] = parent,
        [ARG_URL] = tap_url(self->stage->tap, self->wire),
        [ARG_WAY] = self->cast.guard->name,
        [ARG_NAME] = self->cast.name,
        [ARG_BUYER] = self->cast.buyer ? self->cast.buyer : self->cast.name,
        [ARG_ORDER] = self->order_id,
        [ARG_LEASE] = lease,
    };
    char *argv[ARG_COUNT + 1] = {NULL};
    posix_spawnattr_t attributes;
    pid_t pid = 0;
    int error = 0;

    (void)snprintf(parent, sizeof parent, "%ld", (long)getpid());
    (void)snprintf(lease, sizeof lease, "%lld", (long long)self->cast.lease_ms);
    for (size_t i = 0; i < ARG_COUNT && !error; i++) {
        argv[i] = strdup(args[i]);
        error = argv[i] ? 0 : ENOMEM;
    }
    (void)posix_spawnattr_init(&attributes); /* a group of its own: Ctrl-C is ours to handle */
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (!error) error = posix_spawn(&pid, "/proc/self/exe", NULL, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    for (size_t i = 0; i < ARG_COUNT; i++)
        free(argv[i]);
    if (!error) atomic_store(&self->pid, pid);
    return !error;
}

/* Until the process has ended; tell the stage whenever it stands still. */
static int look_after(struct stage_actor *self)
{
    pid_t pid = atomic_load(&self->pid);
    int status = 0;

    for (;;) {
        pid_t got = waitpid(pid, &status, WUNTRACED);

        if (got < 0 && errno == EINTR) continue;
        if (got != pid) return STAGE_CODE_NOT + GUARD_UNAVAILABLE;
        if (!WIFSTOPPED(status)) break;
        tap_tell(self->stage->tap, self->wire, TAP_IS_PAUSED);
    }
    atomic_store(&self->pid, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void run_process(struct stage_actor *self)
{
    int code = spawn(self) ? look_after(self) : STAGE_CODE_NOT + GUARD_UNAVAILABLE;

    if (code >= STAGE_CODE_NOT) {
        self->status = (guard_status)(code - STAGE_CODE_NOT);
        self->told = actor_answer(self->status, OUTCOME_COUNT);
    } else if (code >= STAGE_CODE_DONE) {
        self->status = GUARD_DONE;
        self->outcome = (outcome)(code - STAGE_CODE_DONE);
        self->told = actor_answer(self->status, self->outcome);
    } else { /* its buyer was told nothing */
        self->is_dead = true;
    }
}

/* ---- in a thread ------------------------------------------------------------------------------- */

static void run_here(struct stage_actor *self)
{
    struct purchase purchase = {0};

    self->client = connect_to(tap_url(self->stage->tap, self->wire), NULL);
    if (!self->client) {
        self->status = GUARD_UNAVAILABLE;
    } else if (self->cast.body) {
        self->cast.body(self);
    } else {
        struct guard_result result =
            actor_buy(self->client, &self->cast, self->order_id, &purchase);

        self->status = result.status;
        self->outcome = purchase.outcome;
        self->told = actor_answer(self->status, self->outcome);
    }
    lk_client_close(self->client);
    self->client = NULL;
}

static void *actor_main(void *arg)
{
    struct stage_actor *self = arg;

    if (self->cast.is_process) {
        run_process(self);
    } else {
        run_here(self);
    }
    tap_tell(self->stage->tap, self->wire, TAP_HAS_ENDED);
    return NULL;
}

bool actor_start(struct stage_actor *self, struct refusal *why)
{
    if (self->has_started) return true;
    if (pthread_create(&self->thread, NULL, actor_main, self) != 0)
        return refusal_say(why, "no thread for actor %s", self->cast.name);
    self->has_started = true;
    return true;
}

void actor_kill(struct stage_actor *self)
{
    pid_t pid = atomic_load(&self->pid);

    if (pid > 0) (void)kill(pid, SIGKILL); /* also one that stands still */
}

void actor_join(struct stage_actor *self)
{
    if (self->has_started && !self->is_joined) (void)pthread_join(self->thread, NULL);
    self->is_joined = true;
}
