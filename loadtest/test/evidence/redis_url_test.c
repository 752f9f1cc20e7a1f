/*
 * URLs taken apart: every topology, and one clear line for each that is none.
 */
#include "evidence/redis_url.h"
#include "test/support/testing.h"

TEST(each_topology_is_taken_apart)
{
    static const struct {
        const char *text;
        const char *host; /* of the last node */
        const char *user, *pass, *name;
        redis_topology topology;
        int count, port, db;
    } rows[] = {
        {"rediss://u:p@h/3", "h", "u", "p", "", REDIS_ONE, 1, 6379, 3},
        {"rediss+sentinel://a,b:5/main", "b", "", "", "main", REDIS_SENTINEL, 2, 5, 0},
        {"rediss+cluster://a,b", "b", "", "", "", REDIS_CLUSTER, 2, 6379, 0},
        {"redis://h", "h", "", "", "", REDIS_ONE, 1, 6379, 0},
        {"redis://h:7/3", "h", "", "", "", REDIS_ONE, 1, 7, 3},
        {"redis://u:p@s@h:7/", "h", "u", "p@s", "", REDIS_ONE, 1, 7, 0},
        {"redis://:secret@h", "h", "", "secret", "", REDIS_ONE, 1, 6379, 0},
        {"redis://auditor@h", "h", "auditor", "", "", REDIS_ONE, 1, 6379, 0},
        {"redis+sentinel://auditor@a,b/main", "b", "auditor", "", "main", REDIS_SENTINEL, 2, 26379,
         0},
        {"redis+cluster://auditor@a,b", "b", "auditor", "", "", REDIS_CLUSTER, 2, 6379, 0},
        {"unix:///run/r.sock", "/run/r.sock", "", "", "", REDIS_ONE, 1, 0, 0},
        {"redis+sentinel://a,b:5,c/main", "c", "", "", "main", REDIS_SENTINEL, 3, 26379, 0},
        {"redis+sentinel://u:p@a:5/my-primary/2", "a", "u", "p", "my-primary", REDIS_SENTINEL, 1, 5,
         2},
        {"redis+cluster://a,b:7001,127.0.0.1:7002", "127.0.0.1", "", "", "", REDIS_CLUSTER, 3, 7002,
         0},
        {"redis+cluster://:pw@a/", "a", "", "pw", "", REDIS_CLUSTER, 1, 6379, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct failure failure = {.text = ""};
        struct redis_url url;
        if (!redis_url_read(rows[i].text, &url, &failure)) print_message("%s\n", failure.text);
        assert_string_equal("", failure.text);
        assert_int_equal(rows[i].topology, url.topology);
        assert_int_equal(rows[i].count, url.count);
        assert_string_equal(rows[i].host, url.nodes[url.count - 1].host);
        assert_int_equal(rows[i].port, url.nodes[url.count - 1].port);
        assert_string_equal(rows[i].user, url.user);
        assert_string_equal(rows[i].pass, url.pass);
        assert_string_equal(rows[i].name, url.name);
        assert_int_equal(rows[i].db, url.db);
        assert_int_equal(strncmp(rows[i].text, "rediss", 6) == 0, url.is_tls);
    }
}

TEST(what_is_no_url_is_refused_with_its_shape)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"http://h", "redis+cluster://h1,h2,h3"},
        {"redis://", "redis://[user[:pass]@]host[:port][/db]"},
        {"redis://h:0", "is not redis://"},
        {"redis://h:65536", "is not redis://"},
        {"redis://h:7x", "is not redis://"},
        {"redis://h/x", "is not redis://"},
        {"redis://h/0/1", "is not redis://"},
        {"redis://a,b", "is not redis://"},
        {"redis://@h", "is not redis://"},
        {"unix://relative", "unix:///path"},
        {"redis+sentinel://a,b", "/NAME[/db]"},
        {"redis+sentinel://a,b/", "/NAME[/db]"},
        {"redis+sentinel://a,,b/main", "/NAME[/db]"},
        {"redis+sentinel://a/main/x", "/NAME[/db]"},
        {"rediss+sentinel://a,b", "is not rediss+sentinel://[user"},
        {"redisss://h", "is not redis://"},
        {"rediss", "nor one of rediss (TLS)"},
        {"redis+cluster://", "is not redis+cluster://"},
        {"redis+cluster://a,", "is not redis+cluster://"},
        {"redis+cluster://a/1", "is not redis+cluster://"},
        {"redis+cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "is not redis+cluster://"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct failure failure = {.text = ""};
        struct redis_url url;
        if (redis_url_read(rows[i].text, &url, &failure)) print_message("%s\n", rows[i].text);
        assert_non_null(strstr(failure.text, rows[i].words));
    }
}

TEST(a_redirection_names_an_address)
{
    struct redis_address address;

    assert_true(redis_url_read_address("127.0.0.1:7001", &address));
    assert_string_equal("127.0.0.1", address.host);
    assert_int_equal(7001, address.port);
    assert_true(redis_url_read_address("::1:7001", &address));
    assert_string_equal("::1", address.host);
    assert_false(
        redis_url_read_address(":7001", &address)); /* the node does not know its address */
    assert_false(redis_url_read_address("127.0.0.1", &address));
    assert_false(redis_url_read_address("127.0.0.1:", &address));
}

TEST(a_password_is_not_shown)
{
    struct failure failure = {.text = ""};
    struct redis_url url;
    char shown[100];

    redis_url_show("redis+sentinel://u:secret@a,b/main", shown, sizeof shown);
    assert_string_equal("redis+sentinel://a,b/main", shown);
    redis_url_show("unix:///run/r.sock", shown, sizeof shown);
    assert_string_equal("unix:///run/r.sock", shown);
    assert_false(redis_url_read("redis://u:secret@h:x", &url, &failure));
    assert_null(strstr(failure.text, "secret"));
}
