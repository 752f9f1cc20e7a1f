/*
 * Replicas are cut off by a right: without sync, psync and replconf nobody replicates any more, and
 * n1 hangs up on those who do. One thread.
 */
#include "lt_failover.h"

#include "base/moment.h"
#include "test/support/testing.h"

enum { SOLD_AFTER_MIN = 500 /* purchases after the heal */ };

void lt_failover_cut_off(struct lt_course *run, struct lt_failover *out, const atomic_uint *counter,
                         unsigned many)
{
    static const char cut[] = "ACL SETUSER default -sync -psync -replconf\n"
                              "CLIENT KILL TYPE replica\n";

    assert_true(lt_place_tell_port(&run->rig.place, topology_port(&run->rig.topology, "n1"), cut));
    unsigned before = atomic_load(counter);
    assert_true(lt_course_wait_for(counter, before + many));
    out->cut_off = atomic_load(counter) - before;
}

static bool has_new_primary(void *arg)
{
    struct lt_course *run = arg;

    return strcmp(lt_course_tell(&run->rig, "primary"), "n1") != 0;
}

void lt_failover_begin(struct lt_course *run, struct lt_failover *out, const char *verb)
{
    lt_course_note_fault(run);
    (void)lt_course_tell(&run->rig, "%s n1", verb);
    out->sold = run->crowd.counts.sold;
    out->outage_ms = -moment_ms();
    assert_true(lt_eventually(has_new_primary, run, LT_PROGRESS_MS));
    (void)snprintf(out->primary, sizeof out->primary, "%s", lt_course_tell(&run->rig, "primary"));
}

void lt_failover_await_sales(struct lt_course *run, struct lt_failover *out)
{
    (void)lt_course_wait_for(&run->crowd.counts.sold, out->sold + LT_THREADS + 1);
    out->outage_ms += moment_ms();
}

void lt_failover_end(struct lt_course *run, const struct lt_failover *failover, const char *more)
{
    const struct lt_crowd_counts *counts = &run->crowd.counts;

    lt_course_say(run, "%s took over from n1 with %u sold, %lld ms until the next sale%s",
                  failover->primary, failover->sold, (long long)failover->outage_ms, more);
    lt_course_finish(run);
    lt_course_end(run, counts->sold >= failover->sold + SOLD_AFTER_MIN &&
                           counts->unavailable + counts->unknown > 0);
}
