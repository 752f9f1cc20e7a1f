/*
 * Each fate begins on servers of its own, fresh ones. One thread.
 */
#include "fates.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "actors.h"
#include "base/error.h"
#include "bench/moment.h"
#include "bench/process.h"
#include "site.h"

enum { HOLDER, WAITER, WARM_MS = 300, LASTS_MS = 3 * WAY_LEASE_MS, AFTER_MS = 500, JUMP_S = 60 };

struct scene {
    struct site site;
    struct board *board;
    pid_t actors[2];
};

static lk_status kill_holder(struct scene *scene, struct lk_error *err)
{
    (void)err;
    process_kill(scene->actors[HOLDER]);
    scene->actors[HOLDER] = 0;
    return LK_OK;
}

static lk_status pause_holder(struct scene *scene, struct lk_error *err)
{
    int error = kill(scene->actors[HOLDER], SIGSTOP);

    return error == 0 ? LK_OK : LKI_FAIL_ERRNO(err, LK_SERVER, "SIGSTOP");
}

static lk_status lose_server(struct scene *scene, struct lk_error *err)
{
    (void)err;
    site_lose(&scene->site);
    return LK_OK;
}

/* Nothing passes, and neither side is told. */
static lk_status cut_link(struct scene *scene, struct lk_error *err)
{
    int error = kill(scene->site.proxy, SIGSTOP);

    return error == 0 ? LK_OK : LKI_FAIL_ERRNO(err, LK_SERVER, "SIGSTOP");
}

static lk_status move_clock(struct scene *scene, struct lk_error *err)
{
    (void)err;
    *scene->site.clock_offset_ns = (int64_t)JUMP_S * 1000000000;
    return LK_OK;
}

static lk_status empty_server(struct scene *scene, struct lk_error *err)
{
    return site_empty(&scene->site, err);
}

const struct fate fates[] = {
    {"killed", "holder killed"},
    {"paused", "holder paused for three leases"},
    {"lost", "a server lost"},
    {"cut", "holder cut off for three leases"},
    {"clock", "a server's clock 60 s ahead"},
    {"emptied", "a server back, empty"},
};
const unsigned fate_count = sizeof fates / sizeof fates[0];

static lk_status (*const begin[])(struct scene *scene, struct lk_error *err) = {
    kill_holder, pause_holder, lose_server, cut_link, move_clock, empty_server};
_Static_assert(sizeof begin / sizeof begin[0] == sizeof fates / sizeof fates[0], "one for each");

bool fates_can_be(unsigned fate, const struct way *way)
{
    return way->make || begin[fate] == kill_holder || begin[fate] == pause_holder;
}

static bool has_taken(struct scene *scene, unsigned actor)
{
    return atomic_load(&scene->board->actors[actor].took_ns) != 0;
}

static lk_status enter(struct scene *scene, unsigned actor, struct lk_error *err)
{
    bool is_linked = actor == HOLDER && scene->site.proxy > 0;

    const struct actor is = {scene->site.way, is_linked ? &scene->site.cut_urls : &scene->site.urls,
                             actors_write};

    scene->actors[actor] = actors_start(scene->board, actor, &is, err);
    if (scene->actors[actor] == 0) return LK_NO_MEMORY;
    lk_status status = actors_await(scene->board, actor + 1, err);
    atomic_store(&scene->board->is_go, true);
    for (int64_t until_ns = moment_ns() + (int64_t)LASTS_MS * 1000000;
         status == LK_OK && actor == HOLDER && !has_taken(scene, HOLDER);) {
        if (moment_ns() > until_ns)
            return LKI_FAIL(err, LK_UNREACHABLE, "nobody took the lock: %s",
                            scene->board->actors[HOLDER].why);
        moment_nap_us(1000);
    }
    moment_nap_us((int64_t)WARM_MS * 1000);
    return status;
}

static double since(int64_t begin_ns, int64_t end_ns)
{
    return end_ns == 0 ? -1 : (double)(end_ns - begin_ns) / 1e6;
}

static lk_status happen(struct scene *scene, unsigned fate, struct fate_seen *out,
                        struct lk_error *err)
{
    struct board *board = scene->board;

    if (has_taken(scene, WAITER))
        return LKI_FAIL(err, LK_SERVER, "two holders before anything happened");
    int64_t begin_ns = moment_ns();
    lk_status status = begin[fate](scene, err);

    if (status != LK_OK) return status;
    moment_nap_us(begin_ns / 1000 + (int64_t)LASTS_MS * 1000 - moment_ns() / 1000);
    *out = (struct fate_seen){
        .free_ms = since(begin_ns, atomic_load(&board->actors[WAITER].took_ns)), .told_ms = -1};
    if (begin[fate] == pause_holder) (void)kill(scene->actors[HOLDER], SIGCONT);
    if (begin[fate] == cut_link) (void)kill(scene->site.proxy, SIGCONT);
    moment_nap_us((int64_t)AFTER_MS * 1000);
    out->told_ms = since(begin_ns, atomic_load(&board->actors[HOLDER].told_ns));
    out->stale = atomic_load(&board->actors[HOLDER].stale);
    out->refused = atomic_load(&board->actors[HOLDER].refused);
    (void)snprintf(out->why, sizeof out->why, "%s", board->actors[WAITER].why);
    return moment_interrupt_came() ? LKI_FAIL(err, LK_CANCELLED, "interrupted") : LK_OK;
}

lk_status fates_play(unsigned fate, const struct way *way, struct fate_seen *out,
                     struct lk_error *err)
{
    struct scene scene = {.board = actors_board_new()};
    lk_status status = scene.board ? site_open(&scene.site, way, true, err)
                                   : LKI_FAIL(err, LK_NO_MEMORY, "a board");

    if (status == LK_OK) status = enter(&scene, HOLDER, err);
    if (status == LK_OK) status = enter(&scene, WAITER, err);
    if (status == LK_OK) status = happen(&scene, fate, out, err);
    process_kill(scene.actors[HOLDER]);
    process_kill(scene.actors[WAITER]);
    site_close(&scene.site);
    return status;
}
