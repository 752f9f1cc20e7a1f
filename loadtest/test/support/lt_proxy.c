/*
 * One proxy process and its control socket. One thread.
 */
#include "lt_proxy.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

enum { READY_MS = 10000, STOP_MS = 5000, ANSWER_LIMIT_S = 5, OUTPUT_MAX = 2048 };

struct waiting {
    const struct lt_place *place;
    struct lt_proxy *proxy;
};

/* The ready line is there: take the ports from it. */
static bool is_ready(void *arg)
{
    const struct waiting *waiting = arg;
    char output[OUTPUT_MAX];
    size_t count = 0;

    lt_place_read(waiting->place, "proxy.out", output, sizeof output);
    if (!strchr(output, '\n')) return false;
    for (const char *at = output;
         count < LT_PROXY_LINKS_MAX && (at = strstr(at, " 127.0.0.1:")) && strstr(at, " -> ");) {
        at += strlen(" 127.0.0.1:");
        waiting->proxy->ports[count++] = (int)strtol(at, NULL, 10);
        at = strstr(at, " -> ");
        at += strlen(" -> ");
    }
    return true;
}

bool lt_proxy_start(const struct lt_place *place, const char *const to[], const char *const extra[],
                    struct lt_proxy *out_proxy)
{
    const char *argv[LT_WORDS_MAX + 1] = {"proxy"};
    char output[LT_PATH_MAX + 32];
    struct waiting waiting = {.place = place, .proxy = out_proxy};
    size_t count = 1;

    *out_proxy = (struct lt_proxy){.control = ""};
    (void)snprintf(output, sizeof output, "%s/proxy.out", place->dir);
    (void)unlink(output); /* of one before */
    (void)snprintf(out_proxy->control, sizeof out_proxy->control, "%s/control.sock", place->dir);
    (void)snprintf(out_proxy->history, sizeof out_proxy->history, "%s/history.jsonl", place->dir);
    for (size_t i = 0; to[i]; i++) {
        argv[count++] = "--listen";
        argv[count++] = "127.0.0.1:0";
        argv[count++] = "--to";
        argv[count++] = to[i];
    }
    argv[count++] = "--control";
    argv[count++] = out_proxy->control;
    argv[count++] = "--log";
    argv[count++] = out_proxy->history;
    for (size_t i = 0; extra && extra[i]; i++)
        argv[count++] = extra[i];
    return lt_start(place, argv, "proxy.out", &out_proxy->process) &&
           lt_eventually(is_ready, &waiting, READY_MS);
}

bool lt_proxy_stop(struct lt_proxy *proxy)
{
    process_stop(&proxy->process, STOP_MS);
    return WIFEXITED(proxy->process.wait_status) && WEXITSTATUS(proxy->process.wait_status) == 0;
}

static int open_control(const struct lt_proxy *proxy)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = ANSWER_LIMIT_S};
    const void *address = &where;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(where.sun_path, sizeof where.sun_path, "%.100s", proxy->control);
    if (fd < 0) return -1;
    if (connect(fd, address, sizeof where) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

bool lt_proxy_ask(const struct lt_proxy *proxy, const char *line, char answer[LT_ANSWER_MAX])
{
    char request[256];
    size_t length = 0;
    ssize_t count = 1;
    int fd = open_control(proxy);

    if (fd < 0) return false;
    int size = snprintf(request, sizeof request, "%s\n", line);
    bool is_whole = false;
    if (send(fd, request, (size_t)size, MSG_NOSIGNAL) != size) count = 0;
    while (count > 0 && !is_whole && length < LT_ANSWER_MAX - 1) {
        count = recv(fd, answer + length, LT_ANSWER_MAX - 1 - length, 0);
        if (count > 0) length += (size_t)count;
        is_whole = length && answer[length - 1] == '\n';
    }
    answer[is_whole ? length - 1 : 0] = '\0';
    (void)close(fd);
    return is_whole;
}

bool lt_proxy_tell(const struct lt_proxy *proxy, const char *line)
{
    char answer[LT_ANSWER_MAX];
    return lt_proxy_ask(proxy, line, answer) && (answer[0] == '{' || strcmp(answer, "ok") == 0);
}

int64_t lt_proxy_count(const struct lt_proxy *proxy, const char *name)
{
    char answer[LT_ANSWER_MAX];

    if (!lt_proxy_ask(proxy, "status", answer)) return -1;
    json_t *status = json_loads(answer, 0, NULL);
    const json_t *number =
        json_object_get(json_array_get(json_object_get(status, "links"), 0), name);
    int64_t count = json_is_integer(number) ? json_integer_value(number) : -1;
    json_decref(status);
    return count;
}

bool lt_proxy_has_noted(const struct lt_proxy *proxy, const char *const words[])
{
    char line[1024];
    bool is_found = false;
    FILE *file = fopen(proxy->history, "re");

    while (file && !is_found && fgets(line, sizeof line, file)) {
        json_t *parsed = json_loads(line, 0, NULL);
        is_found = json_is_integer(json_object_get(parsed, "t"));
        for (size_t i = 0; words[i]; i++)
            is_found = is_found && strstr(line, words[i]);
        json_decref(parsed);
    }
    if (file) (void)fclose(file); /* read only */
    return is_found;
}
