/*
 * See lk_topology.h. The pipes are ours alone (O_CLOEXEC): our end closes theirs.
 */
#include "lk_topology.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_MS = 60000, WORDS_MAX = 16 };

static void run_script(const struct lkt_options *options, int to[2], int from[2])
{
    const char *words[WORDS_MAX] = {"lockkit/tools/redis_set"};
    char *argv[WORDS_MAX]; /* exec changes nothing, its prototype is older than const */
    size_t n = 1;

    const char *const pairs[][2] = {{"--set", options->setting},
                                    {"--tls", options->tls},
                                    {"--password", options->password},
                                    {"--sentinel-password", options->sentinel_password}};

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (!pairs[i][1]) continue;
        words[n++] = pairs[i][0];
        words[n++] = pairs[i][1];
    }
    words[n++] = options->is_cluster ? "cluster" : options->is_plain ? "plain" : "sentinel";
    words[n++] = "-";
    words[n++] = options->masters ? options->masters : "3";
    words[n++] = options->replicas ? options->replicas : "1";
    memcpy((void *)argv, (const void *)words, sizeof argv);
    (void)setsid(); /* Ctrl-C in the terminal is for the test, whose end ends this */
    (void)dup2(to[0], 0);
    (void)dup2(from[1], 1);
    (void)execv(argv[0], argv);
    _exit(127);
}

/* A line of its answer, byte by byte: there is little to read. */
static const char *next_line(struct lkt *topology)
{
    struct pollfd ready = {.fd = topology->from_fd, .events = POLLIN};
    size_t len = 0;
    char byte = 0;

    while (byte != '\n') {
        if (poll(&ready, 1, ANSWER_MS) != 1) fail_msg("lockkit/tools/redis_set says nothing");
        if (read(topology->from_fd, &byte, 1) != 1) fail_msg("lockkit/tools/redis_set has ended");
        if (len + 1 < sizeof topology->line) topology->line[len++] = byte;
    }
    topology->line[len - 1] = '\0';
    return topology->line;
}

/* "n1 primary 7001 4242" or "url redis+cluster://..." */
static void take_description(struct lkt *topology, char *line)
{
    char *rest = line;
    const char *name = strsep(&rest, " ");
    const char *role = strsep(&rest, " ");
    const char *port = strsep(&rest, " ");

    if (role && strcmp(name, "url") == 0) {
        (void)snprintf(topology->url, sizeof topology->url, "%s", role);
        return;
    }
    if (!port || topology->count == LKT_SERVERS_MAX) {
        fail_msg("lockkit/tools/redis_set: %s", line);
        return;
    }
    struct lks_server *server = calloc(1, sizeof *server);
    assert_non_null(server);
    server->port = (int)strtol(port, NULL, 10);
    (void)snprintf(server->url, sizeof server->url, "redis://127.0.0.1:%d", server->port);
    topology->names[topology->count] = strdup(name);
    topology->servers[topology->count++] = server;
}

struct lkt *lkt_start(const struct lkt_options *options)
{
    static const struct lkt_options defaults;
    struct lkt *topology = calloc(1, sizeof *topology);
    int to[2] = {-1, -1};
    int from[2] = {-1, -1};

    assert_non_null(topology);
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) fail_msg("pipe: %d", errno);
    topology->pid = fork();
    if (topology->pid < 0) fail_msg("fork: errno %d", errno);
    if (topology->pid == 0) run_script(options ? options : &defaults, to, from);
    (void)close(to[0]);
    (void)close(from[1]);
    topology->to_fd = to[1];
    topology->from_fd = from[0];
    while (strcmp(next_line(topology), "ready") != 0)
        take_description(topology, topology->line);
    return topology;
}

void lkt_be_patient(struct lkt *topology)
{
    for (size_t i = 0; i < topology->count; i++) {
        struct lks_server *server = topology->servers[i];

        if (topology->names[i][0] == 's') {
            LKS_DO(server, "SENTINEL", "SET", "main", "down-after-milliseconds", "60000");
        } else {
            LKS_DO(server, "CONFIG", "SET", "cluster-node-timeout", "60000");
        }
    }
}

void lkt_stop(struct lkt *topology)
{
    if (!topology) return;
    (void)close(topology->to_fd);
    (void)waitpid(topology->pid, NULL, 0);
    (void)close(topology->from_fd);
    for (size_t i = 0; i < topology->count; i++) {
        lk_client_close(topology->servers[i]->raw);
        free(topology->servers[i]);
        free(topology->names[i]);
    }
    free(topology);
}

const char *lkt_tell(struct lkt *topology, const char *format, ...)
{
    char command[128];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(command, sizeof command - 1, format, args);
    va_end(args);
    assert_true(len > 0 && (size_t)len < sizeof command - 1);
    command[len] = '\n';
    if (write(topology->to_fd, command, (size_t)len + 1) != len + 1) fail_msg("%s: gone", command);
    const char *answer = next_line(topology);
    if (strncmp(answer, "ok", 2) != 0) fail_msg("%s", answer);
    return answer[2] == ' ' ? answer + 3 : "";
}

struct lks_server *lkt_server(struct lkt *topology, const char *name)
{
    for (size_t i = 0; i < topology->count; i++)
        if (strcmp(topology->names[i], name) == 0) return topology->servers[i];
    fail_msg("no server %s", name);
    return NULL;
}

lk_client *lkt_client_with(const struct lkt *topology, struct lk_client_options options)
{
    struct lk_error err = {0};

    if (!options.url) options.url = topology->url;
    lk_client *client = lk_client_open(&options, &err);
    if (!client) fail_msg("%s: %s", options.url, err.text);
    return client;
}
