/*
 * The proxy as a program: its words and exit statuses, its sockets and what is left of them, `ctl`,
 * several links, and a schedule that runs by itself.
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/support/lt_command.h"
#include "test/support/lt_net.h"
#include "test/support/lt_proxy.h"
#include "test/support/testing.h"

enum { SOON_MS = 5000 };

struct rig {
    struct lt_sandbox sandbox;
    struct lt_proxy proxy;
    int listeners[LT_PROXY_LINKS_MAX]; /* the servers behind link1 and link2 */
    char to[LT_PROXY_LINKS_MAX][32];
    char link[LT_PATH_MAX + 64]; /* a unix socket, and the flag for a link "u" there */
    char flag[2 * LT_PATH_MAX + 64];
};

SET_UP(struct rig, rig)
{
    int port = 0;

    for (size_t i = 0; i < LT_PROXY_LINKS_MAX; i++) {
        rig->listeners[i] = lt_listen(&port);
        assert_true(rig->listeners[i] >= 0);
        (void)snprintf(rig->to[i], sizeof rig->to[i], "127.0.0.1:%d", port);
    }
    assert_true(lt_sandbox_open(&rig->sandbox));
    (void)snprintf(rig->link, sizeof rig->link, "%s/link.sock", rig->sandbox.dir);
    (void)snprintf(rig->flag, sizeof rig->flag, "u=unix://%s,%s", rig->link, rig->to[0]);
}

TEAR_DOWN(struct rig, rig)
{
    process_stop(&rig->proxy.process, SOON_MS);
    for (size_t i = 0; i < LT_PROXY_LINKS_MAX; i++)
        (void)close(rig->listeners[i]);
    lt_sandbox_close(&rig->sandbox);
}

static void start(struct rig *rig, const char *const extra[])
{
    const char *const to[] = {rig->to[0], rig->to[1], NULL};
    assert_true(lt_proxy_start(&rig->sandbox, to, extra, &rig->proxy));
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

TEST(sigterm_leaves_no_socket_and_no_connection, struct rig *rig)
{
    const char *const extra[] = {"--link", rig->flag, NULL};
    struct stat about;

    start(rig, extra);
    assert_true(is_there(rig->link));
    assert_int_equal(0, stat(rig->proxy.control, &about));
    assert_int_equal(0600, about.st_mode & 0777);
    int client = lt_connect(rig->proxy.ports[0]);
    int server = lt_accept(rig->listeners[0]);
    assert_true(client >= 0 && server >= 0);
    assert_true(lt_proxy_command(&rig->proxy, "u:refuse"));

    assert_true(lt_proxy_stop(&rig->proxy));

    assert_false(is_there(rig->link));
    assert_false(is_there(rig->proxy.control));
    assert_int_equal(LT_RESET, lt_next(client, SOON_MS));
    assert_int_equal(LT_RESET, lt_next(server, SOON_MS));
    assert_int_equal(-1, lt_connect(rig->proxy.ports[0]));
    (void)close(client);
    (void)close(server);
}

TEST(a_socket_of_a_killed_proxy_is_taken_over, struct rig *rig)
{

    start(rig, NULL);
    process_signal(&rig->proxy.process, SIGKILL);
    assert_true(process_wait(&rig->proxy.process, SOON_MS));
    assert_true(is_there(rig->proxy.control));

    start(rig, NULL);
    assert_true(lt_proxy_command(&rig->proxy, "status"));
}

TEST(a_socket_in_use_is_left_alone, struct rig *rig)
{
    start(rig, NULL);
    const char *said = lt_must(&rig->sandbox, 1, "proxy --listen 127.0.0.1:0 --to %s --control %s",
                               rig->to[0], rig->proxy.control);
    assert_non_null(strstr(said, "cannot listen on unix://"));
    assert_true(lt_proxy_command(&rig->proxy, "status"));
}

TEST(a_unix_link_refuses_and_comes_back, struct rig *rig)
{
    const char *const extra[] = {"--link", rig->flag, NULL};

    start(rig, extra);
    assert_true(lt_proxy_command(&rig->proxy, "u:refuse"));
    assert_int_equal(-1, lt_connect_unix(rig->link));

    assert_true(lt_proxy_command(&rig->proxy, "u:pass"));

    int client = lt_connect_unix(rig->link);
    int server = lt_accept(rig->listeners[0]);
    assert_true(client >= 0 && server >= 0);
    assert_true(lt_send(client, "hello"));
    assert_true(lt_receives(server, "hello"));
    (void)close(client);
    (void)close(server);
}

TEST(a_verb_for_one_link_leaves_the_other_alone, struct rig *rig)
{
    int clients[LT_PROXY_LINKS_MAX];
    int servers[LT_PROXY_LINKS_MAX];

    start(rig, NULL);
    for (size_t i = 0; i < LT_PROXY_LINKS_MAX; i++) {
        clients[i] = lt_connect(rig->proxy.ports[i]);
        servers[i] = lt_accept(rig->listeners[i]);
        assert_true(clients[i] >= 0 && servers[i] >= 0);
    }
    assert_true(lt_proxy_command(&rig->proxy, "link2:cut"));
    assert_int_equal(LT_RESET, lt_next(clients[1], SOON_MS));
    assert_true(lt_send(clients[0], "hello"));
    assert_true(lt_receives(servers[0], "hello"));

    assert_true(lt_proxy_command(&rig->proxy, "cut"));
    assert_int_equal(LT_RESET, lt_next(clients[0], SOON_MS));
    for (size_t i = 0; i < LT_PROXY_LINKS_MAX; i++) {
        (void)close(clients[i]);
        (void)close(servers[i]);
    }
}

TEST(ctl_speaks_to_a_running_proxy, struct rig *rig)
{
    static const struct lt_case rows[] = {
        {"@control.sock link1:delay 20 5", 0, "ok\n"},
        {"@control.sock link7:cut", 1, "proxy: no link \"link7\"\n"},
        {"@control.sock cut me", 2, "proxy: cut: \"me\" is one word too many\n"},
        {"@control.sock", 2, "proxy: ctl: PATH and a verb are missing (try --help)\n"},
        {"/nowhere cut", 1, "proxy: /nowhere: No such file or directory\n"},
        {"@control.sock status", 0, "{\"seed\":1,\"links\":[{\"name\":\"link1\","},
        {NULL, 0, NULL},
    };

    start(rig, NULL);
    lt_must_all(&rig->sandbox, "proxy ctl", rows);
}

static bool has_cut_and_healed(void *arg)
{
    const struct rig *rig = arg;
    const char *const cut[] = {"\"f\":\"cut\"", "\"target\":\"link2\"", "\"by\":\"schedule\"",
                               NULL};
    const char *const pass[] = {"\"f\":\"pass\"", "\"target\":\"link1\"", "\"by\":\"schedule\"",
                                NULL};
    return lt_proxy_has_logged(&rig->proxy, cut) && lt_proxy_has_logged(&rig->proxy, pass);
}

TEST(a_schedule_runs_by_itself, struct rig *rig)
{
    char path[LT_PATH_MAX + 64];

    assert_true(lt_sandbox_write(&rig->sandbox, "schedule",
                                 "0 stall\n50 pass\nevery 10..30 link2:cut\n", path));
    const char *const extra[] = {"--schedule", path, "--seed", "42", NULL};
    start(rig, extra);

    assert_true(lt_eventually(has_cut_and_healed, rig, SOON_MS));
    const char *const seed[] = {"\"e\":\"start\"", "\"seed\":42", NULL};
    assert_true(lt_proxy_has_logged(&rig->proxy, seed));
}

TEST(bad_words_end_with_a_status_and_a_line, struct rig *rig)
{
    static const struct lt_case rows[] = {
        {"--help", 0, "eat-reply N"},
        {"--version", 0, "proxy 0."},
        {"", 2, "proxy: no link: give --listen and --to (try --help)\n"},
        {"--fast", 2, "proxy: no flag \"--fast\" (try --help)\n"},
        {"--listen 127.0.0.1:0 --to 127.0.0.1:1 --schedule @schedule", 2, "no link \"link9\"\n"},
        {"--listen 127.0.0.1:0 --to 127.0.0.1:1 --schedule /nowhere", 2,
         "proxy: /nowhere: No such file or directory\n"},
        {"--listen unix:///nowhere/x --to 127.0.0.1:1", 1, "proxy: cannot listen on "},
        {NULL, 0, NULL},
    };
    char path[LT_PATH_MAX + 64];

    assert_true(lt_sandbox_write(&rig->sandbox, "schedule", "0 link9:cut\n", path));
    lt_must_all(&rig->sandbox, "proxy", rows);
    (void)lt_must(&rig->sandbox, 1, "proxy --listen %s --to %s", rig->to[1],
                  rig->to[0]); /* in use */
}
