/*
 * Permits with leases on a real server: what lies on the wire, all or none, what comes back by
 * itself. Numbers in brackets are those of the checklist of cases for clients that share keys with
 * Redisson.
 */
#include "test/support/lk_support.h"

enum { LEASE_MS = 20000 };

static const char raw_id[] =
    "\x00\x01\x02 a\nb\x7f\x80\xfe\xff\"\r\x10{}"; /* as Redisson draws them */
static const char hex_id[] = "00010220610a627f80feff220d107b7d";

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

struct fixture {
    lk_client *client;
    lk_permits *mine, *other;
    const char *key;
    char timeouts[160], channel[160];
};

LKS_NEW(lk_permits, new_permits, lk_permits_new);

SET_UP(struct fixture, f)
{
    f->key = lks_new_key(server, "permits");
    (void)snprintf(f->timeouts, sizeof f->timeouts, "{%s}:timeout", f->key);
    (void)snprintf(f->channel, sizeof f->channel, "redisson_sc:{%s}", f->key);
    f->client = lks_client(server);
    f->mine = new_permits(f->client, f->key);
    f->other = new_permits(f->client, f->key);
}

TEAR_DOWN(struct fixture, f)
{
    lk_permits_free(f->mine);
    lk_permits_free(f->other);
    lk_client_close(f->client);
    LKS_DO(server, "DEL", f->key, f->timeouts);
}

static void set(struct fixture *f, int64_t count)
{
    assert_int_equal(lk_permits_try_set(f->mine, count, NULL), LK_OK);
}

static lk_status take_for(struct fixture *f, struct lk_permit *list, size_t count, int64_t lease_ms)
{
    struct lk_permit_options options = {.lease_ms = lease_ms};

    return lk_permits_acquire(f->mine, &options, list, count, NULL);
}

static void take(struct fixture *f, struct lk_permit *list, size_t count)
{
    assert_int_equal(take_for(f, list, count, LEASE_MS), LK_OK);
}

static void assert_usage(struct fixture *f, int64_t available, int64_t acquired)
{
    struct lk_permits_usage usage = {-4711, -4711};

    assert_int_equal(lk_permits_usage(f->other, &usage, NULL), LK_OK);
    assert_int_equal(usage.available, available);
    assert_int_equal(usage.acquired, acquired);
}

static long long server_now_ms(void)
{
    lk_reply *time = LKS_ASK(server, "TIME");
    long long seconds = strtoll(lk_reply_bytes(lk_reply_at(time, 0)).data, NULL, 10);
    long long micros = strtoll(lk_reply_bytes(lk_reply_at(time, 1)).data, NULL, 10);

    lk_reply_free(time);
    return seconds * 1000 + micros / 1000;
}

/* ZADD of a permit as a peer writes it; without NUL-terminated words, for the id has any byte. */
static void let_a_peer_take(struct fixture *f, const char *score)
{
    struct lk_bytes words[] = {LK_BYTES("ZADD"), lk_bytes_of(f->timeouts), lk_bytes_of(score),
                               LK_BYTES(raw_id)};
    lk_reply *reply = NULL;

    LKS_DO(server, "DECR", f->key);
    assert_int_equal(lk_client_call(f->client, &(struct lk_command){words, 4}, 1, 0, &reply, NULL),
                     LK_OK);
    assert_int_equal(lk_reply_integer(reply, 0), 1);
    lk_reply_free(reply);
}

/* ---- on the wire ----------------------------------------------------------------------------- */

TEST(an_id_is_16_raw_bytes_with_its_end, struct fixture *f) /* [60] */
{
    struct lk_permit permit = {0};

    set(f, 3);
    long long before = server_now_ms();
    take(f, &permit, 1);
    long long after = server_now_ms();

    assert_string_equal(LKS_TEXT(server, "GET", f->key), "2");
    assert_int_equal(strlen(permit.id), 32);
    assert_int_equal(strspn(permit.id, "0123456789abcdef"), 32);
    lk_reply *members = LKS_ASK(server, "ZRANGE", f->timeouts, "0", "-1", "WITHSCORES");
    assert_int_equal(lk_reply_count(members), 2);
    struct lk_bytes id = lk_reply_bytes(lk_reply_at(members, 0));
    assert_int_equal(id.len, 16);
    for (size_t i = 0; i < 16; i++) {
        char digits[3];

        (void)snprintf(digits, sizeof digits, "%02x", (unsigned char)id.data[i]);
        assert_memory_equal(digits, permit.id + 2 * i, 2);
    }
    long long ends = strtoll(lk_reply_bytes(lk_reply_at(members, 1)).data, NULL, 10);
    lk_reply_free(members);
    assert_in_range(ends, before + LEASE_MS, after + LEASE_MS);
    assert_int_equal(LKS_INTEGER(server, "PTTL", f->timeouts), -1);
    assert_in_range(lk_permit_remaining_ms(&permit), LEASE_MS - 10000, LEASE_MS);
}

TEST(a_release_takes_the_id_away_and_tells_the_total, struct fixture *f)
{
    struct lk_permit permit = {0};
    struct lks_monitor *monitor = lks_monitor_open(server);
    char message[256];

    set(f, 3);
    take(f, &permit, 1);
    assert_int_equal(lk_permits_release(f->other, &permit, 1, NULL), LK_OK);

    assert_string_equal(LKS_TEXT(server, "GET", f->key), "3");
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->timeouts), 0);
    (void)snprintf(message, sizeof message, "lua] \"PUBLISH\" \"%s\" \"3\"", f->channel);
    assert_int_equal(lks_count(lks_monitor_text(monitor, server), message), 2); /* and when set */
    lks_monitor_close(monitor);
    assert_int_equal(lk_permits_release(f->mine, &permit, 1, NULL), LK_NOT_OWNER);
    assert_usage(f, 3, 0);
}

TEST(an_id_that_a_peer_took_is_released_here, struct fixture *f) /* [60] */
{
    struct lk_permit permit = {0};

    set(f, 2);
    let_a_peer_take(f, "99999999999999");
    assert_usage(f, 1, 1);
    (void)snprintf(permit.id, sizeof permit.id, "%s", hex_id);
    assert_int_equal(lk_permits_ask(f->mine, &permit, NULL), LK_OK);
    assert_true(lk_permit_remaining_ms(&permit) > 1000000);
    assert_int_equal(lk_permits_release(f->mine, &permit, 1, NULL), LK_OK);
    assert_usage(f, 2, 0);
}

TEST(a_key_with_a_brace_brings_its_own_tag, struct fixture *f)
{
    const char *key = lks_key(server, "app:{t}:permits");
    lk_permits *permits = new_permits(f->client, key);
    struct lk_permit permit = {0};
    char timeouts[160];

    (void)snprintf(timeouts, sizeof timeouts, "%s:timeout", key);
    assert_int_equal(lk_permits_set(permits, 1, NULL), LK_OK);
    assert_int_equal(lk_permits_acquire(permits, NULL, &permit, 1, NULL), LK_OK);
    assert_int_equal(LKS_INTEGER(server, "ZCARD", timeouts), 1);
    assert_int_equal(lk_permits_delete(permits, NULL), LK_OK);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", key, timeouts), 0);
    assert_int_equal(lk_permits_delete(permits, NULL), LK_NOT_OWNER);
    lk_permits_free(permits);
}

TEST(a_ttl_of_the_number_is_that_of_the_ids_too, struct fixture *f) /* [61] */
{
    struct lk_permit permit = {0};

    set(f, 2);
    assert_int_equal(LKS_INTEGER(server, "PEXPIRE", f->key, "50000"), 1);
    take(f, &permit, 1);
    assert_in_range(LKS_INTEGER(server, "PTTL", f->timeouts), 40000, 50000);
}

TEST(a_permit_without_lease_has_redissons_score, struct fixture *f)
{
    struct lk_permit permit = {0};

    set(f, 1);
    assert_int_equal(take_for(f, &permit, 1, LK_PERMIT_NO_LEASE), LK_OK);
    lk_reply *members = LKS_ASK(server, "ZRANGE", f->timeouts, "0", "-1", "WITHSCORES");
    assert_string_equal(lk_reply_bytes(lk_reply_at(members, 1)).data, "922337203685477");
    lk_reply_free(members);
    assert_true(lk_permit_remaining_ms(&permit) == INT64_MAX);
    permit.ends_ns = 0;
    assert_int_equal(lk_permits_ask(f->mine, &permit, NULL), LK_OK);
    assert_true(lk_permit_remaining_ms(&permit) == INT64_MAX);
    assert_int_equal(take_for(f, &permit, 1, LEASE_MS), LK_BUSY);
}

/* ---- all or none ----------------------------------------------------------------------------- */

TEST(many_are_taken_all_or_none, struct fixture *f)
{
    struct lk_permit list[5];
    struct lk_error err = {0};

    memset(list, 0x55, sizeof list);
    set(f, 4);
    assert_int_equal(lk_permits_acquire(f->mine, NULL, list, 5, &err), LK_BUSY);
    assert_int_equal(err.code, LK_BUSY);
    assert_non_null(strstr(err.text, f->key));
    assert_int_equal(list[0].id[0], 0x55); /* written on success only */
    assert_usage(f, 4, 0);
    take(f, list, 4);
    assert_usage(f, 0, 4);
    assert_string_not_equal(list[0].id, list[3].id);
    assert_int_equal(lk_permits_release(f->mine, list, 4, NULL), LK_OK);
    assert_usage(f, 4, 0);
}

TEST(a_list_with_one_bad_id_releases_nothing, struct fixture *f) /* [60] */
{
    struct lk_permit list[3];
    struct lk_permit twice[2];

    set(f, 3);
    take(f, list, 3);
    struct lk_permit gone = list[1];
    assert_int_equal(lk_permits_release(f->mine, &gone, 1, NULL), LK_OK);
    assert_int_equal(lk_permits_release(f->mine, list, 3, NULL), LK_NOT_OWNER);
    assert_usage(f, 1, 2);
    twice[0] = twice[1] = list[0];
    assert_int_equal(lk_permits_release(f->mine, twice, 2, NULL), LK_OK);
    assert_usage(f, 2, 1); /* named twice, given back once */
}

TEST(the_longest_list_is_taken_and_a_longer_one_is_refused, struct fixture *f)
{
    struct lk_permit *list = calloc(LK_PERMITS_AT_ONCE + 1, sizeof *list);

    assert_non_null(list);
    set(f, LK_PERMITS_AT_ONCE + 1);
    take(f, list, LK_PERMITS_AT_ONCE);
    assert_usage(f, 1, LK_PERMITS_AT_ONCE);
    assert_int_equal(lk_permits_release(f->mine, list, LK_PERMITS_AT_ONCE, NULL), LK_OK);
    assert_int_equal(take_for(f, list, LK_PERMITS_AT_ONCE + 1, LEASE_MS), LK_INVALID);
    assert_int_equal(take_for(f, list, 0, LEASE_MS), LK_INVALID);
    assert_usage(f, LK_PERMITS_AT_ONCE + 1, 0);
    free(list);
}

/* ---- leases ---------------------------------------------------------------------------------- */

TEST(an_expired_permit_comes_back_exactly_once, struct fixture *f) /* [60] */
{
    struct lk_permit list[2];
    long long until = 0;

    set(f, 3);
    assert_int_equal(take_for(f, list, 1, LEASE_MS), LK_OK);
    assert_int_equal(take_for(f, list + 1, 1, LEASE_MS), LK_OK);
    assert_int_equal(lk_permits_renew(f->mine, list, 20, NULL), LK_OK);
    until = server_now_ms() + 20;
    LKS_EVENTUALLY(server_now_ms() > until, 5000);
    assert_int_equal(lk_permit_remaining_ms(&list[0]), 0);
    assert_int_equal(lk_permits_release(f->mine, list, 1, NULL), LK_NOT_OWNER);
    assert_usage(f, 2, 1);
    assert_int_equal(lk_permits_release(f->mine, list, 2, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_permits_release(f->mine, list, 1, NULL), LK_NOT_OWNER);
    assert_usage(f, 2, 1);
    assert_int_equal(lk_permits_ask(f->mine, list, NULL), LK_NOT_OWNER);
    assert_int_equal(lk_permits_release(f->mine, list + 1, 1, NULL), LK_OK);
    assert_usage(f, 3, 0);
}

TEST(a_lease_is_begun_anew_by_hand, struct fixture *f)
{
    struct lk_permit permit = {0};

    set(f, 1);
    assert_int_equal(take_for(f, &permit, 1, 5000), LK_OK);
    assert_int_equal(lk_permits_renew(f->other, &permit, LEASE_MS, NULL), LK_OK);
    assert_in_range(lk_permit_remaining_ms(&permit), LEASE_MS - 10000, LEASE_MS);
    assert_int_equal(lk_permits_renew(f->mine, &permit, LK_PERMIT_NO_LEASE, NULL), LK_OK);
    assert_true(lk_permit_remaining_ms(&permit) == INT64_MAX);
    assert_int_equal(lk_permits_renew(f->mine, &permit, 20, NULL), LK_OK); /* sooner is fine too */
    assert_in_range(lk_permit_remaining_ms(&permit), 0, 20);
    long long until = server_now_ms() + 20;
    LKS_EVENTUALLY(server_now_ms() > until, 5000);
    assert_int_equal(lk_permits_renew(f->mine, &permit, LEASE_MS, NULL), LK_LOST);
    assert_int_equal(lk_permit_remaining_ms(&permit), 0);
    assert_usage(f, 1, 0);
}

/* ---- how many there are ---------------------------------------------------------------------- */

TEST(the_number_counts_those_that_are_out_too, struct fixture *f)
{
    struct lk_permit list[3];

    assert_usage(f, 0, 0);
    assert_int_equal(lk_permits_set(f->mine, 3, NULL), LK_OK);
    assert_int_equal(lk_permits_try_set(f->mine, 9, NULL), LK_BUSY);
    take(f, list, 3);
    assert_int_equal(lk_permits_set(f->mine, 5, NULL), LK_OK);
    assert_int_equal(lk_permits_set(f->mine, 5, NULL), LK_OK);
    assert_usage(f, 2, 3);
    assert_int_equal(lk_permits_set(f->mine, 1, NULL), LK_OK);
    assert_usage(f, -2, 3);
    assert_int_equal(lk_permits_release(f->mine, list, 2, NULL), LK_OK);
    assert_int_equal(take_for(f, list, 1, LEASE_MS), LK_BUSY);
    assert_int_equal(lk_permits_release(f->mine, list + 2, 1, NULL), LK_OK);
    assert_usage(f, 1, 0);
}

/* ---- bad use --------------------------------------------------------------------------------- */

TEST(bad_arguments_are_told, struct fixture *f)
{
    struct lk_permit permit = {.id = "0123456789abcdef0123456789abcdef"};
    struct lk_permits_usage usage;
    static const char *const bad_ids[] = {"", "0123456789abcdef0123456789abcde",
                                          "0123456789abcdef0123456789abcdeg",
                                          "0123456789abcdef 123456789abcdef"};

    set(f, 1);
    assert_int_equal(take_for(f, &permit, 1, 9), LK_INVALID); /* it would end on the way */
    assert_int_equal(take_for(f, &permit, 1, -2), LK_INVALID);
    assert_int_equal(take_for(f, NULL, 1, LEASE_MS), LK_INVALID);
    assert_int_equal(
        lk_permits_acquire(f->mine, &(struct lk_permit_options){.wait_ms = -1}, &permit, 1, NULL),
        LK_INVALID);
    assert_int_equal(lk_permits_set(f->mine, -1, NULL), LK_INVALID);
    assert_int_equal(lk_permits_set(f->mine, (int64_t)INT32_MAX + 1, NULL), LK_INVALID);
    assert_int_equal(lk_permits_usage(f->mine, NULL, NULL), LK_INVALID);
    for (size_t i = 0; i < sizeof bad_ids / sizeof bad_ids[0]; i++) {
        (void)snprintf(permit.id, sizeof permit.id, "%s", bad_ids[i]);
        assert_int_equal(lk_permits_release(f->mine, &permit, 1, NULL), LK_INVALID);
        assert_int_equal(lk_permits_renew(f->mine, &permit, LEASE_MS, NULL), LK_INVALID);
        assert_int_equal(lk_permits_ask(f->mine, &permit, NULL), LK_INVALID);
    }
    memset(permit.id, 'a', sizeof permit.id); /* no end */
    assert_int_equal(lk_permits_release(f->mine, &permit, 1, NULL), LK_INVALID);
    assert_usage(f, 1, 0);

    assert_null(lk_permits_new(f->client, "", NULL));
    assert_null(lk_permits_new(f->client, NULL, NULL));
    assert_null(lk_permits_new(NULL, f->key, NULL));
    assert_int_equal(lk_permits_acquire(NULL, NULL, &permit, 1, NULL), LK_INVALID);
    assert_int_equal(lk_permits_release(NULL, &permit, 1, NULL), LK_INVALID);
    assert_int_equal(lk_permits_usage(NULL, &usage, NULL), LK_INVALID);
    assert_int_equal(lk_permits_delete(NULL, NULL), LK_INVALID);
    assert_int_equal(lk_permit_remaining_ms(NULL), 0);
    lk_permits_cancel(NULL);
    lk_permits_free(NULL);
}

static void assert_all_fail(struct fixture *f)
{
    struct lk_permit permit = {.id = "0123456789abcdef0123456789abcdef"};
    struct lk_permits_usage usage = {0};
    struct lk_error err = {0};

    assert_int_equal(lk_permits_acquire(f->mine, NULL, &permit, 1, &err), LK_SERVER);
    assert_int_equal(lk_permits_release(f->mine, &permit, 1, &err), LK_SERVER);
    assert_int_equal(lk_permits_set(f->mine, 3, &err), LK_SERVER);
    assert_int_equal(lk_permits_usage(f->mine, &usage, &err), LK_SERVER);
    assert_int_equal(err.code, LK_SERVER);
}

TEST(keys_of_another_type_are_an_error_and_stay, struct fixture *f)
{
    LKS_DO(server, "SET", f->key, "many");
    LKS_DO(server, "ZADD", f->timeouts, "1", "expired");
    assert_all_fail(f);
    assert_string_equal(LKS_TEXT(server, "GET", f->key), "many");
    assert_int_equal(LKS_INTEGER(server, "ZCARD", f->timeouts), 1);
    LKS_DO(server, "DEL", f->key, f->timeouts);
    LKS_DO(server, "SET", f->key, "2");
    LKS_DO(server, "SET", f->timeouts, "a string");
    assert_all_fail(f);
    assert_string_equal(LKS_TEXT(server, "GET", f->key), "2");
}

/* ---- events ---------------------------------------------------------------------------------- */

struct notes {
    char line[200];
    char tokens[8][LK_PERMIT_ID_MAX];
    size_t count;
};

static void note_event(const struct lk_event *event, void *arg)
{
    struct notes *notes = arg;
    size_t len = strlen(notes->line);

    if (!event->kind || strcmp(event->kind, "permits") != 0 || notes->count == 8) return;
    (void)snprintf(notes->line + len, sizeof notes->line - len, "%s %s %lld %s, ",
                   lk_event_name(event->type), lk_status_name(event->status),
                   (long long)event->count, event->ends_ns ? "ends" : "-");
    (void)snprintf(notes->tokens[notes->count++], LK_PERMIT_ID_MAX, "%s", event->token);
}

TEST(the_hook_is_told_of_every_permit, struct fixture *f)
{
    struct notes notes = {0};
    struct lk_permit list[2], more;
    lk_client *client = lks_client_with(
        server, (struct lk_client_options){.on_event = note_event, .on_event_arg = &notes});
    lk_permits *permits = new_permits(client, f->key);

    set(f, 2);
    assert_int_equal(lk_permits_acquire(permits, NULL, list, 2, NULL), LK_OK);
    assert_int_equal(lk_permits_acquire(permits, NULL, &more, 1, NULL), LK_BUSY);
    assert_int_equal(lk_permits_renew(permits, &list[0], LEASE_MS, NULL), LK_OK);
    assert_int_equal(lk_permits_release(permits, list, 2, NULL), LK_OK);

    assert_string_equal(notes.line, "acquire ok 1 ends, acquire ok 1 ends, acquire busy 0 -, "
                                    "renew ok 0 ends, release ok 1 -, release ok 1 -, ");
    assert_string_equal(notes.tokens[0], list[0].id);
    assert_string_equal(notes.tokens[5], list[1].id);
    lk_permits_free(permits);
    lk_client_close(client);
}
