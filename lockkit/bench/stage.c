/*
 * The server is private, on a unix socket and a port, without persistence. One thread.
 */
#include "stage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "common/port.h"
#include "moment.h"
#include "process.h"

enum { START_MS = 10000, POLL_MS = 1000, REDISSON_WATCHDOG_MS = 30000 };

/* ---- the server ----------------------------------------------------------------------------- */

/* By its socket: were the port taken meanwhile, something else would answer there. */
static lk_status await_server(struct stage *stage, struct lk_error *err)
{
    int64_t until_ns = moment_ns() + (int64_t)START_MS * 1000000;

    while (bare_open(&stage->bare, stage->url, err) != LK_OK) {
        bare_close(&stage->bare);
        if (moment_interrupt_came()) return LKI_FAIL(err, LK_CANCELLED, "interrupted");
        if (moment_ns() > until_ns) return LKI_FAIL(err, LK_UNREACHABLE, "redis-server: no start");
        moment_nap_us(10000);
    }
    return LK_OK;
}

static lk_status start_server(struct stage *stage, struct lk_error *err)
{
    char path[sizeof stage->dir + 8], port[16];

    const char *temporary = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): one thread */

    (void)snprintf(stage->dir, sizeof stage->dir, "%.60s/lockbench-XXXXXX",
                   temporary ? temporary : "/tmp");
    if (!mkdtemp(stage->dir)) {
        lk_status status = LKI_FAIL_ERRNO(err, LK_INVALID, "%s", stage->dir);

        stage->dir[0] = '\0';
        return status;
    }
    (void)snprintf(path, sizeof path, "%s/s", stage->dir);
    (void)snprintf(port, sizeof port, "%d", port_free());
    (void)snprintf(stage->url, sizeof stage->url, "unix://%s", path);
    (void)snprintf(stage->tcp_url, sizeof stage->tcp_url, "redis://127.0.0.1:%s", port);
    stage->server =
        process_start((const char *const[]){"redis-server", "--unixsocket", path, "--port", port,
                                            "--bind", "127.0.0.1", "--dir", stage->dir, "--save",
                                            "", "--appendonly", "no", NULL},
                      -1, -1, -1, err);
    return stage->server > 0 ? await_server(stage, err) : LK_NO_MEMORY;
}

lk_status stage_open(struct stage *stage, const char *redis, struct lk_error *err)
{
    (void)snprintf(stage->prefix, sizeof stage->prefix, "lockbench:%d", (int)getpid());
    if (!redis) return start_server(stage, err);
    (void)snprintf(stage->url, sizeof stage->url, "%s", redis);
    (void)snprintf(stage->tcp_url, sizeof stage->tcp_url, "%s", redis);
    return bare_open(&stage->bare, redis, err);
}

static void remove_file(const struct stage *stage, const char *name)
{
    char path[STAGE_PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/%s", stage->dir, name);
    (void)unlink(path);
}

void stage_drop(struct stage *stage, library_id library)
{
    for (size_t i = 0; i < STAGE_PLAYERS; i++) {
        player_stop(stage->players[library][i]);
        stage->players[library][i] = NULL;
    }
    player_stop(stage->keepers[library]);
    stage->keepers[library] = NULL;
}

void stage_close(struct stage *stage)
{
    for (int i = 0; i < LIBRARY_COUNT; i++)
        stage_drop(stage, (library_id)i);
    if (stage->bare.redis && stage->server == 0) bare_remove(&stage->bare, stage->prefix);
    bare_close(&stage->bare);
    process_kill(stage->server);
    if (!stage->dir[0]) return;
    remove_file(stage, "s");
    remove_file(stage, "players.log");
    (void)rmdir(stage->dir);
}

const char *stage_key(struct stage *stage)
{
    static char key[48];

    (void)snprintf(key, sizeof key, "%s:%u", stage->prefix, ++stage->serial);
    return key;
}

/* ---- players -------------------------------------------------------------------------------- */

static struct player *start_lockkit(const struct stage *stage, const char *log,
                                    const char *lease_ms, struct lk_error *err)
{
    char program[PROCESS_PATH_MAX], poll_ms[16];

    (void)lease_ms; /* ours say it with each lock */
    process_beside("lockkit_peer", program);
    (void)snprintf(poll_ms, sizeof poll_ms, "%d", POLL_MS);
    return player_start((const char *const[]){program, stage->tcp_url, poll_ms, NULL}, log, err);
}

static struct player *start_redisson(const struct stage *stage, const char *log,
                                     const char *lease_ms, struct lk_error *err)
{
    char class_path[2 * STAGE_PATH_MAX];

    (void)snprintf(class_path, sizeof class_path, "%s/classes:%s/lib/*", stage->interop,
                   stage->interop);
    return player_start((const char *const[]){"java", "-cp", class_path, "RedissonPeer",
                                              stage->tcp_url, lease_ms, NULL},
                        log, err);
}

static struct player *start_redis_py(const struct stage *stage, const char *log,
                                     const char *lease_ms, struct lk_error *err)
{
    char python[STAGE_PATH_MAX];

    (void)lease_ms; /* it renews nothing */
    (void)snprintf(python, sizeof python, "%s/venv/bin/python", stage->interop);
    return player_start((const char *const[]){python, "lockkit/interop/rivals/redis_py_peer.py",
                                              stage->tcp_url, NULL},
                        log, err);
}

static struct player *start_redsync(const struct stage *stage, const char *log,
                                    const char *lease_ms, struct lk_error *err)
{
    char program[STAGE_PATH_MAX];

    (void)lease_ms; /* nor does it */
    (void)snprintf(program, sizeof program, "%s/redsync_peer", stage->interop);
    return player_start((const char *const[]){program, stage->tcp_url, NULL}, log, err);
}

static const struct {
    const char *mark;   /* this file in the folder of the rivals says that it is installed */
    const char *source; /* and it is not older than this one */
    struct player *(*start)(const struct stage *stage, const char *log, const char *lease_ms,
                            struct lk_error *err);
} libraries[] = {
    [LOCKKIT] = {NULL, NULL, start_lockkit},
    [REDISSON] = {"classes/RedissonPeer.class", "lockkit/interop/rivals/RedissonPeer.java",
                  start_redisson},
    [REDIS_PY] = {"venv/.done", "lockkit/interop/rivals/requirements.txt", start_redis_py},
    [REDSYNC] = {"redsync_peer", "lockkit/interop/rivals/redsync_peer.go", start_redsync},
};

static bool is_installed(const char *mark, const char *source)
{
    struct stat made, from;

    if (stat(mark, &made) != 0) return false;
    if (stat(source, &from) != 0) return true;
    return made.st_mtim.tv_sec > from.st_mtim.tv_sec ||
           (made.st_mtim.tv_sec == from.st_mtim.tv_sec &&
            made.st_mtim.tv_nsec >= from.st_mtim.tv_nsec);
}

static lk_status start_player(struct stage *stage, library_id library, int lease_ms,
                              struct player **out, struct lk_error *err)
{
    char path[STAGE_PATH_MAX], lease[16], log[STAGE_PATH_MAX] = "/dev/null";

    if (*out) return LK_OK;
    (void)snprintf(path, sizeof path, "%s/%s", stage->interop, libraries[library].mark);
    if (libraries[library].mark && !is_installed(path, libraries[library].source))
        return LKI_FAIL(err, LK_INVALID, "not measured: make interop first (no new %s)", path);
    (void)snprintf(lease, sizeof lease, "%d", lease_ms);
    if (stage->dir[0]) (void)snprintf(log, sizeof log, "%s/players.log", stage->dir);
    *out = libraries[library].start(stage, log, lease, err);
    if (!*out) return LK_UNREACHABLE;
    (void)snprintf(stage->versions[library], sizeof stage->versions[library], "%s",
                   player_version(*out));
    return LK_OK;
}

lk_status stage_players(struct stage *stage, library_id library, size_t count, struct lk_error *err)
{
    lk_status status = LK_OK;

    for (size_t i = 0; i < count && status == LK_OK; i++)
        status =
            start_player(stage, library, REDISSON_WATCHDOG_MS, &stage->players[library][i], err);
    return status;
}

lk_status stage_keeper(struct stage *stage, library_id library, struct lk_error *err)
{
    return start_player(stage, library, KEEPER_LEASE_MS, &stage->keepers[library], err);
}
