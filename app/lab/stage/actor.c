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

#include "base/clock.h"
#include "guards/guards.h"
#include "stage_inside.h"
#include "store/app_scripts.h"

static const char becomes_actor[] = "seckillctl:lab-actor";

enum { LOOKS_MAX = 50, LEASE_MS = 30000, LOOK_MS = 5 };
enum { ARG_PARENT = 1, ARG_URL, ARG_WAY, ARG_NAME, ARG_BUYER, ARG_ORDER };
enum { ARG_LEASE = ARG_ORDER + 1, ARG_STANDS_STILL, ARG_WAIT, ARG_COUNT };

/* ---- buying ------------------------------------------------------------------------------------ */

const char *actor_answer(guard_status status, outcome which)
{
    switch (status) {
    case GUARD_DONE:
        return sale_outcome_name(which);
    case GUARD_BUSY:
        return sale_outcome_name(OUTCOME_LOCK_TIMEOUT);
    case GUARD_UNAVAILABLE:
        return sale_outcome_name(OUTCOME_STORE_UNAVAILABLE);
    case GUARD_UNKNOWN:
        return sale_outcome_name(OUTCOME_UNKNOWN);
    case GUARD_UNSYNCED:
        return sale_outcome_name(OUTCOME_UNSYNCED);
    }
    return NULL;
}

/* Of a process: the stage lets it go on. */
static void stand_still(const struct guard_ctx *ctx)
{
    (void)ctx;
    (void)raise(SIGSTOP);
}

struct guard_result actor_buy(lk_client *client, struct redlock_servers *locks,
                              const struct stage_cast *cast, const char *order_id,
                              struct purchase *out)
{
    struct guard_ctx ctx = {
        .guard = cast->guard,
        .client = client,
        .redlock = locks,
        .purchase = lk_script_new(app_scripts_named("purchase")),
        .resolve = lk_script_new(app_scripts_named("resolve")),
        .confirm = lk_script_new(app_scripts_named("confirm")),
        .fenced = app_scripts_join("fence_check", "purchase"),
        .sale_id = STAGE_SALE,
        .instance = cast->name,
        .process = cast->name,
        .attempt = 1,
        .lease_ms = cast->lease_ms ? cast->lease_ms : LEASE_MS,
        .limit_ms = STAGE_LIMIT_MS + cast->wait_ms,
        .wait_ms = cast->wait_ms,
        .pause = cast->stands_still ? stand_still : NULL,
    };
    struct guard_result result = {.status = GUARD_UNAVAILABLE};

    *out = (struct purchase){.buyer = cast->buyer ? cast->buyer : cast->name, .key = ""};
    (void)snprintf(out->order_id, sizeof out->order_id, "%s", order_id);
    if (ctx.purchase && ctx.resolve && ctx.confirm && ctx.fenced)
        result = cast->guard->sell(&ctx, &out, 1);
    lk_script_free(ctx.purchase);
    lk_script_free(ctx.resolve);
    lk_script_free(ctx.confirm);
    lk_script_free(ctx.fenced);
    return result;
}

static const struct lk_client_options like_all = {.pool_size = 4,
                                                  .connect_ms = STAGE_LIMIT_MS,
                                                  .command_ms = STAGE_LIMIT_MS,
                                                  .poll_ms = STAGE_POLL_MS,
                                                  .is_impatient = true};

/* ---- in a process ------------------------------------------------------------------------------ */

static int buy_in_process(char **argv)
{
    const struct stage_cast cast = {.name = argv[ARG_NAME],
                                    .guard = guards_find(argv[ARG_WAY]),
                                    .buyer = argv[ARG_BUYER],
                                    .lease_ms = strtoll(argv[ARG_LEASE], NULL, 10),
                                    .wait_ms = strtoll(argv[ARG_WAIT], NULL, 10),
                                    .stands_still = argv[ARG_STANDS_STILL][0] == '1'};
    struct lk_client_options options = like_all;
    struct purchase purchase = {0};

    options.url = argv[ARG_URL];
    lk_client *client = lk_client_open(&options, NULL);
    if (!client || !cast.guard) return STAGE_CODE_NOT + GUARD_UNAVAILABLE;
    struct guard_result result = actor_buy(client, NULL, &cast, argv[ARG_ORDER], &purchase);
    lk_client_close(client);
    return result.status == GUARD_DONE ? STAGE_CODE_DONE + (int)purchase.outcome
                                       : STAGE_CODE_NOT + (int)result.status;
}

bool actor_is_this(int argc, char **argv)
{
    if (argc != ARG_COUNT || strcmp(argv[0], becomes_actor) != 0) return false;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(126);
    if (getppid() != (pid_t)strtol(argv[ARG_PARENT], NULL, 10))
        _exit(126); /* it has died already */
    _exit(buy_in_process(argv));
}

/* Each is owned, or NULL; false: no memory. */
static bool make_args(const struct stage_actor *self, char *argv[ARG_COUNT])
{
    char parent[24];
    char lease[24];
    char wait[24];
    const char *const args[ARG_COUNT] = {
        becomes_actor,
        [ARG_PARENT] = parent,
        [ARG_URL] = tap_url(self->stage->tap, self->wire),
        [ARG_WAY] = self->cast.guard->name,
        [ARG_NAME] = self->cast.name,
        [ARG_BUYER] = self->cast.buyer ? self->cast.buyer : self->cast.name,
        [ARG_ORDER] = self->order_id,
        [ARG_LEASE] = lease,
        [ARG_STANDS_STILL] = self->cast.stands_still ? "1" : "0",
        [ARG_WAIT] = wait,
    };
    bool good = true;

    (void)snprintf(parent, sizeof parent, "%ld", (long)getpid());
    (void)snprintf(lease, sizeof lease, "%lld", (long long)self->cast.lease_ms);
    (void)snprintf(wait, sizeof wait, "%lld", (long long)self->cast.wait_ms);
    for (size_t i = 0; i < ARG_COUNT; i++)
        good &= (argv[i] = strdup(args[i])) != NULL;
    return good;
}

/* Held until the pid of a process that was made is known: it may reach its first stop before. */
static pthread_mutex_t spawning = PTHREAD_MUTEX_INITIALIZER;

static bool spawn(struct stage_actor *self)
{
    char *argv[ARG_COUNT + 1] = {NULL};
    bool good = make_args(self, argv);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t pid = 0;

    (void)posix_spawnattr_init(&attributes); /* a group of its own: Ctrl-C is ours to handle */
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    (void)posix_spawn_file_actions_init(&files); /* no socket that another thread has just made */
    (void)posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    (void)pthread_mutex_lock(&spawning);
    good = good && posix_spawn(&pid, "/proc/self/exe", &files, &attributes, argv, environ) == 0;
    if (good) atomic_store(&self->pid, pid);
    (void)pthread_mutex_unlock(&spawning);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    for (size_t i = 0; i < ARG_COUNT; i++)
        free(argv[i]);
    return good;
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
    self->died_of = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
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

/* Whether it has become, or is no more, the holder of a lock that only one may hold. */
static void on_event(const struct lk_event *event, void *arg)
{
    static const char *const exclusive[] = {"mutex", "redlock", "reentrant", "fenced",
                                            "fair",  "spin",    "write"};
    bool is_exclusive = false;

    for (size_t i = 0; event->kind && i < sizeof exclusive / sizeof exclusive[0]; i++)
        is_exclusive |= strcmp(event->kind, exclusive[i]) == 0;
    if (!is_exclusive) return;
    if (event->type == LK_EVENT_ACQUIRE && event->status == LK_OK)
        promises_note_hold(arg, event->key);
    if (event->type == LK_EVENT_LOST ||
        (event->type == LK_EVENT_RELEASE && (event->status != LK_OK || event->count == 0)))
        promises_note_end(arg, event->key);
}

/* "unix:///...,unix:///..." of its lock's servers. NULL: no memory. */
static char *urls_of(const struct stage_actor *self)
{
    char *urls = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&urls, &size);
    const char *comma = "";

    for (unsigned server = 1; out && server <= SERVERS_MAX; server++) {
        if (!(self->cast.servers & STAGE_SERVER(server))) continue;
        (void)fprintf(out, "%s%s", comma, tap_url(self->stage->tap, self->branches[server - 1]));
        comma = ",";
    }
    return out && fclose(out) == 0 ? urls : NULL;
}

static size_t count_reachable(const struct stage_actor *self)
{
    unsigned wanted = self->cast.servers & ~self->cast.cut_off;
    size_t count = 0;

    for (unsigned server = 1; server <= SERVERS_MAX; server++)
        count += (wanted & STAGE_SERVER(server)) && servers_client(self->stage->servers, server);
    return count;
}

/* Of how many servers lockkit knows who they are; it looks, but not for long. */
static size_t count_checked(const struct redlock_servers *locks)
{
    lk_lock *lock = lk_redlock_new(locks->clients, locks->count, "{look}", NULL, NULL);
    struct lk_redlock_vote votes[SERVERS_MAX];
    size_t servers = lk_redlock_report(lock, NULL, votes, SERVERS_MAX);
    size_t checked = 0;

    for (size_t i = 0; i < servers; i++)
        checked += votes[i].is_checked;
    lk_lock_free(lock);
    return checked;
}

/* Its connections are made, and lockkit knows who is at their ends: nothing of that comes later. */
static bool open_locks(const struct stage_actor *self, const struct lk_client_options *like,
                       struct redlock_servers *out)
{
    struct lk_client_options options = *like;
    struct start_error why = {0};
    char *urls = urls_of(self);
    unsigned looks = 0;

    *out = (struct redlock_servers){0};
    if (self->cast.sync_ms > 0) options.sync_replicas = 1;
    options.sync_ms = self->cast.sync_ms;
    bool is_open = urls && redlock_servers_open(urls, &options, out, &why);
    while (is_open && count_checked(out) < count_reachable(self) && looks < LOOKS_MAX)
        looks++;
    free(urls);
    return is_open && looks < LOOKS_MAX;
}

static void buy(struct stage_actor *self, struct redlock_servers *locks)
{
    struct purchase purchase = {0};
    struct guard_result result =
        actor_buy(self->client, locks, &self->cast, self->order_id, &purchase);

    self->status = result.status;
    self->outcome = purchase.outcome;
    self->told = actor_answer(self->status, self->outcome);
}

static void run_here(struct stage_actor *self)
{
    struct lk_client_options options = like_all;
    struct redlock_servers locks = {0};
    bool has_locks = self->cast.servers != 0;

    options.url = tap_url(self->stage->tap, self->wire);
    options.on_event = on_event;
    options.on_event_arg = self;
    self->client = lk_client_open(&options, NULL);
    if (!self->client || (has_locks && !open_locks(self, &options, &locks))) {
        self->status = GUARD_UNAVAILABLE;
    } else if (self->cast.body) {
        self->cast.body(self);
    } else {
        buy(self, has_locks ? &locks : NULL);
    }
    redlock_servers_close(&locks);
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

bool actor_start(struct stage_actor *self, struct start_error *why)
{
    if (self->has_started) return true;
    if (pthread_create(&self->thread, NULL, actor_main, self) != 0)
        return start_error_say(why, "no thread for actor %s", self->cast.name);
    self->has_started = true;
    return true;
}

void actor_kill(struct stage_actor *self)
{
    (void)pthread_mutex_lock(&spawning);
    pid_t pid = atomic_load(&self->pid);
    (void)pthread_mutex_unlock(&spawning);

    if (pid > 0) (void)kill(pid, SIGKILL); /* also one that stands still */
}

bool actor_ends(struct stage_actor *self, int64_t until_ms)
{
    if (!self->has_started || self->is_joined) return true;
    while (pthread_tryjoin_np(self->thread, NULL) != 0) {
        if (clock_mono_ms() >= until_ms) return false;
        clock_pause_ms(LOOK_MS);
    }
    return self->is_joined = true;
}

void actor_join(struct stage_actor *self)
{
    if (self->has_started && !self->is_joined) (void)pthread_join(self->thread, NULL);
    self->is_joined = true;
}
