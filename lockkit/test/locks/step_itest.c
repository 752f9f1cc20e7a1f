/*
 * What must be one atomic step is one command: an acquire, a release, of every kind; and in it, the
 * lock is free before anybody is told. One thread.
 */
#include "test/support/lk_support.h"

struct kind {
    const char *name;
    lk_lock *(*make)(lk_client *client, const char *key, struct lk_error *err);
    const char *frees; /* the command that frees it; NULL: nothing is told */
};

static lk_lock *make_fair(lk_client *client, const char *key, struct lk_error *err)
{
    return lk_fair_new(client, key, NULL, err);
}

static const struct kind kinds[] = {
    {"mutex", lk_mutex_new, "\"DEL\""},
    {"reentrant", lk_reentrant_new, "\"DEL\""},
    {"fenced", lk_fenced_new, "\"DEL\""},
    {"spin", lk_spin_new, NULL},
    {"fair", make_fair, NULL}, /* tells the next one in its queue, and there is none */
};

struct fixture {
    struct lks_server *server;
    lk_client *client;
};

SET_UP(struct fixture, f)
{
    f->server = lks_server_start(NULL);
    f->client = lks_client(f->server);
}

TEAR_DOWN(struct fixture, f)
{
    lk_client_close(f->client);
    lks_server_stop(f->server);
}

/* Commands of clients that name the key; what scripts do inside them is marked "lua". */
static unsigned count_commands(const char *text, const char *key)
{
    char *copy = strdup(text);
    char *rest = NULL;
    unsigned count = 0;

    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        count += strstr(line, key) && !strstr(line, " lua] ");
    free(copy);
    return count;
}

static void acquire_and_release(lk_lock *lock)
{
    struct lk_error err = {0};

    if (lk_lock_acquire(lock, NULL, &err) != LK_OK) fail_msg("acquire: %s", err.text);
    if (lk_lock_release(lock, &err) != LK_OK) fail_msg("release: %s", err.text);
}

TEST(an_acquire_and_a_release_are_one_command_each, struct fixture *f)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *key = lks_key(f->server, kinds[i].name);
        lk_lock *lock = kinds[i].make(f->client, key, NULL);

        acquire_and_release(lock); /* now the server knows the scripts */
        struct lks_monitor *monitor = lks_monitor_open(f->server);
        acquire_and_release(lock);
        unsigned commands = count_commands(lks_monitor_text(monitor, f->server), key);
        lks_monitor_close(monitor);
        lk_lock_free(lock);
        if (commands != 2) fail_msg("%s: %u commands", kinds[i].name, commands);
    }
}

TEST(nobody_is_told_before_it_is_free, struct fixture *f)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        lk_lock *lock = kinds[i].make(f->client, lks_key(f->server, kinds[i].name), NULL);
        struct lks_monitor *monitor = lks_monitor_open(f->server);

        acquire_and_release(lock);
        const char *text = lks_monitor_text(monitor, f->server);
        const char *told = strstr(text, "\"PUBLISH\"");
        const char *freed = kinds[i].frees ? strstr(text, kinds[i].frees) : NULL;
        if (kinds[i].frees && (!told || !freed || told < freed)) {
            fail_msg("%s: told before it was free", kinds[i].name);
        }
        if (!kinds[i].frees && told) fail_msg("%s: told somebody", kinds[i].name);
        lks_monitor_close(monitor);
        lk_lock_free(lock);
    }
}

TEST(a_token_is_compared_whole, struct fixture *f)
{
    static const char *const others[] = {"%s0", "%.31s", "%.0s"};
    const char *key = lks_key(f->server, "whole");
    lk_lock *lock = lks_mutex(f->client, key);

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char other[64];

        assert_int_equal(lk_lock_acquire(lock, NULL, NULL), LK_OK);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(other, sizeof other, others[i], lk_lock_token(lock));
#pragma GCC diagnostic pop
        LKS_DO(f->server, "SET", key, other, "PX", "60000");
        assert_int_equal(lk_lock_renew(lock, 0, NULL), LK_LOST);
        assert_int_equal(lk_lock_release(lock, NULL), LK_NOT_OWNER);
        assert_string_equal(LKS_TEXT(f->server, "GET", key), other);
        LKS_DO(f->server, "DEL", key);
    }
    lk_lock_free(lock);
}
