/*
 * The observer: looks at locks, stock and orders behind everybody's back, on a connection of its own
 * that no actor is stopped by. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stage_internal.h"

enum { LOOK_MS = 1, UUID_LEN = 36, LAPSE_KEY_SIZE = 128 };

static void print_label(struct stage *stage, struct lk_bytes value, char *out, size_t size)
{
    FILE *text = fmemopen(out, size, "w");

    if (!text) return;
    if (value.data) tap_print(stage->tap, "?", value, text);
    (void)fclose(text); /* what does not fit is cut */
    out[size - 1] = '\0';
}

/* Who is in a lock's hash, "A#1,B#1": its fields, but a read/write lock's mode. */
static void print_owners(struct stage *stage, const lk_reply *fields, char *out, size_t size)
{
    char label[LABEL_SIZE] = "";
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < lk_reply_count(fields) && used < size; i++) {
        struct lk_bytes field = lk_reply_bytes(lk_reply_at(fields, i));

        if (field.data && strcmp(field.data, "mode") == 0) continue;
        print_label(stage, field, label, sizeof label);
        used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? "," : "", label);
    }
}

/* ---- in PostgreSQL ---------------------------------------------------------------------------------- */

/* Sessions are called "lockkit UUID:NUMBER". */
#define UUID(name) "substr(" name ", 9, 36)"

static bool observe_database(struct stage *stage, struct lab_state *out)
{
    struct database *database = servers_database(stage->servers);
    char sessions[LABEL_VALUE_SIZE] = "";
    char leases[LABEL_VALUE_SIZE] = "";
    bool is_there =
        database_ask(
            database,
            "SELECT " UUID("application_name") " FROM pg_catalog.pg_locks"
                                               " JOIN pg_catalog.pg_stat_activity USING (pid)"
                                               " WHERE locktype = 'advisory' AND granted LIMIT 1",
            sessions, sizeof sessions) &&
        database_ask(database,
                     "SELECT " UUID("owner") " FROM seckill.lease"
                                             " WHERE until > pg_catalog.clock_timestamp()",
                     leases, sizeof leases);

    out->lock[0].lease = *sessions ? LAB_SESSION : *leases ? LAB_LEASED : LAB_FREE;
    print_label(stage, lk_bytes_of(*sessions ? sessions : leases), out->lock[0].owner,
                sizeof out->lock[0].owner);
    return is_there;
}

/* What was done, shown as a call; false: its answer is not that one. */
static bool change_database(struct stage *stage, const char *sql, const char *wanted,
                            struct tap_calls *out)
{
    char answer[LABEL_VALUE_SIZE] = "";
    bool is_done = database_ask(servers_database(stage->servers), sql, answer, sizeof answer) &&
                   strcmp(answer, wanted) == 0;

    tap_calls_show(out, TAP_POSTGRES, wanted, "%s", sql);
    return is_done;
}

/* The server ends the session of whoever has the lock: the lock is free before the connection has ended. */
static bool terminate_session(struct stage *stage, struct tap_calls *out)
{
    static const char count[] = "SELECT count(*) FROM pg_catalog.pg_locks"
                                " WHERE locktype = 'advisory' AND granted";
    int64_t deadline_ms = clock_mono_ms() + STAGE_LIMIT_MS;
    char left[LABEL_VALUE_SIZE] = "";
    unsigned seen = tap_hang_ups(stage->tap, TAP_POSTGRES);
    bool is_there = change_database(
        stage, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'", "t",
        out);

    while (is_there && strcmp(left, "0") != 0 && clock_mono_ms() < deadline_ms) {
        is_there = database_ask(servers_database(stage->servers), count, left, sizeof left);
        clock_pause_ms(LOOK_MS);
    }
    return is_there && tap_wait_hang_up(stage->tap, TAP_POSTGRES, seen, STAGE_LIMIT_MS) &&
           !tap_is_interrupted();
}

/* ---- in ZooKeeper ----------------------------------------------------------------------------------- */

/* Whose node: "_c_UUID-lock-NUMBER", or "A-lock-NUMBER". */
static struct lk_bytes owner_of(const char *node)
{
    static const char curator[] = "_c_";

    if (strncmp(node, curator, sizeof curator - 1) == 0)
        return (struct lk_bytes){node + sizeof curator - 1, UUID_LEN};
    return (struct lk_bytes){node, strcspn(node, "-")};
}

static int compare_labels(const void *one, const void *other)
{
    return strcmp(one, other);
}

static bool observe_ensemble(struct stage *stage, struct lab_state *out)
{
    char nodes[ENSEMBLE_HOLDERS][ENSEMBLE_NODE];
    char labels[ENSEMBLE_HOLDERS][LABEL_SIZE];
    int count = ensemble_holders(servers_ensemble(stage->servers), stage->run->locks[0], nodes);
    size_t used = 0;

    for (int i = 0; i < count; i++)
        print_label(stage, owner_of(nodes[i]), labels[i], sizeof labels[i]);
    /* Two of one number come in any order. */
    if (count > 0) qsort(labels, (size_t)count, sizeof labels[0], compare_labels);
    for (int i = 0; i < count && used < LABEL_SIZE; i++)
        used += (size_t)snprintf(out->lock[0].owner + used, LABEL_SIZE - used, "%s%s",
                                 i > 0 ? "," : "", labels[i]);
    out->lock[0].lease = count > 0 ? LAB_SESSION : LAB_FREE;
    return count >= 0;
}

/* Whoever has the lock says nothing more, until its session is over. */
static bool end_silent_session(struct stage *stage, struct tap_calls *out)
{
    int64_t deadline_ms = clock_mono_ms() + STAGE_LIMIT_MS;
    struct lab_state now = {.stock = 0};
    bool is_there = observe_ensemble(stage, &now);
    int owner = promises_owner(stage, now.lock[0].owner);

    if (!is_there || owner < 0) return false;
    tap_still(stage->tap, stage->actors[owner].wire);
    while (is_there && now.lock[0].lease != LAB_FREE && clock_mono_ms() < deadline_ms &&
           !tap_is_interrupted()) {
        clock_pause_ms(LOOK_MS);
        is_there = observe_ensemble(stage, &now);
    }
    tap_calls_show(out, TAP_ZOOKEEPER, "session expired", "(no ping for 3 s)");
    return now.lock[0].lease == LAB_FREE;
}

bool observe_end_session(struct stage *stage, struct tap_calls *out)
{
    return stage->beside == TAP_ZOOKEEPER ? end_silent_session(stage, out)
                                          : terminate_session(stage, out);
}

/* ---- locks ------------------------------------------------------------------------------------------ */

static bool observe_lock(struct stage *stage, size_t i, struct lab_state *out)
{
    if (stage->run->lock_servers[i] == TAP_POSTGRES) return observe_database(stage, out);
    if (stage->run->lock_servers[i] == TAP_ZOOKEEPER) return observe_ensemble(stage, out);
    const char *key = stage->run->locks[i];
    lk_client *client = servers_client(stage->servers, stage->run->lock_servers[i]);

    out->lock[i].lease = LAB_DOWN;
    if (!client) return true;
    const struct servers_words words[] = {{{"PTTL", key}}, {{"GET", key}}, {{"HKEYS", key}}};
    lk_reply *replies[SERVERS_ASKS_MAX] = {NULL}; /* GET or HKEYS is an error */
    if (!servers_ask_all(client, words, SERVERS_ASKS_MAX, replies)) return false;
    long long left_ms = lk_reply_integer(replies[0], -3);

    if (lk_reply_type_of(replies[1]) == LK_REPLY_STRING) {
        print_label(stage, lk_reply_bytes(replies[1]), out->lock[i].owner,
                    sizeof out->lock[i].owner);
    } else {
        print_owners(stage, replies[2], out->lock[i].owner, sizeof out->lock[i].owner);
    }
    out->lock[i].lease = LAB_FREE;
    if (left_ms == -1) out->lock[i].lease = LAB_FOR_EVER;
    if (left_ms >= 0) out->lock[i].lease = LAB_LEASED;
    bool is_elsewhere = lk_reply_type_of(replies[0]) == LK_REPLY_ERROR; /* in a cluster: MOVED */
    servers_free_replies(replies, SERVERS_ASKS_MAX);
    return left_ms != -3 || is_elsewhere;
}

/* "ORDER_ID:BUYER:KEY": sold; of an order that was, "ORDER_ID:BUYER...": paid, or over. */
static void read_row(const char *event, const char *row, struct lab_state *out)
{
    size_t at = out->order_count;
    size_t id = strcspn(row, ":");
    const char *buyer = row[id] ? row + id + 1 : "";
    bool is_paid = strcmp(event, "paid") == 0;

    out->payments += is_paid;
    for (size_t i = 0; strcmp(event, "sold") != 0 && i < at && i < LAB_ROWS_MAX; i++) {
        if (strlen(out->orders[i].order) == id && strncmp(out->orders[i].order, row, id) == 0)
            out->orders[i].is_over = !is_paid;
    }
    if (strcmp(event, "sold") != 0 || ++out->order_count > LAB_ROWS_MAX) return;
    (void)snprintf(out->orders[at].order, sizeof out->orders[at].order, "%.*s", (int)id, row);
    (void)snprintf(out->orders[at].buyer, sizeof out->orders[at].buyer, "%.*s",
                   (int)strcspn(buyer, ":"), buyer);
}

static void read_ledger(const lk_reply *entries, struct lab_state *out)
{
    for (size_t i = 0; i < lk_reply_count(entries); i++) {
        const lk_reply *fields = lk_reply_at(lk_reply_at(entries, i), 1);
        const char *event = lk_reply_bytes(lk_reply_at(fields, 1)).data;

        for (size_t k = 0; k + 1 < lk_reply_count(fields); k += 2) {
            const char *field = lk_reply_bytes(lk_reply_at(fields, k)).data;

            out->payments += strcmp(field, "refund") == 0;
            if (strcmp(field, "order") == 0)
                read_row(event, lk_reply_bytes(lk_reply_at(fields, k + 1)).data, out);
        }
    }
    for (size_t i = 0; i < out->order_count && i < LAB_ROWS_MAX; i++)
        out->over_count += out->orders[i].is_over;
}

/* Who is the owner of a lock whose word tells nobody: whoever took it, when it was free or had another word. */
static void name_owner(const struct stage *stage, const char *before, char owner[LABEL_SIZE])
{
    const struct lab_step *step = &stage->run->steps[stage->run->step_count - 1];
    const char *old = strchr(before, '#');
    char word[LABEL_SIZE];

    if (!owner[0] || promises_owner(stage, owner) >= 0) return;
    (void)snprintf(word, sizeof word, "%s", owner);
    if (old && strncmp(old + 1, word, LABEL_SIZE - 8) == 0) {
        (void)snprintf(owner, LABEL_SIZE, "%s", before);
    } else if (step->actor >= 0) {
        (void)snprintf(owner, LABEL_SIZE, "%s#%.*s", stage->run->actors[step->actor].name,
                       LABEL_SIZE - 8, word);
    }
}

/*
 * Whether the lease has been prolonged since. It is made shorter at every look, so that also who prolongs it within the
 * same millisecond is seen to do so.
 */
static void look_at_lease(struct stage *stage, const struct lab_state *before,
                          struct lab_state *out)
{
    static const char shorten[] =
        "local left = redis.call('PTTL', KEYS[1])\n"
        "if left > 2000 then redis.call('PEXPIRE', KEYS[1], left - 1000) end\n"
        "return left";
    lk_reply *reply = SERVERS_ASK(stage->observer, "EVAL", shorten, "1", stage->run->locks[0]);
    long long left_ms = lk_reply_integer(reply, 0);

    out->lock[0].left_ms = left_ms > 2000 ? left_ms - 1000 : left_ms;
    out->lock[0].is_prolonged =
        before->lock[0].lease == LAB_LEASED && left_ms > before->lock[0].left_ms;
    lk_reply_free(reply);
}

static bool observe_program(struct stage *stage, struct lab_state *out)
{
    static const struct lab_state nothing;
    const struct lab_run *run = stage->run;
    const struct lab_state *before =
        run->step_count > 1 ? &run->steps[run->step_count - 2].state : &nothing;
    bool is_there = task_observe(stage->program->task, stage->observer, out);

    for (size_t i = 0; is_there && i < run->lock_count; i++) {
        is_there = observe_lock(stage, i, out);
        name_owner(stage, before->lock[i].owner, out->lock[i].owner);
    }
    if (stage->program->task->renews && out->lock[0].lease == LAB_LEASED)
        look_at_lease(stage, before, out);
    return is_there;
}

bool observe(struct stage *stage, struct lab_state *out)
{
    static const struct servers_words words[] = {{{"GET", STAGE_KEY("stock")}},
                                                 {{"XRANGE", STAGE_KEY("ledger"), "-", "+"}}};
    lk_reply *replies[2] = {NULL};

    *out = (struct lab_state){.stock = 0};
    if (stage->program) return observe_program(stage, out);
    bool is_there = servers_ask_all(stage->observer, words, 2, replies);
    struct lk_bytes text = lk_reply_bytes(replies[0]);
    *out = (struct lab_state){.stock = text.data ? strtoll(text.data, NULL, 10) : 0};
    if (is_there) read_ledger(replies[1], out);
    servers_free_replies(replies, 2);
    for (size_t i = 0; is_there && i < stage->run->lock_count; i++)
        is_there = observe_lock(stage, i, out);
    return is_there;
}

/* On one server; it ends there at once, and nobody waits for it. False: there was no lease, or it does not end. */
static bool lapse_on(struct stage *stage, unsigned server, const char *key, struct tap_calls *out)
{
    const struct servers_words words[] = {{{"PEXPIRE", key, "0"}}, {{"PTTL", key}}};
    lk_client *client = servers_client(stage->servers, server);
    lk_reply *replies[2] = {NULL};

    if (!client || !servers_ask_all(client, words, 2, replies)) return false;
    bool was_there = lk_reply_integer(replies[0], 0) == 1;
    bool is_over = lk_reply_integer(replies[1], 0) == -2;
    servers_free_replies(replies, 2);
    if (!was_there) return false;
    tap_calls_show(out, server, "1", "PEXPIRE %s 0", key);
    return is_over;
}

/* A member's time in a sorted set is the distant past. */
static bool lapse_member(struct stage *stage, const char *key, struct lk_bytes member,
                         struct tap_calls *out)
{
    char label[LABEL_SIZE];
    lk_reply *reply =
        member.data ? SERVERS_ASK(stage->observer, "ZADD", key, "1", member.data) : NULL;
    bool was_there = lk_reply_integer(reply, -1) == 0;

    lk_reply_free(reply);
    if (!member.data) return false;
    print_label(stage, member, label, sizeof label);
    tap_calls_show(out, TAP_SHOP, "0", "ZADD %s 1 %s", key, label);
    return was_there;
}

bool observe_lapse(struct stage *stage, const char *key, struct tap_calls *out)
{
    bool is_there = false;

    if (strcmp(key, STAGE_KEY("due")) == 0) {
        lk_reply *first = SERVERS_ASK(stage->observer, "ZRANGE", key, "0", "0");

        is_there = lapse_member(stage, key, lk_reply_bytes(lk_reply_at(first, 0)), out);
        lk_reply_free(first);
        return is_there;
    }
    if (stage->beside == TAP_POSTGRES)
        return change_database(
            stage, "UPDATE seckill.lease SET until = clock_timestamp() RETURNING true", "t", out);
    if (stage->run->server_count == 0) return lapse_on(stage, 0, key, out);
    for (unsigned server = 1; server <= stage->run->server_count; server++)
        is_there |= lapse_on(stage, server, key, out);
    return is_there;
}

bool observe_due(struct stage *stage)
{
    lk_reply *reply = SERVERS_ASK(stage->observer, "ZCOUNT", STAGE_KEY("due"), "2", "inf");
    bool is_to_come = lk_reply_integer(reply, 0) > 0;

    lk_reply_free(reply);
    return is_to_come;
}

bool observe_lapse_first(struct stage *stage, const char *key, struct tap_calls *out)
{
    char queue[LAPSE_KEY_SIZE];
    char windows[LAPSE_KEY_SIZE];

    (void)snprintf(queue, sizeof queue, "redisson_lock_queue:%s", key);
    (void)snprintf(windows, sizeof windows, "redisson_lock_timeout:%s", key);
    /* Not whose window ends first: two may have come within a millisecond. */
    lk_reply *head = SERVERS_ASK(stage->observer, "LINDEX", queue, "0");
    bool was_there = lapse_member(stage, windows, lk_reply_bytes(head), out);

    lk_reply_free(head);
    return was_there;
}
