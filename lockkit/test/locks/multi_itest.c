/*
 * Multi locks of all or nothing on two real servers: taken whole or not at all, waited for, given
 * back whole. Numbers are those of the checklist in redisson.md. How they end otherwise is in
 * multi_loss_itest.c.
 */
#include "test/support/lk_multi.h"

LKS_PATIENT();

/* ---- all or nothing ------------------------------------------------------------------------------- */

TEST(it_takes_all_and_gives_all_back, struct lkm_trio *f)
{
    for (unsigned i = 0; i < 3; i++) {
        assert_false(lk_held(f->multi));
        lkm_acquire(f);
        assert_true(lkm_exists(f, 0) && lkm_exists(f, 1) && lkm_exists(f, 2));
        assert_true(lk_held(f->multi));
        assert_int_equal(lk_lock_hold_count(f->multi), 1);
        assert_in_range(lk_lock_remaining_ms(f->multi), 50000,
                        60000 - 600 - 2); /* 1 % and 2 ms of drift */
        lkm_assert_report(f, LK_OK, LK_OK, LK_OK);
        assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
        assert_false(lkm_exists_any(f));
        assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK); /* nothing left to release */
    }
}

static char taken[2 * LKM_MEMBERS + 1]; /* the last letters of the keys */

static void note_order(struct lkm_trio *f, const struct lk_event *event)
{
    size_t len = strlen(taken);
    size_t key_len = strlen(event->key);

    if (event->type == LK_EVENT_ACQUIRE && strcmp(event->kind, "multi") != 0 && len < 6)
        taken[len] = event->key[key_len - 1];
}

/* So that those who want the same locks meet at the first. */
TEST(the_order_is_that_of_servers_and_keys_not_the_given_one, struct lkm_trio *f)
{
    lk_lock *turned[] = {f->members[2], f->members[1], f->members[0]};
    lk_lock *other = lk_multi_new(turned, LKM_MEMBERS, NULL, NULL);

    memset(taken, 0, sizeof taken);
    f->on_step = note_order;
    lkm_acquire(f);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(other, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_release(other, NULL), LK_OK);

    assert_string_equal(taken, "acbacb");
    lk_lock_free(other);
}

TEST(one_that_is_held_keeps_it_out_and_the_others_free, struct lkm_trio *f)
{
    lk_status statuses[LKM_MEMBERS];

    for (size_t busy = 0; busy < LKM_MEMBERS; busy++) {
        struct lk_error err = {0};

        lkm_let_other_hold(f, busy);
        assert_int_equal(lkm_acquire_for(f, 0, &err), LK_BUSY);
        assert_int_equal(err.code, LK_BUSY);
        assert_non_null(strstr(err.text, f->keys[busy]));
        assert_false(lk_held(f->multi));
        for (size_t i = 0; i < LKM_MEMBERS; i++)
            assert_int_equal(lkm_exists(f, i), i == busy);
        assert_int_equal(lk_multi_report(f->multi, statuses), LKM_MEMBERS);
        assert_int_equal(statuses[busy], LK_BUSY);
        assert_int_equal(lk_lock_release(f->others[busy], NULL), LK_OK);
        lkm_acquire(f);
        assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    }
}

static atomic_bool is_a_given_back;

static void note_a(struct lkm_trio *f, const struct lk_event *event)
{
    bool is_release = event->type == LK_EVENT_RELEASE;

    if (strcmp(event->key, f->keys[0]) == 0 && event->status == LK_OK)
        atomic_store(&is_a_given_back, is_release);
}

/* 55, second half: b is held, so a is given back, and stays free while it waits. */
TEST(who_waits_for_one_gives_the_others_back, struct lkm_trio *f)
{
    struct lkm_wait wait;

    lkm_let_other_hold(f, 1);
    f->on_step = note_a;
    lkm_wait_start(&wait, f, 60000);
    LKS_EVENTUALLY(atomic_load(&is_a_given_back), 5000);
    for (int i = 0; i < 50; i++) {
        assert_false(lkm_exists(f, 0) || lkm_exists(f, 2));
        lks_nap(1);
    }
    assert_int_equal(lk_lock_release(f->others[1], NULL), LK_OK);
    assert_int_equal(lkm_wait_finish(&wait), LK_OK);

    assert_true(lkm_exists(f, 0) && lkm_exists(f, 1) && lkm_exists(f, 2));
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
}

TEST(it_waits_as_long_as_it_was_told, struct lkm_trio *f)
{
    static const int64_t spans_ms[] = {1, 60, 300};

    for (size_t i = 0; i < LKM_MEMBERS; i++) {
        double begin = lks_now_ms();

        lkm_let_other_hold(f, i);
        assert_int_equal(lkm_acquire_for(f, spans_ms[i], NULL), LK_BUSY);
        assert_true(lks_now_ms() - begin >= (double)spans_ms[i]);
        assert_true(lks_now_ms() - begin < 10000); /* the holder's lease would be 30 s */
        assert_int_equal(lk_lock_release(f->others[i], NULL), LK_OK);
        assert_false(lkm_exists_any(f));
    }
}

/* From its first answer to deep in its wait, in the pauses too. */
TEST(a_cancel_at_any_time_ends_the_wait, struct lkm_trio *f)
{
    struct lkm_wait wait;

    for (int i = 0; i < 60; i++) {
        size_t busy = (size_t)i % LKM_MEMBERS;

        lkm_let_other_hold(f, busy);
        lkm_wait_start(&wait, f, 60000);
        if (i % 10) lks_nap(i % 10);
        lk_lock_cancel(f->multi);
        assert_int_equal(lkm_wait_finish(&wait), LK_CANCELLED);
        assert_int_equal(lk_lock_release(f->others[busy], NULL), LK_OK);
        assert_false(lkm_exists_any(f));
    }
}

TEST(a_cancel_ends_one_wait_of_the_whole_and_none_of_a_member, struct lkm_trio *f)
{
    struct lkm_wait wait;

    lkm_let_other_hold(f, 0);
    lkm_wait_start(&wait, f, 60000);
    lk_lock_cancel(f->multi);
    assert_int_equal(lkm_wait_finish(&wait), LK_CANCELLED);
    assert_int_equal(lkm_acquire_for(f, 30, NULL), LK_BUSY);
    lk_lock_cancel(f->multi);
    assert_int_equal(lk_lock_wait(f->members[0], 30, NULL), LK_BUSY); /* a member for itself */
    assert_int_equal(lkm_acquire_for(f, 30, NULL), LK_CANCELLED);
    assert_int_equal(lkm_acquire_for(f, 30, NULL), LK_BUSY);
    assert_int_equal(lk_lock_release(f->others[0], NULL), LK_OK);
    assert_int_equal(lkm_acquire_for(f, 30, NULL), LK_OK);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
}

/* ---- bad use ------------------------------------------------------------------------------------------ */

TEST(what_makes_no_multi_lock_is_invalid, struct lkm_trio *f)
{
    lk_status statuses[LKM_MEMBERS];
    lk_lock *twice[] = {f->members[0], f->members[1], f->members[0]};
    lk_lock *same_key[] = {f->members[0], f->others[0]};
    lk_lock *with_null[] = {f->members[0], NULL};
    lk_lock *nested[] = {f->multi};
    const struct {
        lk_lock **locks;
        size_t count;
        unsigned allowed;
    } rows[] = {
        {NULL, 1, 0},
        {f->members, 0, 0},
        {f->members, 65, 0},
        {twice, 3, 0},
        {same_key, 2, 0},
        {with_null, 2, 0},
        {nested, 1, 0},
        {f->members, 3, 2},
        {f->members, 2, 1},
        {f->members, 1, 1},
        {f->members, 3, UINT32_MAX},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lk_error err = {0};
        struct lk_multi_options options = {.failures_allowed = rows[i].allowed};

        assert_null(lk_multi_new(rows[i].locks, rows[i].count, &options, &err));
        assert_int_equal(err.code, LK_INVALID);
        assert_true(strlen(err.text) > 10);
    }
    assert_int_equal(lk_multi_report(NULL, statuses), 0);
    assert_int_equal(lk_multi_report(f->members[0], statuses), 0);
    assert_int_equal(lk_multi_report(f->multi, NULL), 0);
}

TEST(what_a_multi_lock_cannot_do_is_invalid, struct lkm_trio *f)
{
    lk_script *script =
        lk_script_new(&(struct lk_script_source){.name = "x", .source = "return 1"});
    struct lk_eval eval = {.script = script};
    lk_reply *reply = NULL;

    lkm_acquire(f);
    assert_int_equal(lkm_acquire_for(f, 0, NULL), LK_INVALID); /* not reentrant */
    assert_int_equal(lk_guarded_eval(f->multi, &eval, 0, &reply, NULL), LK_INVALID);
    assert_int_equal(lk_mutex_run(f->multi, NULL, &eval, &reply, NULL), LK_INVALID);
    assert_int_equal(lk_lock_force_release(f->multi, NULL), LK_INVALID);
    assert_int_equal(lk_guarded_eval(f->members[0], &eval, 0, &reply, NULL), LK_OK); /* so does */
    assert_int_equal(lks_integer_of(reply), 1);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(f->members[2], NULL, NULL), LK_OK);
    assert_int_equal(lkm_acquire_for(f, 0, NULL), LK_INVALID); /* held apart */
    assert_false(lkm_exists(f, 0) || lkm_exists(f, 1));
    assert_int_equal(lk_lock_release(f->members[2], NULL), LK_OK);
    lkm_acquire(f);
    assert_int_equal(lk_lock_release(f->multi, NULL), LK_OK);
    lk_script_free(script);
}

FIXTURE(lkm_set_up, lkm_tear_down);
GROUP(lkm_start_servers, lkm_stop_servers);
