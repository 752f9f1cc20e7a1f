/*
 * See topology.h. Both pipes are ours alone (O_CLOEXEC): closing our end ends the script.
 */
#include "topology.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"

enum { ANSWER_MS = 60000, WORDS_MAX = 16 };

static void become_script(const char *script, const char *const words[], int input, int output)
{
    char *argv[WORDS_MAX + 2] = {NULL}; /* execv wants them without const */

    memcpy(&argv[0], &script, sizeof script);
    for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
        memcpy(&argv[i + 1], &words[i], sizeof words[i]);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)setpgid(0, 0); /* Ctrl-C at the terminal is for us, and we end it */
    if (dup2(input, 0) >= 0 && dup2(output, 1) >= 0) (void)execv(argv[0], argv);
    _exit(127);
}

static bool read_line(struct topology *topology, char line[TOPOLOGY_LINE_MAX],
                      struct failure *failure)
{
    struct pollfd ready = {.fd = topology->from_fd, .events = POLLIN};
    size_t length = 0;

    for (char byte = 0; byte != '\n';) {
        if (poll(&ready, 1, ANSWER_MS) != 1) return failure_set(failure, "topology: no answer");
        if (read(topology->from_fd, &byte, 1) != 1)
            return failure_set(failure, "topology: it has ended");
        if (length + 1 < TOPOLOGY_LINE_MAX) line[length++] = byte;
    }
    line[length - 1] = '\0';
    return true;
}

/* "n1 primary 7001 4242" or "url redis+cluster://..." */
static void take_description(struct topology *topology, char *line)
{
    char *rest = line;
    const char *name = strsep(&rest, " ");
    const char *role = strsep(&rest, " ");
    const char *port = strsep(&rest, " ");

    if (role && strcmp(name, "url") == 0) {
        (void)snprintf(topology->url, sizeof topology->url, "%s", role);
    } else if (port && topology->count < TOPOLOGY_SERVERS_MAX) {
        (void)snprintf(topology->servers[topology->count].name, sizeof topology->servers[0].name,
                       "%s", name);
        topology->servers[topology->count++].port = (int)strtol(port, NULL, 10);
    }
}

bool topology_open(struct topology *topology, const char *const words[], struct failure *failure)
{
    char line[TOPOLOGY_LINE_MAX], script[RUN_PATH_MAX];
    int to[2];
    int from[2];

    *topology = (struct topology){.pid = 0};
    if (!programs_tool("redis_set", script, failure)) return false;
    if (pipe2(to, O_CLOEXEC) != 0) return failure_set(failure, "pipe: %s", failure_errno_text());
    if (pipe2(from, O_CLOEXEC) != 0) {
        (void)close(to[0]);
        (void)close(to[1]);
        return failure_set(failure, "pipe: %s", failure_errno_text());
    }
    topology->pid = fork();
    if (topology->pid == 0) become_script(script, words, to[0], from[1]);
    (void)close(to[0]);
    (void)close(from[1]);
    topology->to_fd = to[1];
    topology->from_fd = from[0];
    if (topology->pid < 0) return failure_set(failure, "fork: %s", failure_errno_text());
    while (read_line(topology, line, failure)) {
        if (strcmp(line, "ready") == 0) return true;
        take_description(topology, line);
    }
    topology_close(topology);
    return false;
}

bool topology_command(struct topology *topology, const char *command,
                      char answer[TOPOLOGY_LINE_MAX], struct failure *failure)
{
    char line[TOPOLOGY_LINE_MAX];
    int length = snprintf(line, sizeof line, "%s\n", command);

    if (length < 0 || (size_t)length >= sizeof line ||
        write(topology->to_fd, line, (size_t)length) != length)
        return failure_set(failure, "topology: cannot tell it: %s", command);
    if (!read_line(topology, line, failure)) return false;
    if (strncmp(line, "ok", 2) != 0) return failure_set(failure, "topology: %s", line);
    (void)snprintf(answer, TOPOLOGY_LINE_MAX, "%s", line[2] == ' ' ? line + 3 : "");
    return true;
}

int topology_port(const struct topology *topology, const char *name)
{
    for (size_t i = 0; i < topology->count; i++)
        if (strcmp(topology->servers[i].name, name) == 0) return topology->servers[i].port;
    return 0;
}

void topology_close(struct topology *topology)
{
    if (topology->pid == 0) return;
    (void)close(topology->to_fd);
    (void)close(topology->from_fd);
    if (topology->pid > 0) (void)waitpid(topology->pid, NULL, 0);
    topology->pid = 0;
}
