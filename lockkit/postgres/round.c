/*
 * The watchdog's line to PostgreSQL: a round of up to 256 renewals is one statement, which answers whom it
 * renewed. A check is one by no time: it only reads, for a write may wait for a standby. The watchdog's thread only.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "postgres.h"

struct line {
    struct lki_line base;
    struct postgres_link *link; /* owned; NULL: none */
    bool is_asked;
};

static const char renew_all[] =
    "WITH r AS (SELECT word->>0 AS name, word->>1 AS token, (word->>2)::bigint AS ms, place"
    " FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS r(word, place)),"
    " leases AS (UPDATE lockkit.lock AS l"
    " SET expires = greatest(l.expires, clock_timestamp() + r.ms * interval '1 ms') FROM r"
    " WHERE ms > 0 AND l.name = r.name AND l.token = r.token AND l.expires > clock_timestamp()"
    " RETURNING r.place)"
    " SELECT place FROM leases UNION ALL SELECT place FROM r JOIN lockkit.lock USING (name, token)"
    " WHERE ms = 0 AND expires > clock_timestamp()"
    " UNION ALL SELECT place FROM r, pg_catalog.pg_stat_activity"
    " WHERE token LIKE 'lockkit %' AND token = application_name";

static struct line *line_of(struct lki_line *line)
{
    return (struct line *)(void *)line;
}

/* ---- the words ------------------------------------------------------------------------------------- */

/* Names are any bytes. */
static void add_quoted(FILE *to, const char *text)
{
    (void)fputc('"', to);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte < ' ') {
            (void)fprintf(to, "\\u%04x", byte);
        } else {
            if (byte == '"' || byte == '\\') (void)fputc('\\', to);
            (void)fputc(byte, to);
        }
    }
    (void)fputs("\",", to);
}

/* [["name","token",ms],...]; yours. */
static char *write_words(const struct lki_round *round)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (!to) return NULL;
    for (size_t i = 0; i < round->count; i++) {
        const struct lki_query *query = &round->queries[i];

        (void)fputs(i == 0 ? "[[" : ",[", to);
        add_quoted(to, query->lock->key);
        add_quoted(to, query->lock->token);
        (void)fprintf(to, "%lld]", query->is_check ? 0LL : (long long)query->lock->lease_ms);
    }
    (void)fputc(']', to);
    (void)fclose(to);
    return text;
}

static lk_status ask(struct line *line)
{
    lk_status status = LK_NO_MEMORY;
    char *words = write_words(&line->base.round);
    const struct postgres_statement renew = POSTGRES_STATEMENT(renew_all, words);

    line->base.round.sent_at = line->base.began_at = lki_clock_now();
    if (words) status = postgres_link_send(line->link, &renew, NULL);
    free(words);
    line->is_asked = status == LK_OK;
    return status;
}

static void read_answer(struct line *line, const PGresult *answer)
{
    struct lki_round *round = &line->base.round;

    for (size_t i = 0; i < round->count; i++)
        round->queries[i].verdict = LKI_GONE;
    for (int i = 0; i < PQntuples(answer); i++) {
        long place = strtol(PQgetvalue(answer, i, 0), NULL, 10);

        if (place >= 1 && (size_t)place <= round->count)
            round->queries[place - 1].verdict = LKI_OURS;
    }
}

/* ---- the connection -------------------------------------------------------------------------------- */

static void hang_up(struct line *line)
{
    line->base.has_ended |= line->base.is_open;
    line->base.is_open = false;
    postgres_link_close(line->link);
    line->link = NULL;
}

static lk_status connect_on(struct line *line)
{
    lk_status status = LK_BUSY;

    if (!line->link) {
        line->base.began_at = lki_clock_now();
        line->link = postgres_link_begin(line->base.client, NULL);
        line->base.events = POLLOUT;
        if (!line->link) status = LK_UNREACHABLE;
    } else {
        status = postgres_link_go_on(line->link, &line->base.events, NULL);
    }
    if (status == LK_BUSY) return status;
    postgres_emit(line->base.client, LK_EVENT_CONNECT, status, line->base.began_at, 1);
    line->base.is_open = status == LK_OK;
    if (line->base.is_open) line->base.connected_at = line->link->connected_at;
    return status;
}

/* OK: answered, or refused. BUSY: not yet. */
static lk_status exchange_on(struct line *line)
{
    PGresult *answer = NULL;
    lk_status status = LK_OK;

    if (!line->is_asked && ask(line) != LK_OK) return LK_UNKNOWN;
    line->base.events = postgres_link_events(line->link);
    if (!postgres_link_receive(line->link, &answer, &status, NULL)) return LK_BUSY;
    line->is_asked = false;
    postgres_emit(line->base.client, LK_EVENT_ROUND_TRIP, status, line->base.began_at,
                  (unsigned)line->base.round.count);
    if (status == LK_UNKNOWN) return status;
    if (status == LK_OK) read_answer(line, answer);
    for (size_t i = 0; i < line->base.round.count && status != LK_OK; i++)
        line->base.round.queries[i].verdict = status == LK_SERVER ? LKI_REFUSED : LKI_NOT_NOW;
    PQclear(answer);
    return LK_OK;
}

static void line_give_up(struct lki_line *base)
{
    struct line *line = line_of(base);

    line->is_asked = false;
    hang_up(line);
    base->events = 0;
}

static void line_go_on(struct lki_line *base)
{
    struct line *line = line_of(base);
    lk_status status = base->is_open ? LK_OK : connect_on(line);

    if (status == LK_OK) status = exchange_on(line);
    if (status == LK_OK) {
        base->events = 0;
    } else if (status != LK_BUSY || lki_clock_now() >= lki_line_until(base)) {
        line_give_up(base);
    }
}

static void line_start(struct lki_line *base)
{
    struct line *line = line_of(base);

    for (size_t i = 0; i < base->round.count; i++)
        base->round.queries[i].verdict = LKI_SILENT;
    if (line->link && !postgres_link_is_usable(line->link)) hang_up(line);
    line_go_on(base);
}

static void line_look(struct lki_line *base)
{
    struct line *line = line_of(base);

    if (!postgres_link_is_usable(line->link)) hang_up(line);
}

static bool line_stands_since(struct lki_line *base, int64_t moment)
{
    return base->is_open && base->connected_at < moment;
}

static int line_fd(const struct lki_line *base)
{
    const struct line *line = (const struct line *)(const void *)base;

    return line->link ? PQsocket(line->link->conn) : -1;
}

static enum lki_verdict line_verdict(const struct lki_query *query)
{
    return query->verdict;
}

static void line_clear(struct lki_line *base)
{
    base->round.count = 0;
}

static void line_free(struct lki_line *base)
{
    hang_up(line_of(base));
    free(base);
}

static const struct lki_line_ops ops = {.start = line_start,
                                        .go_on = line_go_on,
                                        .give_up = line_give_up,
                                        .look = line_look,
                                        .stands_since = line_stands_since,
                                        .fd = line_fd,
                                        .verdict = line_verdict,
                                        .clear = line_clear,
                                        .free = line_free};

struct lki_line *postgres_line_new(lk_client *client)
{
    struct line *line = calloc(1, sizeof *line);

    if (!line) return NULL;
    line->base = (struct lki_line){.ops = &ops, .client = client};
    return &line->base;
}
