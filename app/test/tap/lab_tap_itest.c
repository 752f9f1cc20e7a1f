/*
 * The tap between clients and a server that the test plays itself: what comes together.
 */
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "lab/tap/tap.h"
#include "test/support/app_support.h"
#include "test/support/testing.h"

enum { PATIENCE_MS = 5000, SETTLE_MS = 50 };

static const char ping[] = "*1\r\n$4\r\nPING\r\n";

static int open_socket(const char *path, bool is_listener)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (is_listener) {
        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
        assert_int_equal(listen(fd, 8), 0);
    } else {
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    }
    return fd;
}

static int knock(const struct tap *tap, int wire)
{
    return open_socket(tap_url(tap, wire) + strlen("unix://"), false);
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static bool hears(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};

    return poll(&wait, 1, PATIENCE_MS) == 1;
}

/* All on one processor, and the threads of the tap begin only when we pause: they see the first of two
   things together with the second, and are not before us when a mutex is free. */
static struct tap *open_tap(const char *dir, const char *server, struct labels *labels)
{
    const struct sched_param none = {0};
    struct start_error why = {0};
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    struct tap *tap = tap_open(dir, server, labels, &why);
    assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
    return tap;
}

/* What happens while the tap is held up: it finds all of it at once. */
static struct {
    struct tap *tap;
    int server; /* the other end of A's connection */
    int wire;   /* of B... */
    int client; /* ...who knocks there */
} meanwhile;

/* Called under the tap's mutex, once; in the pause its thread sees both, and waits for the mutex. */
static ssize_t happen(void *cookie, const char *text, size_t len)
{
    if (meanwhile.client >= 0) return (ssize_t)len;
    meanwhile.client = knock(meanwhile.tap, meanwhile.wire);
    say(meanwhile.server, "+PONG\r\n");
    clock_pause_ms(SETTLE_MS);
    return (ssize_t)len;
}

TEST(who_knocks_while_another_is_cut_off_is_served)
{
    char dir[APP_PATH_SIZE];
    char path[APP_PATH_SIZE + 16];
    struct labels labels = {0};
    struct start_error why = {0};
    FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = happen});

    app_folder_make(dir);
    (void)snprintf(path, sizeof path, "%s/server", dir);
    int listener = open_socket(path, true);
    struct tap *tap = open_tap(dir, path, &labels);
    assert_true(tap && out && setvbuf(out, NULL, _IONBF, 0) == 0);
    int a = tap_add_wire(tap, "A", &why);
    int client = knock(tap, a);
    say(client, ping);
    meanwhile.tap = tap;
    meanwhile.server = accept(listener, NULL, NULL);
    meanwhile.wire = tap_add_wire(tap, "B", &why);
    meanwhile.client = -1;
    assert_true(hears(meanwhile.server));
    clock_pause_ms(SETTLE_MS); /* it has seen that there is a wire for B, too */

    tap_print(tap, "A", lk_bytes_of("text"), out);
    tap_cut(tap, a);
    int server = accept(listener, NULL, NULL);
    say(meanwhile.client, ping);
    assert_true(hears(server)); /* else the tap stands, and so does all that comes after */

    tap_close(tap);
    (void)fclose(out);
    (void)close(listener);
    (void)close(server);
    (void)close(meanwhile.server);
    (void)close(meanwhile.client);
    (void)close(client);
    app_folder_remove(dir);
}

/* A hold that lasts for 200 ms is looked after, on a slow machine also one that is meant to be short. */
TEST(a_watchdogs_look_is_not_shown)
{
    static const char look[] =
        "*3\r\n$4\r\nEVAL\r\n$33\r\n-- Behind an owner check\nreturn 1\r\n$1\r\n0\r\n";
    char dir[APP_PATH_SIZE];
    char path[APP_PATH_SIZE + 16];
    struct labels labels = {0};
    struct start_error why = {0};

    app_folder_make(dir);
    (void)snprintf(path, sizeof path, "%s/server", dir);
    int listener = open_socket(path, true);
    struct tap *tap = tap_open(dir, path, &labels, &why);
    assert_non_null(tap);
    int client = knock(tap, tap_add_wire(tap, "A", &why));
    say(client, look);
    int server = accept(listener, NULL, NULL);
    assert_true(hears(server));
    say(server, ":1\r\n");
    assert_true(hears(client));
    struct tap_calls calls = tap_take_calls(tap);

    assert_int_equal(calls.count, 0);
    tap_calls_free(&calls);
    tap_close(tap);
    (void)close(listener);
    (void)close(server);
    (void)close(client);
    app_folder_remove(dir);
}
