/*
 * What the service's tests look up, or do to, behind its back. Any thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lockkit/lockkit.h"

#include "app_support.h"

/* The answer as a number; -1 when it is none, or none came. */
static long long ask_server(const char *url, const struct lk_command *command)
{
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = url}, NULL);
    lk_reply *reply = NULL;
    long long number = -1;

    if (client && lk_client_call(client, command, 1, 0, &reply, NULL) == LK_OK) {
        struct lk_bytes bytes = lk_reply_bytes(reply);

        number = bytes.data ? strtoll(bytes.data, NULL, 10) : lk_reply_integer(reply, -1);
    }
    lk_reply_free(reply);
    lk_client_close(client);
    return number;
}

long long app_ask_redis(const char *url, const char *command, const char *key)
{
    const struct lk_bytes args[] = {lk_bytes_of(command), lk_bytes_of(key)};

    return ask_server(url, &(struct lk_command){.args = args, .count = 2});
}

bool app_hold_lock(const char *url, const char *sale, int64_t lease_ms)
{
    char key[64];
    char lease[24];
    struct lk_bytes args[] = {LK_BYTES("SET"), {0}, LK_BYTES("somebody"), LK_BYTES("PX"), {0}};

    (void)snprintf(key, sizeof key, "seckill:{%.40s}:lock", sale);
    (void)snprintf(lease, sizeof lease, "%lld", (long long)lease_ms);
    args[1] = lk_bytes_of(key);
    args[4] = lk_bytes_of(lease);
    (void)ask_server(url, &(struct lk_command){.args = args, .count = 5}); /* looked up below */
    return app_ask_redis(url, "EXISTS", key) == 1;
}

int app_monitor(const char *dir)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char ok[5];

    (void)snprintf(where.sun_path, sizeof where.sun_path, "%.90s/own.sock", dir);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&where, sizeof where) == 0 &&
        app_send(fd, "MONITOR\r\n", 9) && recv(fd, ok, sizeof ok, MSG_WAITALL) == sizeof ok)
        return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}
