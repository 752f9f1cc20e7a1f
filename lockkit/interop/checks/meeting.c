/*
 * See meeting.h. The main thread tells the rival what to do.
 */
#include "meeting.h"

#include "base/clock.h"

enum { TURNS_MAX = 20000, WAIT_MS = 20000, LEASE_MS = 30000, SOON_MS = 2000, ASLEEP_MS = 200 };

/* From a moment when it was held already to one when it was held still. */
struct hold {
    int64_t begin, end;
};

struct holds {
    size_t count;
    struct hold list[TURNS_MAX];
};

/* ---- rivals -------------------------------------------------------------------------------------------------- */

static const char *path_of(const char *name)
{
    const char *dir = getenv("INTEROP_DIR"); /* NOLINT(concurrency-mt-unsafe): one thread */

    return lks_format("%s/%s", dir ? dir : "build/interop", name);
}

struct peer *meeting_java(const char *name, const char *url)
{
    const char *const argv[] = {"java",
                                "-Xmx256m",
                                "-XX:+UseSerialGC",
                                "-XX:TieredStopAtLevel=1",
                                "-cp",
                                lks_format("%s:%s", path_of("classes"), path_of("lib/*")),
                                name,
                                url,
                                NULL};

    return peer_start(argv, path_of(lks_format("%s.log", name)));
}

struct peer *meeting_python(const char *script, const char *log, const char *url)
{
    const char *const argv[] = {path_of("venv/bin/python"), script, url, NULL};

    return peer_start(argv, path_of(log));
}

void meeting_write(const struct peer *peer, const char *name)
{
    const char *version = peer_version(peer);
    int len = (int)peer_name_len(peer);

    assert_true(
        matrix_write(path_of(lks_format("%s.rows", name)),
                     lks_format("%.*s %s", len, version, version + len + (version[len] ? 1 : 0))));
}

/* ---- checks -------------------------------------------------------------------------------------------------- */

static void theirs(const struct meeting *meeting, const char *result, const char *verb,
                   const char *options)
{
    (void)peer_must(meeting->peer, result, "1 %s %s %s%s", verb, meeting->kind, meeting->key,
                    options);
}

static void ours(const struct meeting *meeting, lk_status status)
{
    assert_int_equal(lks_acquire(meeting->lock, 0, LEASE_MS), status);
}

void meeting_excludes(const struct meeting *meeting)
{
    (void)matrix_begin(meeting->kind, "exclusion");
    for (int i = 0; i < 2; i++) {
        ours(meeting, LK_OK);
        theirs(meeting, "busy", "lock", " wait=0 lease=30000");
        assert_int_equal(lk_lock_release(meeting->lock, NULL), LK_OK);
        theirs(meeting, "ok", "lock", " wait=0 lease=30000");
        ours(meeting, LK_BUSY);
        theirs(meeting, "ok", "unlock", "");
    }
    matrix_pass();
}

void meeting_hands_over(const struct meeting *meeting)
{
    struct lks_wait wait;

    (void)matrix_begin(meeting->kind, "hand-over");
    ours(meeting, LK_OK);
    unsigned waiter = peer_send(meeting->peer, "1 lock %s %s wait=20000 lease=30000", meeting->kind,
                                meeting->key);
    lks_nap(ASLEEP_MS);
    assert_false(peer_has_answered(meeting->peer, waiter));
    int64_t released_at = lki_clock_now();
    assert_int_equal(lk_lock_release(meeting->lock, NULL), LK_OK);
    struct answer woken = peer_await(meeting->peer, waiter, "ok", SOON_MS);
    double theirs_ms = (double)(woken.ended_ns - released_at) / 1e6;

    lks_wait_start(&wait, meeting->lock, WAIT_MS);
    lks_nap(ASLEEP_MS);
    assert_false(atomic_load(&wait.has_ended));
    double begin = lks_now_ms();
    theirs(meeting, "ok", "unlock", "");
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    double ours_ms = wait.ended_at_ms - begin;
    assert_true(ours_ms < SOON_MS);
    assert_int_equal(lk_lock_release(meeting->lock, NULL), LK_OK);
    print_message("# it had %s after %.1f ms, lockkit after %.1f ms\n", meeting->kind, theirs_ms,
                  ours_ms);
    matrix_note("%.1f ms, %.1f ms to lockkit", theirs_ms, ours_ms);
    matrix_pass();
}

static lk_status take_turns(struct lks_wait *wait)
{
    struct holds *holds = wait->what;

    while (lks_now_ms() < wait->began_at_ms + (double)wait->count && holds->count < TURNS_MAX) {
        lk_status status = lks_acquire(wait->lock, WAIT_MS, LEASE_MS);

        if (status != LK_OK) return status;
        struct hold *hold = &holds->list[holds->count++];
        hold->begin = lki_clock_now();
        lks_nap(1);
        hold->end = lki_clock_now();
        status = lk_lock_release(wait->lock, NULL);
        if (status != LK_OK) return status;
        lks_nap(1);
    }
    return LK_OK;
}

static size_t overlaps_of(const struct holds *ours, const struct holds *theirs)
{
    size_t count = 0, j = 0;

    for (size_t i = 0; i < ours->count; i++) {
        while (j < theirs->count && theirs->list[j].end < ours->list[i].begin)
            j++;
        count += j < theirs->count && theirs->list[j].begin < ours->list[i].end;
    }
    return count;
}

void meeting_contends(const struct meeting *meeting, int64_t ms)
{
    static struct holds ours, theirs;
    struct lks_wait wait = {.lock = meeting->lock, .run = take_turns, .what = &ours, .count = ms};

    (void)matrix_begin(meeting->kind, "contest");
    ours.count = theirs.count = 0;
    lks_wait_begin(&wait);
    for (double until = lks_now_ms() + (double)ms;
         lks_now_ms() < until && theirs.count < TURNS_MAX;) {
        struct answer taken = peer_must(meeting->peer, "ok", "1 lock %s %s wait=20000 lease=30000",
                                        meeting->kind, meeting->key);
        struct answer left =
            peer_must(meeting->peer, "ok", "1 unlock %s %s", meeting->kind, meeting->key);

        theirs.list[theirs.count++] = (struct hold){taken.ended_ns, left.began_ns};
    }
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    print_message("# %s: it had %zu turns, lockkit %zu\n", meeting->kind, theirs.count, ours.count);
    assert_int_equal(overlaps_of(&ours, &theirs), 0);
    assert_true(ours.count > 5 && theirs.count > 5);
    matrix_pass();
}
