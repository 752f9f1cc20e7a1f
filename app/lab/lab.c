/*
 * The lab's life: folder, servers, tap; and one run after the other. One thread.
 */
#include "lab.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "common/folder.h"
#include "lab/stage/stage.h"
#include "lab/stage/stage_internal.h"
#include "store/app_scripts.h"

enum { STOP_MS = 2000, ROUND_MS = 50 };

struct lab {
    char dir[PATH_MAX];
    struct servers *servers; /* owned, as all below */
    struct tap *tap;
    struct labels labels;
    struct stage_home homes[LAB_ACTORS_MAX];
};

/* ---- open, close ----------------------------------------------------------------------------------- */

/* All that a lock can do, once, so that the server knows its scripts and the tap their names. */
static bool rehearse_lock(lk_lock *lock)
{
    bool is_done = lock && lk_lock_acquire(lock, NULL, NULL) == LK_OK;
    bool is_reentrant = is_done && lk_lock_acquire(lock, NULL, NULL) == LK_OK;

    is_done = is_done && lk_lock_renew(lock, 0, NULL) == LK_OK;
    if (is_reentrant) (void)lk_lock_release(lock, NULL);
    is_done = is_done && lk_lock_release(lock, NULL) == LK_OK;
    lk_lock_free(lock);
    return is_done;
}

static bool rehearse_rwlock(lk_rwlock *lock)
{
    bool is_done =
        lock && rehearse_lock(lk_rwlock_read(lock)) && rehearse_lock(lk_rwlock_write(lock));

    lk_rwlock_free(lock); /* its sides, which rehearse_lock() frees, are only lent */
    return is_done;
}

static bool rehearse_counters(lk_client *client)
{
    lk_semaphore *semaphore = lk_semaphore_new(client, "{rehearsal}:semaphore", NULL);
    lk_latch *latch = lk_latch_new(client, "{rehearsal}:latch", NULL);
    bool is_done = lk_semaphore_try_set(semaphore, 1, NULL) == LK_OK &&
                   lk_semaphore_acquire(semaphore, 1, 0, NULL) == LK_OK &&
                   lk_semaphore_release(semaphore, 1, NULL) == LK_OK &&
                   lk_latch_try_set(latch, 1, NULL) == LK_OK &&
                   lk_latch_count_down(latch, NULL) == LK_OK;

    lk_semaphore_free(semaphore);
    lk_latch_free(latch);
    return is_done;
}

static bool rehearse(struct lab *lab, struct start_error *why)
{
    static const char *const scripts[] = {"purchase", "resolve", "confirm", "pay_orders",
                                          "expire_orders"};
    int wire = tap_add_wire(lab->tap, "rehearsal", why);
    lk_client *client = NULL;
    bool is_done = true;

    if (wire < 0) return false;
    client = lk_client_open(&(struct lk_client_options){.url = tap_url(lab->tap, wire)}, NULL);
    is_done = client && rehearse_lock(lk_mutex_new(client, "{rehearsal}:mutex", NULL)) &&
              rehearse_lock(lk_reentrant_new(client, "{rehearsal}:reentrant", NULL)) &&
              rehearse_lock(lk_fenced_new(client, "{rehearsal}:fenced", NULL)) &&
              rehearse_lock(lk_fair_new(client, "{rehearsal}:fair", NULL, NULL)) &&
              rehearse_rwlock(lk_rwlock_new(client, "{rehearsal}:rwlock", NULL)) &&
              rehearse_counters(client);
    for (size_t i = 0; is_done && i < sizeof scripts / sizeof scripts[0]; i++)
        is_done = SERVERS_DO(client, "SCRIPT", "LOAD", app_scripts_named(scripts[i])->source);
    lk_client_close(client);
    tap_forget(lab->tap, 0);
    return is_done || start_error_say(why, "the lab's Redis cannot do what a lock needs");
}

/* Who has lasted beyond a run, from that actor on. */
static void close_homes(struct lab *lab, size_t from)
{
    for (size_t i = from; i < LAB_ACTORS_MAX; i++)
        actor_leave(&lab->homes[i]);
    if (lab->tap) tap_forget(lab->tap, from);
}

void lab_close(struct lab *lab)
{
    if (!lab) return;
    close_homes(lab, 0);
    tap_close(lab->tap);
    labels_done(&lab->labels);
    servers_free(lab->servers);
    if (lab->dir[0]) folder_remove(lab->dir);
    free(lab);
}

void lab_gather(struct lab *lab, const cpu_set_t *cores)
{
    (void)sched_setaffinity(0, sizeof *cores, cores);
    servers_gather(lab->servers, cores);
    tap_gather(lab->tap, cores);
}

static bool make_folder(struct lab *lab, struct start_error *why)
{
    const char *parent = secure_getenv("TMPDIR");

    (void)snprintf(lab->dir, sizeof lab->dir, "%s/seckill-lab-XXXXXX",
                   parent && *parent ? parent : "/tmp");
    if (mkdtemp(lab->dir)) return true;
    (void)start_error_say(why, "%s: %s", lab->dir, strerrordesc_np(errno));
    lab->dir[0] = '\0';
    return false;
}

struct lab *lab_open(struct start_error *why)
{
    struct lab *lab = calloc(1, sizeof *lab);

    if (!lab) {
        (void)start_error_say(why, "out of memory");
        return NULL;
    }
    if (!make_folder(lab, why)) goto fail;
    lab->servers = servers_open(lab->dir, why);
    if (!lab->servers) goto fail;
    lab->tap = tap_open(lab->dir, servers_socket(lab->servers, TAP_SHOP), &lab->labels, why);
    if (!lab->tap || !rehearse(lab, why)) goto fail;
    return lab;

fail:
    lab_close(lab);
    return NULL;
}

/* ---- a run --------------------------------------------------------------------------------------- */

/*
 * A run that failed: nobody needs to know how it would have gone on. Again and again every lock is made
 * free, and who waits for one is woken, until all have ended. None is cut off before that is in vain: out
 * of reach of Redis some insist, as long as a command may take, on giving back a place or asking what
 * became of a purchase.
 */
static void stop_actors(struct stage *stage)
{
    int64_t until_ms = clock_mono_ms() + STOP_MS;
    size_t i = 0;

    while (i < stage->run->actor_count && clock_mono_ms() < until_ms) {
        for (unsigned server = TAP_SHOP; server <= SERVERS_MAX; server++) {
            lk_client *client = servers_client(stage->servers, server);

            if (client) (void)SERVERS_DO(client, "FLUSHALL");
        }
        tap_disturb(stage->tap);
        i += actor_ends(&stage->actors[i], clock_mono_ms() + ROUND_MS);
    }
    for (; i < stage->run->actor_count; i++)
        tap_cut(stage->tap, stage->actors[i].wire); /* who waits hears that it is over */
}

/* Those who are still under way go on to their end, or are killed where they are. What they have asked is
   answered then: nothing of it reaches a server in the next run. */
static void clear_stage(struct stage *stage)
{
    for (size_t i = 0; i < stage->run->actor_count; i++) {
        struct stage_actor *actor = &stage->actors[i];

        if (actor->cast.is_process) {
            actor_kill(actor);
            tap_cut(stage->tap, actor->wire);
        } else {
            tap_let(stage->tap, actor->wire, NULL, TAP_PASS);
        }
    }
    if (stage->run->failure.text[0]) stop_actors(stage);
    for (size_t i = 0; i < stage->run->actor_count; i++) { /* one may wait for another */
        actor_join(&stage->actors[i]);
        if (stage->actors[i].has_started)
            (void)tap_wait(stage->tap, stage->actors[i].wire, STAGE_LIMIT_MS);
    }
    tap_forget(stage->tap, stage->run->scenario->keeps_actors ? stage->run->actor_count : 0);
}

static size_t count_cast(const struct lab_scenario *scenario)
{
    size_t count = 0;

    while (count < LAB_ACTORS_MAX && scenario->cast[count].guard)
        count++;
    return count;
}

struct lab_run *lab_play(struct lab *lab, const struct lab_scenario *scenario)
{
    struct lab_run *run = calloc(1, sizeof *run);
    struct stage *stage = calloc(1, sizeof *stage);

    if (!run || !stage) {
        free(run);
        free(stage);
        return NULL;
    }
    *stage = (struct stage){.tap = lab->tap,
                            .observer = servers_client(lab->servers, TAP_SHOP),
                            .servers = lab->servers,
                            .homes = lab->homes,
                            .run = run};
    run->scenario = scenario;
    close_homes(lab, scenario->keeps_actors ? count_cast(scenario) : 0);
    labels_forget_tokens(&lab->labels); /* no actor runs: nobody else is at them */
    if (SERVERS_DO(stage->observer, "FLUSHALL")) {
        stage_play(stage, scenario);
    } else {
        (void)start_error_say(&run->failure, "the lab's Redis does not answer");
    }
    clear_stage(stage);
    if (run->failure.text[0] || stage->has_lost) close_homes(lab, 0);
    free(stage);
    return run;
}
