/*
 * See server_commands.h. The server is asked for its version once per process.
 */
#include "server_commands.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start/private_server.h"

enum { TEXT_SIZE = 256, MINOR = 1000 /* a version is one number: 8.4 is 8004 */ };

static const struct {
    const char *command, *lacks;
    unsigned redis, valkey;
} table[] = {
    {"DELEX", "redis-server >= 8.4 / valkey-server >= 9.2", 8004, 9002},
    {"INCREX", "redis-server >= 8.8 / valkey-server >= 9.2", 8008, 9002},
};

/* "Redis server v=7.0.15 sha=...", "Valkey server v=9.1.2 sha=..."; "" when it cannot be asked. */
static void read_version(char out[TEXT_SIZE])
{
    int ends[2] = {-1, -1};
    pid_t pid = 0;
    ssize_t len = 0;

    out[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    char program[] = "redis-server";
    char flag[] = "--version";
    char *argv[] = {program, flag, NULL};
    const struct private_server_process process = {
        .program = program, .argv = argv, .files = {-1, ends[1], -1}, .file_count = 3};
    int error = private_server_spawn(&process, &pid);
    (void)close(ends[1]);
    if (!error) len = read(ends[0], out, TEXT_SIZE - 1);
    out[len > 0 ? len : 0] = '\0';
    (void)close(ends[0]);
    if (!error) (void)waitpid(pid, NULL, 0);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    bool is_valkey;
    unsigned version; /* 0: unknown */
} server;

static void look(void)
{
    char text[TEXT_SIZE];
    char *rest = NULL;

    read_version(text);
    const char *at = strstr(text, " v=");
    server.is_valkey = strncmp(text, "Valkey", strlen("Valkey")) == 0;
    if (!at) return;
    server.version = (unsigned)strtoul(at + strlen(" v="), &rest, 10) * MINOR;
    if (*rest == '.') server.version += (unsigned)strtoul(rest + 1, NULL, 10);
}

const char *server_commands_lack(const char *command)
{
    for (size_t i = 0; command && i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].command, command) != 0) continue;
        (void)pthread_once(&once, look);
        return server.version < (server.is_valkey ? table[i].valkey : table[i].redis)
                   ? table[i].lacks
                   : NULL;
    }
    return NULL;
}
