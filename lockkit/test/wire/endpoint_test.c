/*
 * URLs, good and bad, as a table; and that no password ever shows in a message.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "test/support/testing.h"
#include "wire/endpoint.h"

#define SECRET "s3cr3t"

struct good_row {
    const char *url;
    struct lki_endpoint expected;
};

static char text_host[] = "localhost", text_v4[] = "127.0.0.1", text_v6[] = "::1";
static char text_socket[] = "/run/redis.sock", text_user[] = "app", text_secret[] = SECRET;
static char text_odd[] = "a:b/c@d%", text_empty[] = "", text_high[] = "\xc3\xa9";

static const struct good_row good[] = {
    {"redis://localhost", {.host = text_host, .port = 6379, .label = "localhost:6379"}},
    {"redis://localhost/", {.host = text_host, .port = 6379, .label = "localhost:6379"}},
    {"redis://127.0.0.1:1", {.host = text_v4, .port = 1, .label = "127.0.0.1:1"}},
    {"redis://127.0.0.1:65535/15",
     {.host = text_v4, .port = 65535, .db = 15, .label = "127.0.0.1:65535"}},
    {"redis://localhost/0", {.host = text_host, .port = 6379, .label = "localhost:6379"}},
    {"redis://[::1]", {.host = text_v6, .port = 6379, .label = "[::1]:6379"}},
    {"redis://[::1]:7000/3", {.host = text_v6, .port = 7000, .db = 3, .label = "[::1]:7000"}},
    {"redis://:" SECRET "@localhost",
     {.host = text_host, .password = text_secret, .port = 6379, .label = "localhost:6379"}},
    {"redis://app:" SECRET "@localhost:7000/2",
     {.host = text_host,
      .user = text_user,
      .password = text_secret,
      .port = 7000,
      .db = 2,
      .label = "localhost:7000"}},
    {"redis://:a%3Ab%2fc%40d%25@localhost",
     {.host = text_host, .password = text_odd, .port = 6379, .label = "localhost:6379"}},
    {"redis://%61pp:%c3%A9@localhost",
     {.host = text_host,
      .user = text_user,
      .password = text_high,
      .port = 6379,
      .label = "localhost:6379"}},
    {"redis://:@localhost",
     {.host = text_host, .password = text_empty, .port = 6379, .label = "localhost:6379"}},
    {"redis://app:" SECRET "@[::1]:7000",
     {.host = text_v6,
      .user = text_user,
      .password = text_secret,
      .port = 7000,
      .label = "[::1]:7000"}},
    {"rediss://[::1]:7000/3",
     {.host = text_v6, .is_tls = true, .port = 7000, .db = 3, .label = "[::1]:7000"}},
    {"rediss://app:" SECRET "@localhost",
     {.host = text_host,
      .user = text_user,
      .password = text_secret,
      .is_tls = true,
      .port = 6379,
      .label = "localhost:6379"}},
    {"unix:///run/redis.sock", {.path = text_socket, .label = "/run/redis.sock"}},
    {"unix:///run/redis.sock?db=9", {.path = text_socket, .db = 9, .label = "/run/redis.sock"}},
};

/* Each with a word that its message must have. */
static const struct {
    const char *url;
    const char *word;
} bad[] = {
    {"", "redis://"},
    {"localhost:6379", "redis://"},
    {"http://localhost", "redis://"},
    {"REDIS://localhost", "redis://"},
    {"redis:/localhost", "redis://"},
    {"redis://", "no host"},
    {"redis://:6379", "no host"},
    {"redis:///1", "no host"},
    {"redis://:" SECRET "@", "no host"},
    {"redis://:" SECRET "@:6379", "no host"},
    {"redis://localhost:", "port"},
    {"redis://localhost:0", "port"},
    {"redis://localhost:65536", "port"},
    {"redis://localhost:99999999999999999999", "port"},
    {"redis://localhost:-1", "port"},
    {"redis://localhost:6379x", "port"},
    {"redis://localhost: 6379", "port"},
    {"redis://[::1", "]"},
    {"redis://[]:1", "no host"},
    {"redis://[::1]x", "port"},
    {"redis://[::1]:", "port"},
    {"redis://localhost/x", "database"},
    {"redis://localhost/-1", "database"},
    {"redis://localhost/1/2", "database"},
    {"redis://localhost/1000001", "database"},
    {"redis://localhost/99999999", "database"},
    {"redis://localhost/1?x=1", "database"},
    {"redis://localhost?db=1", "follow"},
    {"redis://localhost#1", "follow"},
    {"redis://" SECRET "@localhost", "user:password@"},
    {"redis://:" SECRET "%@localhost", "password"},
    {"redis://:" SECRET "%4@localhost", "password"},
    {"redis://:" SECRET "%zz@localhost", "password"},
    {"redis://:" SECRET "%00@localhost", "password"},
    {"redis://u%ser:" SECRET "@localhost", "user name"},
    {"redis://:" SECRET "/more@localhost", ""}, /* a raw slash ends the address */
    {"redis://:" SECRET "@localhost:x", "port"},
    {"redis://:" SECRET "@localhost/x", "database"},
    {"redis://:" SECRET "@localhost?" SECRET, "follow"},
    {"unix://", "unix:///"},
    {"unix://run/redis.sock", "unix:///"},
    {"unix:///run/redis.sock?", "db="},
    {"unix:///run/redis.sock?db=", "db="},
    {"unix:///run/redis.sock?db=x", "db="},
    {"unix:///run/redis.sock?password=" SECRET, "db="},
};

static void check_text(const char *actual, const char *expected)
{
    if (!expected) {
        assert_null(actual);
    } else {
        assert_non_null(actual);
        assert_string_equal(actual, expected);
    }
}

TEST(good_urls_are_taken_apart)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const struct lki_endpoint *expected = &good[i].expected;
        struct lki_endpoint actual;
        struct lk_error err = {0};

        if (lki_endpoint_parse(good[i].url, NULL, &actual, &err) != LK_OK) {
            fail_msg("%s: %s", good[i].url, err.text);
        }
        check_text(actual.host, expected->host);
        check_text(actual.path, expected->path);
        check_text(actual.user, expected->user);
        check_text(actual.password, expected->password);
        check_text(actual.label, expected->label);
        if (expected->host) assert_int_equal(actual.port, expected->port);
        assert_int_equal(actual.db, expected->db);
        assert_int_equal(actual.is_tls, expected->is_tls);
        lki_endpoint_done(&actual);
        assert_null(actual.host);
    }
}

TEST(bad_urls_are_refused_with_a_word_on_what_is_wrong)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct lki_endpoint endpoint;
        struct lk_error err = {0};

        if (lki_endpoint_parse(bad[i].url, NULL, &endpoint, &err) != LK_INVALID) {
            fail_msg("\"%s\" was taken", bad[i].url);
        }
        if (!strstr(err.text, bad[i].word)) fail_msg("\"%s\": \"%s\"", bad[i].url, err.text);
        lki_endpoint_done(&endpoint);
    }
}

TEST(no_message_and_no_label_shows_the_password)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct lki_endpoint endpoint;
        struct lk_error err = {0};

        assert_int_equal(lki_endpoint_parse(bad[i].url, NULL, &endpoint, &err), LK_INVALID);
        assert_null(strstr(err.text, SECRET));
        assert_null(strstr(endpoint.label, SECRET));
        lki_endpoint_done(&endpoint);
    }
}

TEST(the_error_may_be_null)
{
    struct lki_endpoint endpoint;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(lki_endpoint_parse(bad[i].url, NULL, &endpoint, NULL), LK_INVALID);
        lki_endpoint_done(&endpoint);
    }
}

TEST(a_socket_path_of_107_bytes_fits_and_one_more_does_not)
{
    char url[256];
    struct lki_endpoint endpoint;
    struct lk_error err = {0};

    (void)snprintf(url, sizeof url, "unix:///%0106d", 0);
    assert_int_equal(lki_endpoint_parse(url, NULL, &endpoint, &err), LK_OK);
    assert_int_equal(strlen(endpoint.path), 107);
    lki_endpoint_done(&endpoint);
    (void)snprintf(url, sizeof url, "unix:///%0107d", 0);
    assert_int_equal(lki_endpoint_parse(url, NULL, &endpoint, &err), LK_INVALID);

    assert_non_null(strstr(err.text, "107"));
    lki_endpoint_done(&endpoint);
}

/* ---- secrets beside the URL -------------------------------------------------------------------------- */

TEST(a_password_beside_the_url_is_that_of_its_user_or_of_the_default_one)
{
    static const struct {
        const char *url;
        const char *user;
    } rows[] = {
        {"redis://app@localhost", "app"},      {"redis://%61pp@localhost:7000/2", "app"},
        {"redis://app@[::1]:7000", "app"},     {"redis://localhost", NULL},
        {"redis://@localhost", NULL},          {"unix:///run/redis.sock", NULL},
        {"unix:///run/redis.sock?db=9", NULL},
    };
    static const char password[] = SECRET "%41:@/"; /* taken as it is */

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lki_endpoint endpoint;
        struct lk_error err = {0};

        if (lki_endpoint_parse(rows[i].url, password, &endpoint, &err) != LK_OK)
            fail_msg("%s: %s", rows[i].url, err.text);
        check_text(endpoint.user, rows[i].user);
        check_text(endpoint.password, password);
        assert_null(strstr(endpoint.label, SECRET));
        lki_endpoint_done(&endpoint);
    }
}

TEST(two_passwords_or_none_are_refused)
{
    static const struct {
        const char *url;
        const char *password;
        const char *word;
    } rows[] = {
        {"redis://app:" SECRET "@localhost", SECRET "2", "two passwords"},
        {"redis://:" SECRET "@localhost", SECRET, "two passwords"},
        {"redis://:@localhost", SECRET, "two passwords"},
        {"redis://app@localhost", "", "empty"},
        {"redis://localhost", "", "empty"},
        {"unix:///run/redis.sock", "", "empty"},
        {"redis://app@localhost", NULL, "user:password@ before the host"},
        {"redis://app@localhost", NULL, "beside the URL"},
        {"redis://@localhost", NULL, "beside the URL"},
        {"redis://" SECRET "@localhost:x", SECRET, "port"},
        {"http://localhost", SECRET, "redis://"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lki_endpoint endpoint;
        struct lk_error err = {0};

        assert_int_equal(lki_endpoint_parse(rows[i].url, rows[i].password, &endpoint, &err),
                         LK_INVALID);
        if (!strstr(err.text, rows[i].word)) fail_msg("%s: %s", rows[i].url, err.text);
        assert_null(strstr(err.text, SECRET));
        lki_endpoint_done(&endpoint);
    }
}

TEST(a_loader_is_user_and_password_and_goes_along)
{
    static const char nobody[] = ":" SECRET;
    static const char *const wrong[] = {"", ":", "loader", "loader:", nobody, SECRET};
    struct lki_endpoint endpoint;
    struct lki_endpoint copy;
    struct lki_endpoint other;
    struct lk_error err = {0};

    assert_int_equal(lki_endpoint_parse("redis://asked", NULL, &endpoint, NULL), LK_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(lki_endpoint_set_loader(&endpoint, wrong[i], &err), LK_INVALID);
        assert_null(strstr(err.text, SECRET));
        assert_null(endpoint.loader);
    }
    assert_int_equal(lki_endpoint_set_loader(&endpoint, "loader:" SECRET ":%41@/", NULL), LK_OK);
    assert_int_equal(lki_endpoint_copy(&endpoint, &copy), LK_OK);
    assert_int_equal(lki_endpoint_at(LK_BYTES("h:1"), &copy, &endpoint, &other, NULL), LK_OK);
    check_text(other.loader, "loader");
    check_text(other.loader_password, SECRET ":%41@/");
    lki_endpoint_done(&other);
    lki_endpoint_done(&copy);
    lki_endpoint_done(&endpoint);
}

/* ---- as servers write addresses ---------------------------------------------------------------------- */

/* The longest name that DNS allows is cut in a label; two servers there differ by their ports. */
#define SIXTY     "a23456789.b23456789.c23456789.d23456789.e23456789.f23456789."
#define LONG_HEAD SIXTY "a23456789.b23456789.c23456789.d23456789.e23456789.f23456789"
#define LONG_NAME LONG_HEAD LONG_HEAD "abc"

static const struct {
    const char *address;
    const char *label; /* NULL: no address */
} addresses[] = {
    {"127.0.0.1:7001", "127.0.0.1:7001"},
    {":7001", "asked:7001"},
    {"?:7001", "asked:7001"},
    {"::1:7001", "[::1]:7001"},
    {"redis-0.redis.svc:6379", "redis-0.redis.svc:6379"},
    {LONG_NAME ":7001", LONG_HEAD ":7001"},
    {LONG_NAME ":7002", LONG_HEAD ":7002"},
    {"", NULL},
    {":", NULL},
    {"127.0.0.1", NULL},
    {"127.0.0.1:", NULL},
    {"127.0.0.1:0", NULL},
    {"127.0.0.1:65536", NULL},
    {"127.0.0.1:-1", NULL},
    {"127.0.0.1:70x1", NULL},
    {"127.0.0.1:7001@17001", NULL},
};

TEST(an_address_becomes_a_server_with_the_same_credentials)
{
    struct lki_endpoint like;
    struct lki_endpoint asked;

    assert_int_equal(lki_endpoint_parse("rediss://me:" SECRET "@any/3", NULL, &like, NULL), LK_OK);
    assert_int_equal(lki_endpoint_parse("redis://asked:6379", NULL, &asked, NULL), LK_OK);
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        const char *address = addresses[i].address;
        struct lki_endpoint server;
        lk_status status = lki_endpoint_at(lk_bytes_of(address), &like, &asked, &server, NULL);

        if (status != (addresses[i].label ? LK_OK : LK_INVALID)) fail_msg("\"%s\"", address);
        if (addresses[i].label) {
            assert_string_equal(server.label, addresses[i].label);
            assert_string_equal(server.user, "me");
            assert_string_equal(server.password, SECRET);
            assert_int_equal(server.db, 3);
            assert_true(server.is_tls); /* never in the clear because somebody named an address */
        }
        lki_endpoint_done(&server);
    }
    lki_endpoint_done(&asked);
    lki_endpoint_done(&like);
}

/* Every beginning of every URL, its end against a page that must not be read. */
TEST(nothing_is_read_past_the_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        for (size_t len = strlen(good[i].url) + 1; len-- > 0;) {
            struct lki_endpoint endpoint;
            char *url = pages + page - len - 1;

            memcpy(url, good[i].url, len);
            url[len] = '\0';
            lk_status status = lki_endpoint_parse(url, NULL, &endpoint, NULL);
            assert_true(status == LK_OK || status == LK_INVALID);
            lki_endpoint_done(&endpoint);
        }
    }
    assert_int_equal(munmap(pages, 2 * page), 0);
}
