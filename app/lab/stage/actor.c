/*
 * See actor.h. The process ends with its thread (PR_SET_PDEATHSIG), and the thread with its process.
 */
#include "actor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "guards/guards.h"
#include "stage_internal.h"
#include "start/private_server.h"
#include "store/app_scripts.h"

static const char becomes_actor[] = "seckillctl:lab-actor";
static const char becomes_program[] = "seckillctl:lab-program";

enum {
    CODE_DONE = 16, /* exit status of an actor's process: this + outcome... */
    CODE_NOT = 64,  /* ...or this + guard_status */
};
enum { LOOKS_MAX = 50, LEFT_MS = 100, LEASE_MS = 30000, LOOK_MS = 5, AGAIN_MS = 1 };
enum { ARG_PARENT = 1, ARG_URL, ARG_WAY, ARG_NAME, ARG_BUYER, ARG_ORDER };
enum { ARG_LEASE = ARG_ORDER + 1, ARG_STANDS_STILL, ARG_WAIT, ARG_COUNT };
enum {
    ARG_COMMAND = ARG_PARENT + 1,
    ARG_PROGRAM_COUNT
}; /* of a program; the rest is its environment */

/* ---- buying ------------------------------------------------------------------------------------ */

/* What the buyer is told of it. */
static const char *answer_of(guard_status status, outcome which)
{
    static const outcome undone[] = {[GUARD_BUSY] = OUTCOME_LOCK_TIMEOUT,
                                     [GUARD_UNAVAILABLE] = OUTCOME_STORE_UNAVAILABLE,
                                     [GUARD_UNKNOWN] = OUTCOME_UNKNOWN,
                                     [GUARD_UNSYNCED] = OUTCOME_UNSYNCED};

    return sale_outcome_name(status == GUARD_DONE ? which : undone[status]);
}

/* Of a process: the stage lets it go on. */
static void stand_still(const struct guard_ctx *ctx)
{
    (void)ctx;
    (void)raise(SIGSTOP);
}

/* Buy a unit as guards do; servers: of its lock, NULL when there are none. */
static struct guard_result buy_as(lk_client *client, struct guard_servers *servers,
                                  const struct stage_cast *cast, const char *order_id,
                                  struct purchase *out)
{
    struct guard_ctx ctx = {
        .guard = cast->guard,
        .client = client,
        .servers = servers,
        .purchase = lk_script_new(app_scripts_named("purchase")),
        .resolve = lk_script_new(app_scripts_named("resolve")),
        .confirm = lk_script_new(app_scripts_named("confirm")),
        .fenced = APP_SCRIPTS_JOIN("fence_check", "purchase"),
        .sale_id = STAGE_SALE,
        .instance = cast->name,
        .process = cast->name,
        .attempt = 1,
        .lease_ms = cast->lease_ms ? cast->lease_ms : LEASE_MS,
        .limit_ms = STAGE_LIMIT_MS + cast->wait_ms,
        .again_ms = AGAIN_MS,
        .wait_ms = cast->wait_ms,
        .dir = cast->dir,
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
                                                  .fail_fast = true};

/* ---- in a process ------------------------------------------------------------------------------ */

/* A host of its own, to a guard that has its lock there: a folder beside the socket. */
static const char *make_host(const struct guard *guard, const char *url, char out[PATH_MAX])
{
    if (!guard || !guard->is_local) return NULL;
    (void)snprintf(out, PATH_MAX, "%s.host", url + strlen("unix://"));
    return mkdir(out, 0700) == 0 || errno == EEXIST ? out : NULL;
}

static int buy_in_process(char **argv)
{
    char host[PATH_MAX];
    const struct stage_cast cast = {.name = argv[ARG_NAME],
                                    .guard = guards_find(argv[ARG_WAY]),
                                    .buyer = argv[ARG_BUYER],
                                    .dir =
                                        make_host(guards_find(argv[ARG_WAY]), argv[ARG_URL], host),
                                    .lease_ms = strtoll(argv[ARG_LEASE], NULL, 10),
                                    .wait_ms = strtoll(argv[ARG_WAIT], NULL, 10),
                                    .stands_still = argv[ARG_STANDS_STILL][0] == '1'};
    struct lk_client_options options = like_all;
    struct purchase purchase = {0};

    options.url = argv[ARG_URL];
    lk_client *client = lk_client_open(&options, NULL);
    if (!client || !cast.guard) return CODE_NOT + GUARD_UNAVAILABLE;
    struct guard_result result = buy_as(client, NULL, &cast, argv[ARG_ORDER], &purchase);
    lk_client_close(client);
    return result.status == GUARD_DONE ? CODE_DONE + (int)purchase.outcome
                                       : CODE_NOT + (int)result.status;
}

/* Where the shell has nothing else to do, no shell stays. */
static void become_program(const char *command)
{
    char *line = NULL;

    if (asprintf(&line, "%s%s", strpbrk(command, ";&|<>(){}=\n") ? "" : "exec ", command) > 0)
        (void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

bool actor_is_this(int argc, char **argv)
{
    bool is_program = argc == ARG_PROGRAM_COUNT && strcmp(argv[0], becomes_program) == 0;

    if (!is_program && (argc != ARG_COUNT || strcmp(argv[0], becomes_actor) != 0)) return false;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(126);
    if (getppid() != (pid_t)strtol(argv[ARG_PARENT], NULL, 10))
        _exit(126); /* it has died already */
    if (is_program) become_program(argv[ARG_COMMAND]);
    _exit(buy_in_process(argv));
}

/* The words of a process's command line; borrowed, but for the numbers. */
struct args {
    char parent[24], lease[24], wait[24];
    const char *argv[ARG_COUNT + 1]; /* NULL behind the last */
};

static void make_args(const struct stage_actor *self, struct args *out)
{
    const struct program *program = self->stage->program;

    *out = (struct args){.argv = {becomes_actor, [ARG_PARENT] = out->parent}};
    (void)snprintf(out->parent, sizeof out->parent, "%ld", (long)getpid());
    if (program) {
        out->argv[0] = becomes_program;
        out->argv[ARG_COMMAND] = program->command;
        return;
    }
    (void)snprintf(out->lease, sizeof out->lease, "%lld", (long long)self->cast.lease_ms);
    (void)snprintf(out->wait, sizeof out->wait, "%lld", (long long)self->cast.wait_ms);
    out->argv[ARG_URL] = tap_url(self->stage->tap, self->wire);
    out->argv[ARG_WAY] = self->cast.guard->name;
    out->argv[ARG_NAME] = self->cast.name;
    out->argv[ARG_BUYER] = self->cast.buyer ? self->cast.buyer : self->cast.name;
    out->argv[ARG_ORDER] = self->order_id;
    out->argv[ARG_LEASE] = out->lease;
    out->argv[ARG_STANDS_STILL] = self->cast.stands_still ? "1" : "0";
    out->argv[ARG_WAIT] = out->wait;
}

/* Of somebody's program; false: no memory. */
static bool make_env(const struct stage_actor *self, char *env[PROGRAM_ENV_MAX])
{
    const struct program *program = self->stage->program;
    struct program_buyer buyer = {
        .name = self->cast.name,
        .number = (int)(self - self->stage->actors),
        .url = tap_url(self->stage->tap, self->wire),
        .order_id = self->order_id,
    };

    for (unsigned i = 0; i < program->task->servers; i++)
        buyer.servers[i] = tap_url(self->stage->tap, self->branches[i + 1]);
    return program_env(program, &buyer, env);
}

/* Held until the pid of a process that was made is known: it may reach its first stop before. */
static pthread_mutex_t spawning = PTHREAD_MUTEX_INITIALIZER;

/* out, err: what become its standard output and error; -1: ours. */
static bool spawn(struct stage_actor *self, int out, int err)
{
    struct args args;
    char *env[PROGRAM_ENV_MAX] = {NULL};
    bool is_program = self->stage->program != NULL;
    bool good = !is_program || make_env(self, env);
    struct private_server_process process = {
        .program = "/proc/self/exe",
        .argv = (char *const *)(void *)args.argv,
        .env = is_program ? env : NULL,
        .files = {is_program ? -1 : STDIN_FILENO, /* what is typed is not for a program */
                  out >= 0 ? out : STDOUT_FILENO, err >= 0 ? err : STDERR_FILENO},
        .file_count = STDERR_FILENO + 1};
    pid_t pid = 0;

    make_args(self, &args);
    (void)pthread_mutex_lock(&spawning);
    good = good && private_server_spawn(&process, &pid) == 0;
    if (good) atomic_store(&self->pid, pid);
    (void)pthread_mutex_unlock(&spawning);
    for (size_t i = 0; i < PROGRAM_ENV_MAX; i++)
        free(env[i]);
    return good;
}

/* Until the process has ended; tell the stage whenever it stands still. */
static int supervise(struct stage_actor *self)
{
    pid_t pid = atomic_load(&self->pid);
    int status = 0;

    for (;;) {
        pid_t got = waitpid(pid, &status, WUNTRACED);

        if (got < 0 && errno == EINTR) continue;
        if (got != pid) return CODE_NOT + GUARD_UNAVAILABLE;
        if (!WIFSTOPPED(status)) break;
        tap_report(self->stage->tap, self->wire, TAP_IS_PAUSED);
    }
    atomic_store(&self->pid, 0);
    self->died_of = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* What the program has started itself ends with it; a moment later, as a pipe's other end does, or killed. */
static void end_group(struct stage_actor *self, pid_t group)
{
    int64_t until_ms = clock_mono_ms() + LEFT_MS;

    while (group > 0 && kill(-group, 0) == 0 && clock_mono_ms() < until_ms && !self->died_of)
        clock_pause_ms(1);
    if (group > 0 && kill(-group, SIGKILL) == 0 && !self->died_of)
        (void)start_error_say(&self->trouble, "it left a process of its own running");
}

static void take_answer(struct stage_actor *self, struct program_answer answer)
{
    static const guard_status claims[] = {[TASK_ANYTHING] = GUARD_UNKNOWN,
                                          [TASK_BOOKED] = GUARD_DONE,
                                          [TASK_NOT_BOOKED] = GUARD_BUSY};

    self->told = answer.told;
    self->status = claims[answer.claim];
    self->outcome = OUTCOME_CREATED;
    if (!self->trouble.text[0]) self->trouble = answer.trouble;
}

static void run_program(struct stage_actor *self)
{
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    bool is_started =
        pipe2(out, O_CLOEXEC | O_NONBLOCK) == 0 && pipe2(err, O_CLOEXEC | O_NONBLOCK) == 0;

    (void)fcntl(out[1], F_SETFL, 0); /* its own ends wait, as programs expect */
    (void)fcntl(err[1], F_SETFL, 0);
    is_started = is_started && spawn(self, out[1], self->stage->program->is_loud ? -1 : err[1]);
    pid_t group = atomic_load(&self->pid);
    (void)close(out[1]);
    (void)close(err[1]);
    if (is_started) {
        int status = supervise(self);

        end_group(self, group);
        self->is_dead = self->died_of != 0;
        if (!self->is_dead)
            take_answer(self, program_read(self->stage->program, status, out[0], err[0]));
    } else {
        (void)start_error_say(&self->trouble, "its program could not be started");
    }
    (void)close(out[0]);
    (void)close(err[0]);
}

static void run_process(struct stage_actor *self)
{
    int code = spawn(self, -1, -1) ? supervise(self) : CODE_NOT + GUARD_UNAVAILABLE;

    if (code >= CODE_DONE) {
        self->status = code < CODE_NOT ? GUARD_DONE : (guard_status)(code - CODE_NOT);
        self->outcome = code < CODE_NOT ? (outcome)(code - CODE_DONE) : OUTCOME_CREATED;
        self->told = answer_of(self->status, self->outcome);
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
    struct stage_home *home = arg;
    struct stage_actor *self = atomic_load(&home->actor);

    for (size_t i = 0; event->kind && i < sizeof exclusive / sizeof exclusive[0]; i++)
        is_exclusive |= strcmp(event->kind, exclusive[i]) == 0;
    if (!is_exclusive || !self) return;
    if (event->type == LK_EVENT_ACQUIRE && event->status == LK_OK)
        promises_note_hold(self, event->key);
    /* What its watchdog has found meanwhile (LK_EVENT_LOST) who stands still has not heard. */
    if (event->type == LK_EVENT_RELEASE && (event->status != LK_OK || event->count == 0))
        promises_note_end(self, event->key);
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
        (void)fprintf(out, "%s%s", comma, tap_url(self->stage->tap, self->branches[server]));
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

static void buy(struct stage_actor *self, struct guard_servers *servers)
{
    struct purchase purchase = {0};
    struct guard_result result =
        buy_as(self->client, servers, &self->cast, self->order_id, &purchase);

    self->status = result.status;
    self->outcome = purchase.outcome;
    self->told = answer_of(self->status, self->outcome);
}

/* What its guard needs besides Redis. */
static bool open_beside(const struct stage_actor *self, const struct lk_client_options *like,
                        struct guard_servers *out)
{
    const char *urls[GUARD_NEED_COUNT] = {NULL};
    unsigned beside = self->stage->beside;
    struct start_error why = {0};

    if (beside == TAP_POSTGRES)
        urls[NEED_POSTGRES] = tap_url(self->stage->tap, self->branches[beside]);
    if (beside == TAP_ZOOKEEPER)
        urls[NEED_ZOOKEEPER] = tap_url(self->stage->tap, self->branches[beside]);
    if (self->cast.body && beside) return true;
    if (beside) return guard_servers_open(urls, like, out, &why);
    return !self->cast.servers || open_locks(self, like, &out->redlock);
}

static void run_here(struct stage_actor *self)
{
    struct lk_client_options options = like_all;
    struct guard_servers servers = {0};
    bool has_locks = self->cast.servers != 0;

    options.url = tap_url(self->stage->tap, self->wire);
    options.on_event = on_event;
    options.on_event_arg = self->home;
    atomic_store(&self->home->actor, self);
    if (!self->home->client) self->home->client = lk_client_open(&options, NULL);
    self->client = self->home->client;
    if (!self->client || !open_beside(self, &options, &servers)) {
        self->status = GUARD_UNAVAILABLE;
    } else if (self->cast.body) {
        self->cast.body(self);
    } else {
        buy(self, has_locks ? &servers : NULL);
    }
    guard_servers_close(&servers);
    self->client = NULL;
    atomic_store(&self->home->actor, NULL);
    if (!self->stage->run->scenario->keeps_actors) actor_leave(self->home);
}

void actor_leave(struct stage_home *home)
{
    lk_client_close(home->client);
    home->client = NULL;
}

static void *actor_main(void *arg)
{
    struct stage_actor *self = arg;

    if (self->stage->program) {
        run_program(self);
    } else if (self->cast.is_process) {
        run_process(self);
    } else {
        run_here(self);
    }
    tap_report(self->stage->tap, self->wire, TAP_HAS_ENDED);
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

    if (pid > 0)
        (void)kill(-pid, SIGKILL); /* also one that stands still, with all that it started */
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

/* ---- for bodies -------------------------------------------------------------------------------------- */

lk_client *stage_client(struct stage_actor *self)
{
    return self->client;
}

const char *stage_name(const struct stage_actor *self)
{
    return self->cast.name;
}

const char *stage_url_beside(const struct stage_actor *self)
{
    return tap_url(self->stage->tap, self->branches[self->stage->beside]);
}

const char *stage_key(const struct stage_actor *self, size_t index)
{
    return self->cast.keys[index];
}

void stage_report(struct stage_actor *self, const char *what)
{
    self->told = what;
}

void stage_wants(struct stage_actor *self, const char *key)
{
    const struct lab_run *run = self->stage->run;

    for (size_t i = 0; i < run->lock_count; i++) {
        if (strcmp(run->locks[i], key) == 0) atomic_store(&self->wants, (int)i);
    }
}

void stage_tried(struct stage_actor *self, bool has_won)
{
    if (has_won) {
        atomic_store(&self->has_won, true);
    } else {
        atomic_fetch_add(&self->lost_rounds, 1);
    }
}

void stage_buy(struct stage_actor *self, const struct guard *guard, const char *buyer)
{
    self->cast.guard = guard;
    self->cast.buyer = buyer;
    buy(self, NULL);
}
