/*
 * seckillctl reaches the sales where seckilld does: over TLS, behind Sentinels, in a cluster, with passwords out of files;
 * the same flags, or the same environment.
 */
#include <sys/stat.h>

#include "test/postgres/lk_postgres.h"
#include "test/support/app_book.h"
#include "test/support/app_topology.h"
#include "test/support/sale_support.h"

enum { SOLD = 20, FLAG_ROOM = 512, FLAGS = 8 };

static struct world {
    struct lkp_server *postgres;
    struct app_topology many;
    struct app_fixture own; /* its output alone */
    char flags[FLAGS][FLAG_ROOM];
} world;

BEFORE_ALL()
{
    world.postgres = lkp_server_start();
    app_book_url = world.postgres->url;
}

AFTER_ALL()
{
    lkp_server_stop(world.postgres);
}

/* "--NAME=DIR/file" */
static void add_secret(size_t at, const char *name, const char *secret)
{
    char path[APP_PATH_SIZE + 32];

    (void)snprintf(path, sizeof path, "%s/%s", world.many.dir, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(secret, file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(world.flags[at], FLAG_ROOM, "--%s=%s", name, path);
}

/* seckillctl with so many of the flags; they stand before the words. */
static int ctl(size_t flags, const char *first, const char *second, const char *id)
{
    const char *args[APP_ARGS_MAX] = {first, second, id, NULL};
    size_t count = id ? 3 : second ? 2 : 1;

    for (size_t i = 0; i < flags; i++)
        args[count++] = world.flags[i];
    return app_run("seckillctl", args, world.own.out, sizeof world.own.out);
}

static bool agrees(void *flags)
{
    return ctl(*(size_t *)flags, "audit", NULL, NULL) == 0;
}

static lk_client *open_client(const struct lkt_options *options)
{
    char ca[APP_PATH_SIZE + 16];

    (void)snprintf(ca, sizeof ca, "%s/ca.crt", world.many.dir);
    return lkt_client_with(world.many.topology, (struct lk_client_options){
                                                    .password = options->password,
                                                    .sentinel_password = options->sentinel_password,
                                                    .tls.ca_file = options->tls ? ca : NULL});
}

static void sell(const char *const *flags)
{
    char body[64];

    app_topology_start(&world.many, flags);
    (void)snprintf(body, sizeof body, "{\"id\":\"lamp\",\"stock\":%d}", 2 * SOLD);
    assert_true(app_create_sale(&world.many.service, world.many.dir, body));
    assert_int_equal(app_book_buy(&world.own, &world.many.service, 0, SOLD), SOLD);
}

static void audit_and_rebuild(const struct lkt_options *options, size_t count)
{
    lk_client *client = open_client(options);

    assert_true(app_eventually(agrees, &count, APP_BOOK_MS));
    assert_int_equal(app_stop(&world.many.service), 0);
    assert_true(sale_do(client, "DEL seckill:{lamp}:ledger seckill:{lamp}:orders"));
    assert_int_equal(ctl(count, "audit", NULL, NULL), 1);
    assert_int_equal(ctl(count, "sale", "rebuild", "lamp"), 0);
    assert_string_equal(world.own.out, "lamp: open, 0 conflicts\n");
    assert_int_equal(sale_ask_number(client, "HLEN seckill:{lamp}:orders"), SOLD);
    lk_client_close(client);
}

static void is_reached_on(struct lkt_options options)
{
    const char *flags[FLAGS + 1] = {NULL};
    struct app_process maker;
    size_t count = 0;

    app_topology_begin(&world.many);
    app_start_program(&maker, "lockkit/tools/certificates",
                      (const char *const[]){world.many.dir, NULL}, world.many.dir);
    assert_int_equal(app_wait(&maker, APP_BOOK_MS), 0);
    if (options.tls) options.tls = world.many.dir;
    world.many.topology = lkt_start(&options);
    (void)lkp_ask(world.postgres, "DROP SCHEMA IF EXISTS seckill_book CASCADE");
    (void)snprintf(world.flags[count++], FLAG_ROOM, "--book=%s", world.postgres->url);
    (void)snprintf(world.flags[count++], FLAG_ROOM, "--redis=%s", world.many.topology->url);
    if (options.password) add_secret(count++, "redis-password", options.password);
    if (options.sentinel_password)
        add_secret(count++, "sentinel-password", options.sentinel_password);
    if (options.tls)
        (void)snprintf(world.flags[count++], FLAG_ROOM, "--redis-ca=%s/ca.crt", world.many.dir);
    for (size_t i = 0; i < count; i++)
        flags[i] = world.flags[i];
    sell(flags);
    audit_and_rebuild(&options, count);
    if (options.tls) { /* without the last one */
        assert_int_equal(ctl(count - 1, "audit", NULL, NULL), 3);
        assert_non_null(strstr(world.own.out, ": --redis-ca FILE tells who signs them"));
    }
    lkt_stop(world.many.topology);
    app_topology_end(&world.many);
}

TEST(over_tls)
{
    is_reached_on((struct lkt_options){.is_plain = true, .tls = "", .password = "server-word"});
}

TEST(behind_sentinels_with_users_of_their_own)
{
    is_reached_on((struct lkt_options){
        .tls = "", .password = "server-word", .sentinel_password = "guard-word"});
}

TEST(in_a_cluster)
{
    is_reached_on((struct lkt_options){.is_cluster = true, .password = "server-word"});
}

TEST(what_does_not_go_together_is_refused)
{
    static const struct {
        const char *flags[3];
        const char *says;
    } rows[] = {
        {{"--redis=redis://h", "--redis-ca=c"}, "--redis-ca: no URL of a Redis is rediss://"},
        {{"--redis=redis://h", "--sentinel-password=LICENSE"}, "goes with --redis redis+sentinel"},
        {{"--redis=redis://h", "--redis-password=/nowhere"}, "--redis-password: /nowhere"},
        {{"--redis=redis://h", "--redis-insecure=maybe"}, "is neither true nor false"},
        {{"--redis=redis://h", "--redlock=redis://a"}, "\"--redlock\" is no flag"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int status = app_run("seckillctl",
                             (const char *const[]){"audit", "--book", app_book_url,
                                                   rows[i].flags[0], rows[i].flags[1], NULL},
                             world.own.out, sizeof world.own.out);

        if (status != 2 || !strstr(world.own.out, rows[i].says))
            fail_msg("%zu: %d %s", i, status, world.own.out);
    }
}
