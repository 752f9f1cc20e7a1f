/*
 * A seat goes its own way: a connection (an idle one, one that is made here without waiting, or the
 * parked one that still owes an answer), who is at the other end, the question, the answer.
 * Answers come in the order of the questions on a connection, so one that is asked behind another
 * cannot overtake it.
 *
 * Threads: the caller's. Locks: none of its own.
 */
#include "seat.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "wire/endpoint.h"
#include "wire/pool.h"
#include "wire/reply.h"

enum { CHECK_ANSWERS = 2 };

/* ---- who a server is ----------------------------------------------------------------------------- */

/* The line "name:value\r\n" of an INFO; empty when it is not there. */
static struct lk_bytes info_value(struct lk_bytes info, const char *name)
{
    size_t name_len = strlen(name);

    if (!info.data) return info;
    const char *end = info.data + info.len;
    for (const char *line = info.data; line && line < end;) {
        const char *stop = memchr(line, '\r', (size_t)(end - line));
        size_t len = (size_t)((stop ? stop : end) - line);

        if (len > name_len && memcmp(line, name, name_len) == 0 && line[name_len] == ':') {
            return (struct lk_bytes){line + name_len + 1, len - name_len - 1};
        }
        line = stop ? stop + 1 : end;
        if (line < end && *line == '\n') line++;
    }
    return (struct lk_bytes){0};
}

static struct lk_bytes text_of(const lk_reply *reply)
{
    return lk_reply_type_of(reply) == LK_REPLY_STRING ? lk_reply_bytes(reply)
                                                      : (struct lk_bytes){0};
}

void lki_seat_read_identity(struct lki_identity *out, struct lk_bytes server,
                            struct lk_bytes replication)
{
    struct lk_bytes run_id = info_value(server, "run_id");
    struct lk_bytes role = info_value(replication, "role");

    *out = (struct lki_identity){.is_asked = true,
                                 .is_replica = role.len == 5 && memcmp(role.data, "slave", 5) == 0};
    if (run_id.len < sizeof out->run_id)
        (void)snprintf(out->run_id, sizeof out->run_id, "%.*s", (int)run_id.len,
                       run_id.data ? run_id.data : "");
}

/* ---- a seat -------------------------------------------------------------------------------------- */

static enum lki_ask_turn settle(struct lki_ask_all *all, size_t i)
{
    return all->settle ? all->settle(all->arg, i) : LKI_ASK_GOES_ON;
}

bool lki_seat_is_open(const struct lki_seat *seat)
{
    return seat->sent_at != 0 && !seat->reply;
}

const lk_reply *lki_seat_answer(const struct lki_seat *seat)
{
    return seat->sent_at != 0 ? seat->reply : NULL;
}

lk_status lki_seat_fail_reply(const struct lki_seat *seat, struct lk_error *err)
{
    struct lki_topology *topology = seat->client->topology;
    struct lki_node *node = lki_topology_node(topology, LKI_NO_SLOT, NULL);

    (void)lki_exchange_learn(topology, seat->reply, node);
    lki_node_unref(node);
    if (seat->redis && lki_reply_is_error(seat->reply, "NOSCRIPT"))
        return lki_script_fail(err, seat->reply, lki_redis_refusal(seat->redis));
    return lki_exchange_fail(seat->client, seat->reply, err);
}

static void tell_round_trip(const struct lki_seat *seat, lk_status status)
{
    int64_t now = lki_clock_now();

    lki_context_emit(seat->client, (struct lk_event){.type = LK_EVENT_ROUND_TRIP,
                                                     .status = status,
                                                     .at_ns = now,
                                                     .duration_ns = now - seat->sent_at,
                                                     .attempts = 1});
}

/* Its connection is of no use any more. What was asked on it stays open. */
static enum lki_ask_turn fail_seat(struct lki_ask_all *all, size_t i)
{
    struct lki_seat *seat = &all->seats[i];

    if (seat->phase == LKI_SEAT_CONNECTING) {
        (void)lki_pool_fill(seat->pool, seat->redis, seat->begun_at, &seat->why);
    } else if (seat->redis) {
        lki_pool_return(seat->pool, seat->redis);
    }
    if (seat->phase == LKI_SEAT_ASKED) {
        seat->why.code = LK_UNKNOWN;
        tell_round_trip(seat, LK_UNKNOWN);
    }
    if (seat->debt) lki_pool_owe(seat->pool, seat->debt);
    seat->debt = NULL;
    seat->redis = NULL;
    seat->owed = 0;
    seat->phase = LKI_SEAT_IDLE;
    return settle(all, i);
}

/* Nothing is asked yet: what fails here is a connection of no use. */
static lk_status introduce(struct lki_seat *seat, int64_t now)
{
    if (!seat->request)
        return LKI_FAIL(&seat->why, LK_NO_MEMORY, "%s", seat->client->url.seeds[0].label);
    if (!seat->request->introduce) return LK_OK;
    lk_status status = lki_redis_introduce(seat->redis, &seat->client->url.seeds[0],
                                           seat->request->introduce->text, now, &seat->why);
    if (status != LK_UNKNOWN) return status;
    seat->why.code = LK_UNREACHABLE;
    return LK_UNREACHABLE;
}

static enum lki_ask_turn ask_seat(struct lki_ask_all *all, size_t i)
{
    struct lki_seat *seat = &all->seats[i];

    seat->phase = LKI_SEAT_IDLE;
    if (!all->ask) return settle(all, i);
    int64_t now = lki_clock_now();
    lk_status status = introduce(seat, now);
    if (status == LK_OK)
        status = lki_redis_send(seat->redis, &seat->request->command, 1, now, &seat->why);
    if (status == LK_OK || status == LK_UNKNOWN) {
        seat->sent_at = now;
        seat->phase = LKI_SEAT_ASKED;
        seat->owed++;
        seat->events = POLLIN;
    }
    return status == LK_OK ? LKI_ASK_GOES_ON : fail_seat(all, i);
}

/* It is known who it is: ask, or not. */
static enum lki_ask_turn admit_seat(struct lki_ask_all *all, size_t i)
{
    struct lki_seat *seat = &all->seats[i];
    const struct lki_identity *identity = lki_redis_identity(seat->redis);

    if (all->check && all->check(all->arg, i, identity, &seat->why) != LK_OK) {
        lki_pool_renew(seat->pool); /* it may be another one, and its name lead elsewhere */
        seat->phase = LKI_SEAT_IDLE;
        return settle(all, i);
    }
    return ask_seat(all, i);
}

static enum lki_ask_turn begin_check(struct lki_ask_all *all, size_t i)
{
    struct lki_seat *seat = &all->seats[i];
    struct lk_bytes server[] = {LK_BYTES("INFO"), LK_BYTES("server")};
    struct lk_bytes replication[] = {LK_BYTES("INFO"), LK_BYTES("replication")};
    struct lk_command commands[CHECK_ANSWERS] = {{server, 2}, {replication, 2}};

    seat->phase = LKI_SEAT_CHECKING;
    seat->events = POLLIN;
    seat->owed = CHECK_ANSWERS;
    if (lki_redis_send(seat->redis, commands, CHECK_ANSWERS, lki_clock_now(), &seat->why) == LK_OK)
        return LKI_ASK_GOES_ON;
    seat->why.code = LK_UNREACHABLE; /* nothing was asked that matters */
    return fail_seat(all, i);
}

static enum lki_ask_turn use_connection(struct lki_ask_all *all, size_t i)
{
    struct lki_seat *seat = &all->seats[i];
    bool must_check = all->check && !lki_redis_identity(seat->redis)->is_asked;

    return must_check ? begin_check(all, i) : admit_seat(all, i);
}

static enum lki_ask_turn connect_on(struct lki_ask_all *all, size_t i)
{
    struct lki_seat *seat = &all->seats[i];
    lk_status status =
        lki_redis_open_go_on(seat->redis, &seat->client->url.seeds[0], &seat->events, &seat->why);

    if (status == LK_BUSY) return LKI_ASK_GOES_ON;
    if (status != LK_OK) return fail_seat(all, i);
    seat->redis = lki_pool_fill(seat->pool, seat->redis, seat->begun_at, NULL);
    seat->phase = LKI_SEAT_IDLE;
    if (seat->redis) return use_connection(all, i);
    (void)LKI_FAIL(&seat->why, LK_UNREACHABLE, "the client is being closed");
    return fail_seat(all, i);
}

static enum lki_ask_turn begin_connect(struct lki_ask_all *all, size_t i)
{
    struct lki_seat *seat = &all->seats[i];

    seat->phase = LKI_SEAT_CONNECTING;
    seat->redis = lki_redis_open_begin(&seat->client->url.seeds[0], all->deadline, &seat->why);
    return seat->redis ? connect_on(all, i) : fail_seat(all, i);
}

/* Its own, with the answers that are out; but not one of which it is not known who is there. */
static void unpark(const struct lki_ask_all *all, struct lki_seat *seat)
{
    unsigned most = all->pile_most > 0 ? all->pile_most : UINT_MAX;

    seat->redis = lki_pool_unpark(seat->pool, seat->ticket, most, &seat->owed, &seat->debt);
    if (!seat->redis || !all->check || lki_redis_identity(seat->redis)->is_asked) return;
    (void)lki_pool_park(seat->pool, seat->redis, seat->owed, seat->debt,
                        lki_context_deadline(seat->client, 0));
    seat->redis = NULL;
    seat->debt = NULL;
    seat->owed = 0;
}

/* With the connection it kept or parked, or another one. */
enum lki_ask_turn lki_seat_begin(struct lki_ask_all *all, size_t i)
{
    struct lki_seat *seat = &all->seats[i];

    if (!seat->redis && seat->ticket) unpark(all, seat);
    seat->ticket = 0;
    seat->phase = LKI_SEAT_IDLE;
    seat->begun_at = lki_clock_now();
    if (seat->redis) return use_connection(all, i);
    lk_status status = lki_pool_try_borrow(seat->pool, &seat->redis, &seat->why);
    if (status == LK_EXHAUSTED) {
        seat->why.code = LK_UNREACHABLE;
        seat->phase = LKI_SEAT_WAITING;
        return LKI_ASK_GOES_ON;
    }
    if (status != LK_OK) return fail_seat(all, i);
    seat->why = (struct lk_error){0};
    return seat->redis ? use_connection(all, i) : begin_connect(all, i);
}

/* The two answers of the check come one after the other: the first is kept meanwhile. */
static enum lki_ask_turn hear_check(struct lki_ask_all *all, size_t i, lk_reply *reply)
{
    struct lki_seat *seat = &all->seats[i];

    if (seat->owed == 1) {
        seat->reply = reply;
        return LKI_ASK_GOES_ON;
    }
    lki_seat_read_identity(lki_redis_identity(seat->redis), text_of(seat->reply), text_of(reply));
    lk_reply_free(seat->reply);
    lk_reply_free(reply);
    seat->reply = NULL;
    return admit_seat(all, i);
}

/* It is the one to what was undone before: done, or to be done again. */
static void settle_debt(struct lki_seat *seat, const lk_reply *reply)
{
    if (lki_debt_is_paid(reply)) {
        lki_debt_free(seat->debt);
    } else {
        lki_pool_owe(seat->pool, seat->debt);
    }
    seat->debt = NULL;
}

/* One answer. */
static enum lki_ask_turn hear(struct lki_ask_all *all, size_t i, lk_reply *reply)
{
    struct lki_seat *seat = &all->seats[i];

    seat->owed--;
    if (seat->debt && (seat->phase != LKI_SEAT_ASKED || seat->owed == 1)) settle_debt(seat, reply);
    if (seat->phase == LKI_SEAT_CHECKING) return hear_check(all, i, reply);
    if (seat->owed > 0) { /* to what was asked before */
        lk_reply_free(reply);
        return LKI_ASK_GOES_ON;
    }
    seat->reply = reply;
    seat->round_trip_ns = lki_clock_now() - seat->sent_at;
    seat->phase = LKI_SEAT_IDLE;
    tell_round_trip(seat, LK_OK);
    if (!lki_reply_is_error(reply, "NOSCRIPT") ||
        !lki_script_spell_out(seat->request, seat->client->has_loader))
        return settle(all, i);
    lk_reply_free(seat->reply);
    seat->reply = NULL;
    return ask_seat(all, i);
}

/* The socket is ready. */
enum lki_ask_turn lki_seat_move(struct lki_ask_all *all, size_t i)
{
    struct lki_seat *seat = &all->seats[i];

    if (seat->phase == LKI_SEAT_WAITING) return lki_seat_begin(all, i);
    if (seat->phase == LKI_SEAT_CONNECTING) return connect_on(all, i);
    for (;;) {
        lk_reply *reply = NULL;
        lk_status status = lki_redis_receive(seat->redis, &reply, &seat->why);

        if (status != LK_OK) return fail_seat(all, i);
        if (!reply) return LKI_ASK_GOES_ON;
        enum lki_ask_turn turn = hear(all, i, reply);
        if (turn == LKI_ASK_IS_OVER || seat->phase == LKI_SEAT_IDLE) return turn;
    }
}

void lki_seat_dismiss(struct lki_seat *seat, struct lki_debt *debt, int64_t until)
{
    bool is_connecting = seat->phase == LKI_SEAT_CONNECTING;

    free(seat->request);
    seat->request = NULL;
    if (seat->debt) lki_pool_owe(seat->pool, seat->debt);
    seat->debt = NULL;
    seat->phase = LKI_SEAT_IDLE;
    if (is_connecting) {
        (void)lki_pool_fill(seat->pool, seat->redis, seat->begun_at, &seat->why);
        seat->redis = NULL;
    }
    if (seat->redis && seat->owed > 0) {
        seat->ticket = lki_pool_park(seat->pool, seat->redis, seat->owed, debt, until);
        debt = NULL;
    } else if (seat->redis) {
        lki_pool_return(seat->pool, seat->redis);
    }
    seat->redis = NULL;
    seat->owed = 0;
    if (debt) lki_pool_owe(seat->pool, debt);
}
