/*
 * One proxy process and its control socket. One thread.
 */
#include "lt_proxy.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "lt_net.h"

enum { READY_MS = 10000, STOP_MS = 5000, OUTPUT_MAX = 2048 };

struct waiting {
    const struct lt_sandbox *sandbox;
    struct lt_proxy *proxy;
};

/* The ready line is there: take the ports from it. */
static bool is_ready(void *arg)
{
    const struct waiting *waiting = arg;
    char output[OUTPUT_MAX];
    size_t count = 0;

    lt_sandbox_read(waiting->sandbox, "proxy.out", output, sizeof output);
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

static void add(const char *argv[], const char *const more[])
{
    size_t count = 0;

    while (argv[count])
        count++;
    for (size_t i = 0; more[i]; i++)
        argv[count++] = more[i];
}

bool lt_proxy_start(const struct lt_sandbox *sandbox, const char *const to[],
                    const char *const extra[], struct lt_proxy *out_proxy)
{
    const char *argv[LT_WORDS_MAX + 1] = {"proxy"};
    char output[LT_PATH_MAX + 32];
    struct waiting waiting = {.sandbox = sandbox, .proxy = out_proxy};

    *out_proxy = (struct lt_proxy){.control = ""};
    (void)snprintf(output, sizeof output, "%s/proxy.out", sandbox->dir);
    (void)unlink(output); /* of one before */
    (void)snprintf(out_proxy->control, sizeof out_proxy->control, "%s/control.sock", sandbox->dir);
    (void)snprintf(out_proxy->history, sizeof out_proxy->history, "%s/history.jsonl", sandbox->dir);
    add(argv, (const char *[]){"--control", out_proxy->control, "--log", out_proxy->history, NULL});
    for (size_t i = 0; to && to[i]; i++)
        add(argv, (const char *[]){"--listen", "127.0.0.1:0", "--to", to[i], NULL});
    if (extra) add(argv, extra);
    return lt_start(sandbox, argv, "proxy.out", &out_proxy->process) &&
           lt_eventually(is_ready, &waiting, READY_MS);
}

bool lt_proxy_stop(struct lt_proxy *proxy)
{
    process_stop(&proxy->process, STOP_MS);
    return WIFEXITED(proxy->process.wait_status) && WEXITSTATUS(proxy->process.wait_status) == 0;
}

bool lt_proxy_ask(const struct lt_proxy *proxy, const char *line, char answer[LT_ANSWER_MAX])
{
    char request[256];
    size_t length = 0;
    ssize_t count = 1;
    int fd = lt_connect_unix(proxy->control);

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

bool lt_proxy_command(const struct lt_proxy *proxy, const char *line)
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

bool lt_proxy_has_logged(const struct lt_proxy *proxy, const char *const words[])
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
