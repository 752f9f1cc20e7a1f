/*
 * See lk_acl.h.
 */
#include "lk_acl.h"

#include <unistd.h>

#define ADMIN_PASSWORD "adm1n"

/* What the scripts do is done as the user who runs them, so their commands are here too. */
static const char locks_rules[] =
    "resetkeys ~lkt:* ~*{lkt:*}* resetchannels &*{lkt:*}* -@all +evalsha +select "
    "+set +get +getrange +strlen +del +exists +type +pttl +pexpire +incr +incrby "
    "+decrby "
    "+hexists +hset +hsetnx +hget +hdel +hlen +hgetall +hscan "
    "+zadd +zrem +zscore +zcard +zcount +zrange +zrangebyscore +zremrangebyscore "
    "+rpush +lpop +lpos +lrem +llen +lindex +lrange +time +scan "
    "+publish +subscribe +unsubscribe +spublish +ssubscribe +sunsubscribe +ping +wait +asking "
    "+info +command|info +cluster|slots +pubsub|shardnumsub +watch +unwatch +multi +exec +discard";
static const char loader_rules[] = "resetkeys resetchannels -@all +script|load";

/* Without the commands that this server has not: it would refuse the file. */
static void find_rules(char *out)
{
    char *words = strdup(locks_rules);
    char *rest = words;

    assert_non_null(words);
    struct lks_server *server = lks_server_start(NULL);
    for (char *word = strsep(&rest, " "), *end = out; word; word = strsep(&rest, " ")) {
        char name[32];

        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 1, "|"), word + 1);
        lk_reply *reply = LKS_ASK(server, "COMMAND", "INFO", name);
        bool has_it = word[0] != '+' || lk_reply_count(lk_reply_at(reply, 0)) > 0;
        lk_reply_free(reply);
        if (has_it) end = stpcpy(stpcpy(end, word), " ");
    }
    lks_server_stop(server);
    free(words);
    out[strlen(out) - 1] = '\0';
}

static const char *rules_of_locks(void)
{
    static char rules[sizeof locks_rules + 1];

    if (!rules[0]) find_rules(rules);
    return rules;
}

static char users_path[] = "/tmp/lockkit-itest-users-XXXXXX";

static void remove_users(void)
{
    (void)unlink(users_path);
}

const char *lka_write_users(const char *rules_of_default)
{
    static bool is_made;
    int fd = is_made ? -1 : mkstemp(users_path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : fopen(users_path, "we");

    assert_non_null(file);
    if (!is_made) (void)atexit(remove_users);
    is_made = true;
    (void)fprintf(file, "user default %s\n", rules_of_default ? rules_of_default : "off");
    (void)fprintf(file, "user admin on >" ADMIN_PASSWORD " ~* &* +@all\n");
    (void)fprintf(file, "user locks on >" LKA_PASSWORD " %s\n", rules_of_locks());
    (void)fprintf(file, "user loader on >" LKA_LOADER_PASSWORD " %s\n", loader_rules);
    assert_int_equal(fclose(file), 0);
    return users_path;
}

const char *lka_url(const struct lks_server *server, const char *user)
{
    static char url[64];

    (void)snprintf(url, sizeof url, "redis://%s@127.0.0.1:%d", user, server->port);
    return url;
}

struct lks_server *lka_start(void)
{
    struct lks_server *server = lks_server_start(&(struct lks_server_options){
        .is_tcp = true, .setting = "--aclfile", .value = lka_write_users(NULL)});

    server->raw =
        lks_client_with(server, (struct lk_client_options){.url = lka_url(server, "admin"),
                                                           .password = ADMIN_PASSWORD,
                                                           .pool_size = 1,
                                                           .backoff_ms = 5,
                                                           .command_ms = 5000});
    return server;
}

lk_client *lka_client(const struct lks_server *server, struct lk_client_options options)
{
    if (!options.url) options.url = lka_url(server, "locks");
    options.password = LKA_PASSWORD;
    options.loader = LKA_LOADER;
    return lks_client_with(server, options);
}

void lka_assert_quiet(struct lks_server *server)
{
    lk_reply *log = LKS_ASK(server, "ACL", "LOG");
    lk_reply *stats = LKS_ASK(server, "INFO", "commandstats");

    if (lk_reply_count(log) > 0) { /* { count, n, reason, r, context, c, object, o... } */
        const lk_reply *last = lk_reply_at(log, 0);

        fail_msg("refused: %s (%s) %s", lk_reply_bytes(lk_reply_at(last, 7)).data,
                 lk_reply_bytes(lk_reply_at(last, 5)).data,
                 lk_reply_bytes(lk_reply_at(last, 3)).data);
    }
    assert_non_null(strstr(lk_reply_bytes(stats).data, "cmdstat_evalsha:"));
    assert_null(strstr(lk_reply_bytes(stats).data, "cmdstat_eval:"));
    lk_reply_free(log);
    lk_reply_free(stats);
}

/* ---- the servers of a group -------------------------------------------------------------------------- */

struct lks_server *lka_nodes[LKA_NODES];

int lka_start_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LKA_NODES; i++)
        lka_nodes[i] = lka_start();
    return 0;
}

int lka_stop_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LKA_NODES; i++)
        lks_server_stop(lka_nodes[i]);
    return 0;
}

void lka_forget_scripts(void)
{
    for (size_t i = 0; i < LKA_NODES; i++)
        LKS_DO(lka_nodes[i], "SCRIPT", "FLUSH");
}

/* Give locks its rules back. */
static void restore(struct lks_server *server)
{
    char *rules = strdup(rules_of_locks());
    char *rest = rules;

    assert_non_null(rules);
    for (char *rule = strsep(&rest, " "); rule; rule = strsep(&rest, " "))
        LKS_DO(server, "ACL", "SETUSER", "locks", rule);
    free(rules);
}

int lka_heal_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LKA_NODES; i++) {
        lks_server_resume(lka_nodes[i]);
        restore(lka_nodes[i]);
        LKS_DO(lka_nodes[i], "ACL", "LOG", "RESET");
        LKS_DO(lka_nodes[i], "CONFIG", "RESETSTAT");
        LKS_DO(lka_nodes[i], "FLUSHALL");
    }
    lka_forget_scripts();
    return 0;
}

void lka_must_be(lk_status expected, lk_status status, const char *what, const struct lk_error *err)
{
    if (status != expected)
        fail_msg("%s: %s: %s", what, lk_status_name(status), status == LK_OK ? "" : err->text);
}
