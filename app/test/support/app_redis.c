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
#include "sale_support.h"

lk_reply *app_redis_command(const char *url, const char *command)
{
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = url}, NULL);
    lk_reply *reply = client ? sale_ask(client, "%s", command) : NULL;

    lk_client_close(client);
    return reply;
}

long long app_ask_redis(const char *url, const char *command, const char *key)
{
    char line[256];

    (void)snprintf(line, sizeof line, "%s %s", command, key);
    lk_reply *reply = app_redis_command(url, line);
    struct lk_bytes bytes = lk_reply_bytes(reply);
    long long number = bytes.data ? strtoll(bytes.data, NULL, 10) : lk_reply_integer(reply, -1);
    lk_reply_free(reply);
    return number;
}

bool app_hold_lock(const char *url, const char *sale, int64_t lease_ms)
{
    char key[64];
    char command[128];

    (void)snprintf(key, sizeof key, "seckill:{%.40s}:lock", sale);
    (void)snprintf(command, sizeof command,
                   lease_ms > 0 ? "SET %s somebody PX %lld" : "PEXPIRE %s %lld", key,
                   (long long)lease_ms);
    lk_reply_free(app_redis_command(url, command)); /* looked up below */
    return app_ask_redis(url, "EXISTS", key) == (lease_ms > 0);
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
