/*
 * seckillctl and the book: what it keeps of sales, made again in Redis, compared with it, printed. Asks both servers
 * itself, no service. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rfc3339.h"
#include "book/book_audit.h"
#include "book/book_rebuild.h"
#include "ctl.h"
#include "start/redis_login.h"

enum { LONG_MS = 600000 };

struct servers {
    lk_client *book, *redis;
    struct store *store;
};

static int unreachable(const char *what, const struct lk_error *err)
{
    (void)ctl_complain("%s: %s", what, err->text);
    return CTL_UNREACHABLE;
}

static void close_servers(struct servers *self)
{
    store_free(self->store);
    lk_client_close(self->redis);
    lk_client_close(self->book);
}

static int open_redis(const struct config *config, const struct redis_login *login,
                      struct servers *out)
{
    struct lk_client_options options = {.url = NULL};
    struct start_error why = {0};
    bool is_usage = true;

    redis_login_fill(config, login, config->redis, &options);
    if (config_check_redis(config, &why)) out->redis = redis_login_open(&options, &is_usage, &why);
    if (out->redis) out->store = store_new(out->redis, "seckillctl", NULL);
    if (out->store) return CTL_OK;
    (void)ctl_complain("%s", why.text);
    return is_usage ? CTL_USAGE : CTL_UNREACHABLE;
}

/* Gives an exit status; close them in any case. An export needs no Redis. */
static int open_servers(const struct ctl_request *request, bool needs_redis, struct servers *out)
{
    const struct config *config = &request->servers;
    struct redis_login login;
    struct start_error why = {0};
    struct lk_error err = {0};
    int exit_status = CTL_OK;

    if (!config->book || (needs_redis && !config->redis))
        return ctl_complain("%s URL is missing", config->book ? "--redis" : "--book");
    if (!redis_login_read(config, &login, &why)) return ctl_complain("%s", why.text);
    out->book = lk_client_open(
        LK_OPTIONS(client, .url = config->book, .password = redis_login_or_null(login.book)), &err);
    if (!out->book) {
        (void)ctl_complain("--book: %s", err.text);
        exit_status = err.code == LK_INVALID ? CTL_USAGE : CTL_UNREACHABLE;
    } else if (needs_redis) {
        exit_status = open_redis(config, &login, out);
    }
    explicit_bzero(&login, sizeof login);
    return exit_status;
}

static int rebuild_one(const struct servers *servers, const char *id)
{
    struct book_rebuilt rebuilt = {.was_whole = false};
    struct lk_error err = {0};

    if (!book_rebuild(servers->book, servers->store, id, &rebuilt, &err))
        return unreachable(id, &err);
    (void)printf("%s: %s, %ld conflicts\n", id, rebuilt.was_whole ? "whole" : rebuilt.state,
                 rebuilt.conflicts);
    return rebuilt.conflicts > 0 ? CTL_REFUSED : CTL_OK;
}

static int compare(const void *left, const void *right)
{
    return strcmp(((const struct sale_id *)left)->text, ((const struct sale_id *)right)->text);
}

/* All of Redis, and those that only the book has. An exit status: the worst; nothing looked at is no success. */
static int for_all(const struct servers *servers,
                   int (*each)(const struct servers *servers, const char *id))
{
    struct sale_id *ids[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    struct lk_error err = {0};
    int exit_status = CTL_OK;

    if (store_list_ids(servers->store, &ids[0], &counts[0], &err) != STORE_OK ||
        book_database_list(servers->book, &ids[1], &counts[1], &err) != LK_OK)
        exit_status = unreachable("all sales", &err);
    else if (counts[0] + counts[1] == 0)
        exit_status = CTL_REFUSED;
    for (size_t i = 0; exit_status != CTL_UNREACHABLE && i < counts[0] + counts[1]; i++) {
        const struct sale_id *id = i < counts[0] ? &ids[0][i] : &ids[1][i - counts[0]];

        if (i >= counts[0] && bsearch(id, ids[0], counts[0], sizeof *id, compare)) continue;
        int of_one = each(servers, id->text);
        if (of_one > exit_status) exit_status = of_one;
    }
    free(ids[0]);
    free(ids[1]);
    return exit_status;
}

/* id NULL: all. */
static int for_each_sale(const struct ctl_request *request, const char *id,
                         int (*each)(const struct servers *servers, const char *id))
{
    struct servers servers = {0};
    struct lk_error err = {0};
    int exit_status = open_servers(request, true, &servers);

    if (exit_status == CTL_OK && book_database_migrate(servers.book, &err) != LK_OK)
        exit_status = unreachable("--book", &err);
    else if (exit_status == CTL_OK)
        exit_status = id ? each(&servers, id) : for_all(&servers, each);
    close_servers(&servers);
    return exit_status;
}

int ctl_book_rebuild(const struct ctl_request *request)
{
    return for_each_sale(request, request->is_all ? NULL : request->id, rebuild_one);
}

/* ---- compared -------------------------------------------------------------------------------------- */

static void print_check(const char *check, const char *found, void *arg)
{
    int *exit_status = arg;

    if (found) *exit_status = CTL_REFUSED;
    (void)printf("  %-5s %-13s%s\n", found ? "FAIL" : "pass", check, found ? found : "");
}

static int audit_one(const struct servers *servers, const char *id)
{
    struct lk_error err = {0};
    int exit_status = CTL_OK;

    (void)printf("%s\n", id);
    if (book_audit(
            &(struct book_audit){servers->book, servers->store, id, print_check, &exit_status},
            &err))
        return exit_status;
    return unreachable(id, &err);
}

int ctl_book_audit(const struct ctl_request *request)
{
    return for_each_sale(request, NULL, audit_one);
}

/* ---- old ones ------------------------------------------------------------------------------------ */

int ctl_book_drop(const struct ctl_request *request)
{
    struct servers servers = {0};
    struct lk_error err = {0};
    int64_t before_ms = 0;
    char *gone = NULL;

    if (!request->before || !rfc3339_parse(request->before, &before_ms))
        return ctl_complain("--before %s", request->before ? "is no time" : "TIME is missing");
    int exit_status = open_servers(request, false, &servers);
    if (exit_status == CTL_OK &&
        (book_database_migrate(servers.book, &err) != LK_OK ||
         book_database_ask(
             servers.book,
             BOOK_WORK("SELECT seckill_book.drop_before($1::timestamptz)", request->before),
             LONG_MS, &gone, &err) != LK_OK))
        exit_status = unreachable("--book", &err);
    if (exit_status == CTL_OK) (void)printf("%s sales dropped\n", gone);
    free(gone);
    close_servers(&servers);
    return exit_status;
}

/* ---- printed --------------------------------------------------------------------------------------- */

/* A page: the last id in it, and a line for each. */
static const char page_sql[] =
    "SELECT max(id) || E'\\n' || string_agg(CASE $3 WHEN 'csv' THEN id || ',' || buyer || ',' || "
    "key"
    " || ',' || state || ',' || sold || ',' || changed || ',' || coalesce(payment, '')"
    " ELSE json_build_object('id', id::text, 'buyer', buyer, 'key', key, 'state', state,"
    " 'soldAt', sold, 'changedAt', changed, 'payment', payment)::text END, E'\\n' ORDER BY id)"
    " FROM (SELECT *, to_char(to_timestamp(sold_ms / 1000.0) AT TIME ZONE 'UTC', f) AS sold,"
    " to_char(to_timestamp(changed_ms / 1000.0) AT TIME ZONE 'UTC', f) AS changed"
    " FROM seckill_book.orders, (VALUES ('YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')) AS form (f)"
    " WHERE sale = (SELECT no FROM seckill_book.sale WHERE id = $1) AND id > $2::bigint"
    " ORDER BY id LIMIT 10000) AS page";

int ctl_book_export(const struct ctl_request *request)
{
    const char *format = request->format ? request->format : "csv";
    struct servers servers = {0};
    struct lk_error err = {0};
    char after[24] = "0";
    char *page = NULL;
    int exit_status = open_servers(request, false, &servers);

    if (exit_status == CTL_OK && strcmp(format, "csv") != 0 && strcmp(format, "ndjson") != 0)
        exit_status = ctl_complain("--format is csv or ndjson");
    if (exit_status == CTL_OK && format[0] == 'c')
        (void)printf("id,buyer,key,state,soldAt,changedAt,payment\n");
    while (exit_status == CTL_OK && after[0]) {
        const struct lk_postgres_work *work = BOOK_WORK(page_sql, request->id, after, format);

        if (book_database_ask(servers.book, work, BOOK_LIMIT_MS, &page, &err) != LK_OK) {
            exit_status = unreachable("--book", &err);
            break;
        }
        size_t len = strcspn(page, "\n");
        if (page[0]) (void)printf("%s\n", page + len + 1);
        (void)snprintf(after, sizeof after, "%.*s", (int)len, page);
        free(page);
    }
    close_servers(&servers);
    return exit_status;
}
