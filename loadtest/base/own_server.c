/*
 * See own_server.h. The scripts of lockkit/tools know how they are made. One thread.
 */
#include "own_server.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "common/folder.h"
#include "interrupt.h"
#include "programs.h"

enum { READY_LIMIT_MS = 60000, STOP_GRACE_MS = 5000, LOOK_EVERY_MS = 20, SETTINGS_MAX = 4 };

static const struct {
    const char *name, *flag, *script, *files, *package;
    const char *settings[SETTINGS_MAX]; /* words of the script, behind the folder */
    const char *said, *word;            /* a file in the folder says it when it is ready */
    const char *url; /* its socket is in the folder; NULL: the file begins with the URL */
} kinds[OWN_KINDS] = {
    [OWN_POSTGRES] = {"PostgreSQL",
                      "--postgres",
                      "postgres_server",
                      "/usr/lib/postgresql/*/bin/initdb",
                      "postgresql",
                      {"5432", "listen_addresses=", "max_connections=300"},
                      "data/postmaster.pid",
                      "\nready",
                      "postgres://postgres@/postgres?host="},
    [OWN_ZOOKEEPER] = {"ZooKeeper",
                       "--zookeeper",
                       "zookeeper_server",
                       "/usr/share/java/zookeeper.jar",
                       "libzookeeper-java default-jre-headless",
                       {NULL},
                       "said",
                       "zookeeper://",
                       NULL},
};

const char *own_server_flag(own_kind kind)
{
    return kinds[kind].flag;
}

bool own_server_is_here(own_kind kind)
{
    glob_t found = {0};
    /* one thread: NOLINTNEXTLINE(concurrency-mt-unsafe) */
    bool is_here = glob(kinds[kind].files, 0, NULL, &found) == 0;

    globfree(&found);
    return is_here;
}

/* What it says, up to the first line that is whole when it is ready. */
static bool is_ready(struct own_server *server, own_kind kind)
{
    char path[64];
    char text[512] = "";

    (void)snprintf(path, sizeof path, "%s/%s", server->dir, kinds[kind].said);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file); /* read only */
    size_t line = strcspn(text, "\n");
    if (!text[line] || !strstr(text, kinds[kind].word)) return false;
    if (kinds[kind].url)
        (void)snprintf(server->url, sizeof server->url, "%s%s", kinds[kind].url, server->dir);
    else
        (void)snprintf(server->url, sizeof server->url, "%.*s", (int)line, text);
    return true;
}

static bool await(struct own_server *server, own_kind kind, const char *log,
                  struct failure *failure)
{
    int64_t deadline_ms = clock_ms() + READY_LIMIT_MS;

    while (process_is_running(&server->process) && clock_ms() < deadline_ms) {
        if (interrupt_came()) return failure_set(failure, "interrupted");
        if (is_ready(server, kind)) return true;
        clock_sleep_ms(LOOK_EVERY_MS);
    }
    return failure_set(failure, "%s did not start, see %.300s", kinds[kind].name, log);
}

bool own_server_start(struct own_server *server, own_kind kind, const char *log_dir,
                      struct failure *failure)
{
    char script[RUN_PATH_MAX], log[RUN_PATH_MAX + 32], said[64];
    const char *argv[2 + SETTINGS_MAX + 1] = {script, server->dir};

    *server = (struct own_server){.dir = "/tmp/loadtest-XXXXXX"};
    if (!own_server_is_here(kind) || !mkdtemp(server->dir)) server->dir[0] = '\0';
    if (!server->dir[0])
        return failure_set(failure, "no %s here: apt-get install %s, or %s URL", kinds[kind].name,
                           kinds[kind].package, kinds[kind].flag);
    for (size_t i = 0; i < SETTINGS_MAX && kinds[kind].settings[i]; i++)
        argv[2 + i] = kinds[kind].settings[i];
    (void)snprintf(log, sizeof log, "%.1000s/%s.log", log_dir, kinds[kind].script);
    (void)snprintf(said, sizeof said, "%s/said", server->dir);
    return programs_tool(kinds[kind].script, script, failure) &&
           process_start(&server->process, argv, said, log, failure) &&
           await(server, kind, log, failure);
}

void own_server_stop(struct own_server *server)
{
    if (!server->dir[0]) return;
    process_signal(&server->process, SIGINT); /* PostgreSQL: SIGTERM waits for its clients */
    (void)process_wait(&server->process, STOP_GRACE_MS);
    process_stop(&server->process, 0);
    folder_remove(server->dir);
    server->dir[0] = '\0';
}
