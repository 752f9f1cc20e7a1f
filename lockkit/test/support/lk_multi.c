/*
 * See lk_multi.h.
 */
#include "lk_multi.h"

static struct lks_server *here, *there;

int lkm_start_servers(void **state)
{
    struct lks_server *one = lks_server_start(NULL);
    struct lks_server *other = lks_server_start(NULL);
    bool is_first = strcmp(one->url, other->url) < 0; /* as the multi lock sorts them */

    (void)state;
    here = is_first ? one : other;
    there = is_first ? other : one;
    return 0;
}

int lkm_stop_servers(void **state)
{
    (void)state;
    lks_server_stop(here);
    lks_server_stop(there);
    return 0;
}

struct lks_server *lkm_server_of(size_t member)
{
    return member == 1 ? there : here;
}

static void see_event(const struct lk_event *event, void *arg)
{
    struct lkm_trio *trio = arg;
    bool is_step = event->type == LK_EVENT_ACQUIRE || event->type == LK_EVENT_RELEASE;

    if (event->type == LK_EVENT_ROUND_TRIP) atomic_store(&trio->has_asked, true);
    if (is_step && trio->on_step) trio->on_step(trio, event);
}

static lk_lock *new_member(struct lkm_trio *trio, size_t member)
{
    if (member == 0) return lk_mutex_new(trio->client, trio->keys[0], NULL);
    if (member == 1) return lk_reentrant_new(trio->client_there, trio->keys[1], NULL);
    return lk_fenced_new(trio->client, trio->keys[2], NULL);
}

int lkm_set_up(void **state)
{
    static unsigned serial;
    struct lkm_trio *trio = calloc(1, sizeof *trio);
    struct lk_client_options options = {
        .backoff_ms = 5, .on_event = see_event, .on_event_arg = trio};
    char name[32];

    assert_non_null(trio);
    trio->client = lks_client_with(here, options);
    trio->client_there = lks_client_with(there, options);
    for (size_t i = 0; i < LKM_MEMBERS; i++) {
        (void)snprintf(name, sizeof name, "multi-%u-%c", serial, "abc"[i]);
        trio->keys[i] = lks_key(lkm_server_of(i), name);
        trio->members[i] = new_member(trio, i);
        trio->others[i] = new_member(trio, i);
        assert_non_null(trio->members[i]);
        assert_non_null(trio->others[i]);
    }
    serial++;
    trio->multi = lk_multi_new(trio->members, LKM_MEMBERS, NULL, NULL);
    assert_non_null(trio->multi);
    *state = trio;
    return 0;
}

int lkm_tear_down(void **state)
{
    struct lkm_trio *trio = *state;

    lk_lock_free(trio->multi);
    for (size_t i = 0; i < LKM_MEMBERS; i++) {
        lk_lock_free(trio->members[i]);
        lk_lock_free(trio->others[i]);
    }
    lk_client_close(trio->client);
    lk_client_close(trio->client_there);
    free(trio);
    return 0;
}

bool lkm_exists(struct lkm_trio *trio, size_t member)
{
    return LKS_INTEGER(lkm_server_of(member), "EXISTS", trio->keys[member]) == 1;
}

bool lkm_exists_any(struct lkm_trio *trio)
{
    return lkm_exists(trio, 0) || lkm_exists(trio, 1) || lkm_exists(trio, 2);
}

lk_status lkm_acquire_for(struct lkm_trio *trio, int64_t wait_ms, struct lk_error *err)
{
    return lk_lock_acquire(trio->multi,
                           &(struct lk_lock_options){.wait_ms = wait_ms, .lease_ms = 60000}, err);
}

void lkm_acquire(struct lkm_trio *trio)
{
    struct lk_error err = {0};

    if (lkm_acquire_for(trio, 0, &err) != LK_OK) fail_msg("%s", err.text);
}

void lkm_let_other_hold(struct lkm_trio *trio, size_t member)
{
    assert_int_equal(lk_lock_acquire(trio->others[member], NULL, NULL), LK_OK);
}

void lkm_count_loss(lk_lock *lock, void *arg)
{
    struct lkm_trio *trio = arg;

    atomic_fetch_add(&trio->losses, lock == trio->multi ? 1 : 1000);
}

void lkm_await_losses(struct lkm_trio *trio, int count)
{
    LKS_EVENTUALLY(atomic_load(&trio->losses) == count, 5000);
}

void lkm_assert_report(struct lkm_trio *trio, lk_status a, lk_status b, lk_status c)
{
    lk_status statuses[LKM_MEMBERS];

    assert_int_equal(lk_multi_report(trio->multi, statuses), LKM_MEMBERS);
    assert_int_equal(statuses[0], a);
    assert_int_equal(statuses[1], b);
    assert_int_equal(statuses[2], c);
}

static void *acquire_main(void *arg)
{
    struct lkm_wait *wait = arg;

    wait->status = lkm_acquire_for(wait->trio, wait->wait_ms, NULL);
    return NULL;
}

void lkm_wait_start(struct lkm_wait *wait, struct lkm_trio *trio, int64_t wait_ms)
{
    *wait = (struct lkm_wait){.trio = trio, .wait_ms = wait_ms};
    atomic_store(&trio->has_asked, false);
    assert_int_equal(pthread_create(&wait->thread, NULL, acquire_main, wait), 0);
    LKS_EVENTUALLY(atomic_load(&trio->has_asked), 5000);
}

lk_status lkm_wait_finish(struct lkm_wait *wait)
{
    assert_int_equal(pthread_join(wait->thread, NULL), 0);
    return wait->status;
}
