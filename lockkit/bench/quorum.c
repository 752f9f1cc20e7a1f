/*
 * A redlock over five servers against the same work on one, or against five that are well: an
 * acquire and its release each. The servers are private ones, reached by TCP; some through the fault
 * proxy, which delays. The two sides take turns in slices, each going first as often as the other.
 *
 * All that is started here ends with the measuring process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lockkit/lockkit.h"

#include "base/error.h"
#include "common/port.h"
#include "moment.h"
#include "process.h"
#include "works.h"

enum {
    NODES = 5,
    SERVERS = NODES + 1, /* the last one takes the place of the fifth when that is to be ill */
    ILL = NODES,
    SLICE = 16,
    START_MS = 10000,
    FAR_MS = 1,    /* each way */
    SLOW_MS = 25,  /* each way */
    WARM_MS = 300, /* until the pools know who is well */
    LEASE_MS = 30000,
};

/* How each kind of task sets the two sides against each other. */
static const struct setting {
    const char *kind;
    size_t under_count; /* servers of the other side */
    bool is_under_mutex;
    bool is_far;  /* all servers */
    bool has_ill; /* the fifth of the first side... */
    bool is_dead; /* ...and not only slow */
} settings[] = {
    {.kind = "redlock", .under_count = 1},
    {.kind = "mutex", .under_count = 1, .is_under_mutex = true},
    {.kind = "far", .under_count = 1, .is_far = true},
    {.kind = "dead", .under_count = NODES, .has_ill = true, .is_dead = true},
    {.kind = "slow", .under_count = NODES, .has_ill = true},
};

struct scene {
    const struct setting *setting;
    pid_t servers[SERVERS];
    pid_t proxy;
    char urls[SERVERS][64];
    lk_client *clients[SERVERS];
    lk_lock *over, *under;
    struct moment_turns turns;
};

/* ---- servers ------------------------------------------------------------------------------------- */

static lk_status await_servers(struct scene *scene, struct lk_error *err)
{
    int64_t until_ns = moment_ns() + (int64_t)START_MS * 1000000;

    for (size_t i = 0; i < SERVERS;) {
        lk_client *client = lk_client_open(&(struct lk_client_options){.url = scene->urls[i]}, err);

        lk_client_close(client);
        i += client != NULL;
        if (!client && moment_ns() > until_ns) return LK_UNREACHABLE;
        if (!client) moment_nap_us(10000);
    }
    return LK_OK;
}

static lk_status start_servers(struct scene *scene, struct lk_error *err)
{
    char port[16];

    for (size_t i = 0; i < SERVERS; i++) {
        (void)snprintf(port, sizeof port, "%d", port_free());
        (void)snprintf(scene->urls[i], sizeof scene->urls[i], "redis://127.0.0.1:%s", port);
        scene->servers[i] = process_start((const char *const[]){"redis-server", "--port", port,
                                                                "--bind", "127.0.0.1", "--save", "",
                                                                "--appendonly", "no", NULL},
                                          -1, -1, -1, err);
        if (scene->servers[i] <= 0) return LK_NO_MEMORY;
    }
    return await_servers(scene, err);
}

/* A link before each server, with the delays of the setting; the URLs lead there from now on. */
static lk_status start_proxy(struct scene *scene, struct lk_error *err)
{
    char program[PROCESS_PATH_MAX];
    char links[SERVERS][80];
    char schedule[80];
    const char *argv[2 * SERVERS + 4] = {program, "--schedule", "/dev/stdin"};
    int ends[2];
    size_t n = 3;

    process_beside("proxy", program);
    for (size_t i = 0; i < SERVERS; i++) {
        int port = port_free();

        (void)snprintf(links[i], sizeof links[i], "n%zu=127.0.0.1:%d,%s", i, port,
                       scene->urls[i] + strlen("redis://"));
        (void)snprintf(scene->urls[i], sizeof scene->urls[i], "redis://127.0.0.1:%d", port);
        argv[n++] = "--link";
        argv[n++] = links[i];
    }
    if (scene->setting->is_far) {
        (void)snprintf(schedule, sizeof schedule, "0 delay %d\n", FAR_MS);
    } else {
        (void)snprintf(schedule, sizeof schedule, "0 n%d:delay %d\n", ILL, SLOW_MS);
    }
    if (pipe2(ends, O_CLOEXEC) != 0) return LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "pipe");
    bool is_told = write(ends[1], schedule, strlen(schedule)) == (ssize_t)strlen(schedule);
    (void)close(ends[1]);
    scene->proxy = is_told ? process_start(argv, ends[0], -1, -1, err) : 0;
    (void)close(ends[0]);
    if (scene->proxy <= 0) return LKI_FAIL(err, LK_NO_MEMORY, "no proxy");
    return await_servers(scene, err);
}

/* ---- the two sides ------------------------------------------------------------------------------- */

static lk_status open_sides(struct scene *scene, const char *key, struct lk_error *err)
{
    const struct setting *setting = scene->setting;
    char other_key[80];
    lk_client *chosen[NODES];

    for (size_t i = 0; i < SERVERS; i++) {
        scene->clients[i] = lk_client_open(&(struct lk_client_options){.url = scene->urls[i]}, err);
        if (!scene->clients[i]) return LK_UNREACHABLE;
    }
    for (size_t i = 0; i < NODES; i++)
        chosen[i] = scene->clients[i];
    (void)snprintf(other_key, sizeof other_key, "%s:other", key);
    if (setting->is_under_mutex) {
        scene->under = lk_mutex_new(chosen[0], other_key, err);
    } else {
        scene->under = lk_redlock_new(chosen, setting->under_count, other_key, NULL, err);
    }
    if (setting->has_ill) chosen[NODES - 1] = scene->clients[ILL];
    scene->over = lk_redlock_new(chosen, NODES, key, NULL, err);
    if (!scene->over || !scene->under) return LK_UNREACHABLE;
    if (setting->has_ill && setting->is_dead) process_kill(scene->servers[ILL]);
    return LK_OK;
}

static lk_status step(void *arg, size_t side, struct lk_error *err)
{
    const struct scene *scene = arg;
    lk_lock *lock = side == 0 ? scene->over : scene->under;
    lk_status status = lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = LEASE_MS}, err);

    return status == LK_OK ? lk_lock_release(lock, err) : status;
}

static const struct setting *setting_of(const struct task *task)
{
    size_t i = 0;

    while (strcmp(settings[i].kind, task->kind) != 0)
        i++;
    return &settings[i];
}

static lk_status run_quorum(struct stage *stage, const struct task *task, double *out_values,
                            struct lk_error *err)
{
    static struct scene scene; /* large; the process ends: nothing to free */
    char key[64];

    scene.setting = setting_of(task);
    (void)snprintf(key, sizeof key, "%s", stage_key(stage));
    lk_status status = start_servers(&scene, err);
    bool is_by_proxy = scene.setting->is_far || (scene.setting->has_ill && !scene.setting->is_dead);
    if (status == LK_OK && is_by_proxy) status = start_proxy(&scene, err);
    if (status == LK_OK) status = open_sides(&scene, key, err);
    scene.turns.each = SLICE;
    if (status == LK_OK) status = moment_take_turns(&scene.turns, WARM_MS, step, &scene, err);
    if (status == LK_OK)
        status = moment_take_turns(&scene.turns, stage->duration_ms, step, &scene, err);
    if (status != LK_OK) return status;
    for (size_t side = 0; side < 2; side++)
        out_values[side] = plan_spread(scene.turns.us[side], scene.turns.count).median;
    return LK_OK;
}

lk_status quorum_work(struct stage *stage, const struct task *task, double *out_values,
                      struct lk_error *err)
{
    return process_measure(run_quorum, stage, task, out_values, err);
}
