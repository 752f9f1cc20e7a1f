/*
 * A user who may neither EVAL nor SCRIPT LOAD, and a loader who may do nothing else: whoever is refused is
 * told whose log-in it is, and never reads a password.
 */
#include "test/support/lk_acl.h"
#include "test/support/lk_ctl.h"

enum { LEASE_MS = 30000, SOON_MS = 5000 };

static struct lks_server *server;

static const struct lk_lock_options renewed = {
    .wait_ms = SOON_MS, .lease_ms = LEASE_MS, .is_renewed = true};

static int start(void **state)
{
    (void)lka_start_servers(state);
    server = lka_nodes[0];
    return 0;
}

/* ---- who is refused --------------------------------------------------------------------------------- */

static void refuse(const char *url, const char *password, const char *loader, lk_status expected,
                   const char *word)
{
    struct lk_error err = {0};
    lk_client *client = lk_client_open(
        &(struct lk_client_options){.url = url, .password = password, .loader = loader}, &err);

    assert_null(client);
    if (err.code != expected || !strstr(err.text, word))
        fail_msg("%s: %s: %s", word, lk_status_name(err.code), err.text);
    assert_null(strstr(err.text, "s3cret"));
}

TEST(a_refused_log_in_says_whose_and_no_password)
{
    char url[96];

    (void)snprintf(url, sizeof url, "%s", lka_url(server, "locks"));
    refuse(url, "wrong-s3cret", LKA_LOADER, LK_SERVER, "WRONGPASS");
    refuse(url, LKA_PASSWORD, "loader:wrong-s3cret", LK_SERVER, "\"loader\": WRONGPASS");
    refuse(url, LKA_PASSWORD, "nobody:wrong-s3cret", LK_SERVER, "\"nobody\": WRONGPASS");
    refuse(url, LKA_PASSWORD, "locks:" LKA_PASSWORD, LK_SERVER, "\"locks\": NOPERM");
    refuse(url, LKA_PASSWORD, "s3cret", LK_INVALID, "user:password");
    refuse(url, LKA_PASSWORD, ":s3cret", LK_INVALID, "user:password");
    refuse(url, NULL, NULL, LK_INVALID, "beside the URL");
    (void)snprintf(url, sizeof url, "redis://locks:s3cret@127.0.0.1:%d", server->port);
    refuse(url, LKA_PASSWORD, LKA_LOADER, LK_INVALID, "two passwords");
}

TEST(a_loader_that_is_locked_out_later_is_named)
{
    lk_client *client = lka_client(server, (struct lk_client_options){0});
    lk_lock *lock = lks_mutex(client, lks_key(server, "locked-out"));
    struct lk_error err = {0};

    lka_must_be(LK_OK, lk_lock_acquire(lock, &renewed, &err), "acquire", &err);
    LKS_DO(server, "ACL", "SETUSER", "loader", "off");
    LKS_DO(server, "SCRIPT", "FLUSH");
    lka_must_be(LK_SERVER, lk_lock_release(lock, &err), "release", &err);
    assert_non_null(strstr(err.text, "loader"));
    assert_null(strstr(err.text, "s3cret"));
    LKS_DO(server, "ACL", "SETUSER", "loader", "on");
    LKS_DO(server, "DEL", lks_key(server, "locked-out"));
    LKS_EVENTUALLY(lk_lock_acquire(lock, &renewed, &err) == LK_OK, SOON_MS);
    lka_must_be(LK_OK, lk_lock_release(lock, &err), "release", &err);
    lk_lock_free(lock);
    lk_client_close(client);
}

/* Its connection must not stay the loader's. */
TEST(who_cannot_log_in_again_gives_up_the_connection)
{
    lk_client *client =
        lka_client(server, (struct lk_client_options){.pool_size = 1, .backoff_ms = 20});
    lk_lock *lock = lks_mutex(client, lks_key(server, "shut-out"));
    struct lk_error err = {0};

    lka_must_be(LK_OK, lk_lock_acquire(lock, &renewed, &err), "acquire", &err);
    LKS_DO(server, "SCRIPT", "FLUSH");
    LKS_DO(server, "ACL", "SETUSER", "locks", "resetpass", ">another");
    assert_int_not_equal(lk_lock_release(lock, &err), LK_OK);
    assert_null(strstr(err.text, "s3cret"));
    LKS_DO(server, "ACL", "SETUSER", "locks", "resetpass", (">" LKA_PASSWORD));
    LKS_EVENTUALLY(lk_lock_release(lock, &err) == LK_OK, SOON_MS);
    lk_lock_free(lock);
    lk_client_close(client);
}

/* ---- lockctl ---------------------------------------------------------------------------------------- */

static const char *write_secret(const char *name, const char *line)
{
    const char *path = lkc_file(server, name);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fprintf(file, "%s\n", line) > 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void assert_said(const char *words)
{
    if (!strstr(lkc_said(), words)) fail_msg("\"%s\" is not in: %s", words, lkc_said());
    assert_null(strstr(lkc_said(), "s3cret"));
}

TEST(lockctl_takes_its_secrets_from_files)
{
    const char *password = write_secret("password", LKA_PASSWORD);
    const char *loader = write_secret("loader", LKA_LOADER);
    const char *wrong = write_secret("wrong", "loader:wrong-s3cret");
    const char *name = lks_key(server, "ctl");
    char lock[128];
    char url[96];

    (void)snprintf(lock, sizeof lock, "fair:%s", name);
    (void)snprintf(url, sizeof url, "%s", lka_url(server, "locks"));
    assert_int_equal(LKC_DO_AT(server, url, "run", "--lock", lock, "--redis-password", password,
                               "--redis-loader", loader, "--", "sh", "-c", "exit 7"),
                     7);
    assert_string_equal(lkc_said(), "");
    assert_int_equal(LKC_DO_AT(server, url, "inspect", name, "--redis-password", password,
                               "--redis-loader", loader),
                     1);
    assert_int_equal(
        LKC_DO_AT(server, url, "list", "--redis-password", password, "--redis-loader", loader), 0);
    lka_assert_quiet(server);

    assert_int_equal(LKC_DO_AT(server, url, "list"), 64);
    assert_said("beside the URL");
    assert_int_equal(LKC_DO_AT(server, url, "list", "--redis-password", "/nowhere"), 64);
    assert_said("--redis-password: /nowhere: No such file");
    assert_int_equal(LKC_DO_AT(server, url, "list", "--redis-password", wrong), 70);
    assert_said("WRONGPASS");
    assert_int_equal(
        LKC_DO_AT(server, url, "list", "--redis-password", password, "--redis-loader", wrong), 70);
    assert_said("the loader of scripts, \"loader\"");
}

FIXTURE(lka_heal_servers, NULL);
GROUP(start, lka_stop_servers);
