/*
 * URLs of one server and of several, good and bad, as tables.
 */
#include "test/support/testing.h"
#include "wire/url.h"

#define SECRET "s3cr3t"

static const struct {
    const char *url;
    size_t kind; /* enum lki_url_kind */
    size_t seed_count;
    const char *first;
    const char *last;
    const char *name;     /* NULL: none */
    const char *password; /* of the servers */
    int db;
    bool is_tls;
} good[] = {
    {"redis://h:1", LKI_URL_SINGLE, 1, "h:1", "h:1", NULL, NULL, 0, false},
    {"unix:///s", LKI_URL_SINGLE, 1, "/s", "/s", NULL, NULL, 0, false},
    {"redis+sentinel://a", LKI_URL_SENTINEL, 1, "a:26379", "a:26379", "mymaster", NULL, 0, false},
    {"redis+sentinel://a/", LKI_URL_SENTINEL, 1, "a:26379", "a:26379", "mymaster", NULL, 0, false},
    {"redis+sentinel://a:1,b,[::1]:3/main", LKI_URL_SENTINEL, 3, "a:1", "[::1]:3", "main", NULL, 0,
     false},
    {"redis+sentinel://[::1],b/main/7", LKI_URL_SENTINEL, 2, "[::1]:26379", "b:26379", "main", NULL,
     7, false},
    {"redis+sentinel://u:" SECRET "@a,b/main/2", LKI_URL_SENTINEL, 2, "a:26379", "b:26379", "main",
     SECRET, 2, false},
    {"redis+cluster://a,b:2", LKI_URL_CLUSTER, 2, "a:6379", "b:2", NULL, NULL, 0, false},
    {"redis+cluster://:" SECRET "@a:1/", LKI_URL_CLUSTER, 1, "a:1", "a:1", NULL, SECRET, 0, false},
    {"rediss://h", LKI_URL_SINGLE, 1, "h:6379", "h:6379", NULL, NULL, 0, true},
    {"rediss+sentinel://u:" SECRET "@a,b/main/2", LKI_URL_SENTINEL, 2, "a:26379", "b:26379", "main",
     SECRET, 2, true},
    {"rediss+cluster://a,b:2", LKI_URL_CLUSTER, 2, "a:6379", "b:2", NULL, NULL, 0, true},
};

/* Each with a word that its message must have. */
static const struct {
    const char *url;
    const char *word;
} bad[] = {
    {"redis+sentinel://", "no host"},
    {"redis+sentinel://a,,b/main", "no host"},
    {"redis+sentinel://a,/main", "no host"},
    {"redis+sentinel://a:x/main", "port"},
    {"redis+sentinel://a/main/x", "database"},
    {"redis+sentinel://a/main/1/2", "database"},
    {"redis+sentinel://a/main/12345678901234567890", "database"},
    {"redis+sentinel://a?x=1", "follow"},
    {"redis+sentinel://" SECRET "@a/main", "user:password"},
    {"redis+cluster://a/1", "no databases"},
    {"redis+cluster://a?x", "no databases"},
    {"redis+cluster://:%zz" SECRET "@a", "%XX"},
    {"redis+cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "more than 16"},
    {"redis+other://a", "redis+sentinel://"},
    {"rediss+other://a", "rediss"},
    {"redisss://a", "rediss"},
    {"rediss+cluster://a/1", "no databases"},
};

TEST(good_urls_are_taken_apart)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct lki_url url;
        struct lk_error err = {0};

        if (lki_url_parse(good[i].url, (struct lki_secrets){0}, &url, &err) != LK_OK) {
            fail_msg("%s: %s", good[i].url, err.text);
        }
        const struct lki_endpoint *like =
            url.seed_count > 0 && good[i].kind == LKI_URL_SINGLE ? &url.seeds[0] : &url.like;
        assert_int_equal(url.kind, good[i].kind);
        assert_int_equal(url.seed_count, good[i].seed_count);
        assert_string_equal(url.seeds[0].label, good[i].first);
        assert_string_equal(url.seeds[url.seed_count - 1].label, good[i].last);
        assert_int_equal(url.name != NULL, good[i].name != NULL);
        if (good[i].name) assert_string_equal(url.name, good[i].name);
        assert_int_equal(like->password != NULL, good[i].password != NULL);
        if (good[i].password) assert_string_equal(like->password, good[i].password);
        assert_int_equal(like->db, good[i].db);
        assert_int_equal(like->is_tls, good[i].is_tls);
        for (size_t k = 0; k < url.seed_count; k++)
            assert_int_equal(url.seeds[k].is_tls, good[i].is_tls);
        assert_int_equal(lki_url_is_tls(&url), good[i].is_tls);
        lki_url_done(&url);
    }
}

TEST(sentinels_are_asked_without_the_servers_password)
{
    struct lki_url url;

    assert_int_equal(
        lki_url_parse("redis+sentinel://:" SECRET "@a,b/main", (struct lki_secrets){0}, &url, NULL),
        LK_OK);
    assert_null(url.seeds[0].password);
    assert_null(url.seeds[1].password);
    lki_url_done(&url);
}

TEST(sentinels_have_a_user_and_a_password_of_their_own)
{
    static const struct {
        const char *url;
        const char *login;
        const char *user;
        const char *password; /* NULL: the login is refused */
    } rows[] = {
        {"redis+sentinel://:server@a,b/main", SECRET, NULL, SECRET},
        {"redis+sentinel://a,b/main", "guard:" SECRET, "guard", SECRET},
        {"rediss+sentinel://app:server@a,b/main", "guard:" SECRET ":%41", "guard", SECRET ":%41"},
        {"redis+sentinel://a", ":" SECRET, NULL, SECRET},
        {"redis+sentinel://a", "", NULL, NULL},
        {"redis+sentinel://a", SECRET ":", NULL, NULL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lki_url url;
        struct lk_error err = {0};
        lk_status status =
            lki_url_parse(rows[i].url, (struct lki_secrets){.sentinel = rows[i].login}, &url, &err);

        assert_int_equal(status, rows[i].password ? LK_OK : LK_INVALID);
        assert_null(strstr(err.text, SECRET));
        for (size_t k = 0; k < url.seed_count && status == LK_OK; k++) {
            assert_string_equal(url.seeds[k].password, rows[i].password);
            assert_int_equal(url.seeds[k].user != NULL, rows[i].user != NULL);
            if (rows[i].user) assert_string_equal(url.seeds[k].user, rows[i].user);
        }
        if (url.like.password) assert_string_equal(url.like.password, "server");
        lki_url_done(&url);
    }
}

TEST(secrets_beside_the_url_are_those_of_all_servers)
{
    static const struct {
        const char *url;
        bool is_cluster;
    } rows[] = {
        {"redis+sentinel://app@a,b/main", false},
        {"redis+sentinel://a,b", false},
        {"redis+cluster://app@a,b", true},
        {"redis+cluster://a,b", true},
    };
    const struct lki_secrets secrets = {.password = SECRET, .loader = "loader:" SECRET "2"};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lki_url url;
        struct lk_error err = {0};

        if (lki_url_parse(rows[i].url, secrets, &url, &err) != LK_OK)
            fail_msg("%s: %s", rows[i].url, err.text);
        assert_string_equal(url.like.password, SECRET);
        assert_string_equal(url.like.loader, "loader");
        assert_string_equal(url.like.loader_password, SECRET "2");
        assert_int_equal(url.like.user != NULL, strchr(rows[i].url, '@') != NULL);
        for (size_t k = 0; k < url.seed_count; k++) {
            assert_int_equal(url.seeds[k].password != NULL, rows[i].is_cluster);
            assert_null(url.seeds[k].loader); /* they are only asked who the servers are */
        }
        lki_url_done(&url);
    }
}

TEST(one_server_has_them_itself)
{
    struct lki_url url;

    assert_int_equal(lki_url_parse("redis://app@a",
                                   (struct lki_secrets){.password = SECRET, .loader = "l:p"}, &url,
                                   NULL),
                     LK_OK);
    assert_string_equal(url.seeds[0].user, "app");
    assert_string_equal(url.seeds[0].password, SECRET);
    assert_string_equal(url.seeds[0].loader, "l");
    lki_url_done(&url);
}

TEST(a_user_without_password_is_refused_in_every_url)
{
    static const char *const urls[] = {"redis://app@a", "redis+sentinel://app@a/main",
                                       "redis+cluster://app@a"};

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct lki_url url;
        struct lk_error err = {0};

        assert_int_equal(lki_url_parse(urls[i], (struct lki_secrets){.loader = "l:p"}, &url, &err),
                         LK_INVALID);
        assert_non_null(strstr(err.text, "user:password@"));
        assert_non_null(strstr(err.text, "beside the URL"));
        lki_url_done(&url);
    }
}

TEST(bad_urls_are_refused_with_a_word_on_what_is_wrong)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct lki_url url;
        struct lk_error err = {0};

        assert_int_equal(lki_url_parse(bad[i].url, (struct lki_secrets){0}, &url, &err),
                         LK_INVALID);
        if (!strstr(err.text, bad[i].word)) fail_msg("%s: %s", bad[i].url, err.text);
        assert_null(strstr(err.text, SECRET));
        lki_url_done(&url);
    }
}

TEST(a_server_that_is_found_gets_the_credentials)
{
    struct lki_url url;
    struct lki_endpoint server;

    assert_int_equal(lki_url_parse("redis+sentinel://u:" SECRET "@a/main/3",
                                   (struct lki_secrets){0}, &url, NULL),
                     LK_OK);
    assert_int_equal(lki_endpoint_at(LK_BYTES("::1:7001"), &url.like, &url.seeds[0], &server, NULL),
                     LK_OK);
    assert_string_equal(server.host, "::1");
    assert_string_equal(server.label, "[::1]:7001");
    assert_string_equal(server.user, "u");
    assert_string_equal(server.password, SECRET);
    assert_int_equal(server.db, 3);
    lki_endpoint_done(&server);
    lki_url_done(&url);
}

TEST(an_address_without_host_is_that_of_who_was_asked)
{
    struct lki_url url;
    struct lki_endpoint server;

    assert_int_equal(lki_url_parse("redis+cluster://a:1", (struct lki_secrets){0}, &url, NULL),
                     LK_OK);
    assert_int_equal(lki_endpoint_at(LK_BYTES(":7001"), &url.like, &url.seeds[0], &server, NULL),
                     LK_OK);
    assert_string_equal(server.label, "a:7001");
    lki_endpoint_done(&server);
    assert_int_equal(lki_endpoint_at(LK_BYTES("a"), &url.like, &url.seeds[0], &server, NULL),
                     LK_INVALID);
    lki_endpoint_done(&server);
    assert_int_equal(lki_endpoint_at(LK_BYTES("a:0"), &url.like, &url.seeds[0], &server, NULL),
                     LK_INVALID);
    lki_endpoint_done(&server);
    lki_url_done(&url);
}
