/*
 * See own_server.h.
 */
#include "own_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "common/folder.h"
#include "start/private_server.h"

enum { STOP_MS = 5000, LOOK_MS = 5 };

/* Installed, as it is built, and for a test. */
static bool find_tool(const char *tool, char out[PATH_MAX])
{
    static const char *const folders[] = {"../share/seckill", "../../lockkit/tools",
                                          "../../../../../../lockkit/tools"};
    char exe[PATH_MAX] = "";
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);

    while (len > 0 && exe[len - 1] != '/')
        len--;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (snprintf(out, PATH_MAX, "%.*s%s/%s", (int)len, exe, folders[i], tool) < PATH_MAX &&
            access(out, R_OK) == 0)
            return true;
    }
    return false;
}

/* Its errno. */
static int start(struct own_server *self, const char **argv)
{
    char log[PATH_MAX + 8];

    (void)stpcpy(stpcpy(log, self->said), ".log");
    int out = open(self->said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int err = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const struct private_server_process script = {.program = argv[0],
                                                  .argv = (char *const *)(void *)argv,
                                                  .files = {-1, out, err},
                                                  .file_count = STDERR_FILENO + 1};
    int error = out < 0 || err < 0 ? errno : private_server_spawn(&script, &self->pid);
    if (out >= 0) (void)close(out);
    if (err >= 0) (void)close(err);
    return error;
}

bool own_server_start(struct own_server *out, const char *tool, const char *parent,
                      const char *const words[OWN_SERVER_WORDS], struct start_error *why)
{
    char path[PATH_MAX];
    const char *argv[5 + OWN_SERVER_WORDS + 1] = {"setpriv", "--pdeathsig", "TERM", path, out->dir};

    *out = (struct own_server){.pid = 0};
    for (size_t i = 0; i < OWN_SERVER_WORDS && words[i]; i++)
        argv[5 + i] = words[i];
    if (!find_tool(tool, path)) return start_error_say(why, "there is no %s here", tool);
    (void)snprintf(out->dir, sizeof out->dir, "%.1000s/seckill-XXXXXX",
                   geteuid() == 0 ? "/tmp" : parent);
    if (!mkdtemp(out->dir)) {
        (void)start_error_say(why, "%s: %s", out->dir, strerrordesc_np(errno));
        out->dir[0] = '\0';
        return false;
    }
    (void)snprintf(out->said, sizeof out->said, "%.1000s/%s", parent, tool);
    int error = start(out, argv);
    if (error) out->pid = 0;
    return !error || start_error_say(why, "%s: %s", tool, strerrordesc_np(error));
}

bool own_server_runs(struct own_server *self)
{
    if (self->pid > 0 && waitpid(self->pid, NULL, WNOHANG) != 0) self->pid = 0;
    return self->pid > 0;
}

/* SIGINT: PostgreSQL does not wait for its clients then. */
void own_server_stop(struct own_server *self)
{
    int64_t deadline_ms = clock_mono_ms() + STOP_MS;

    if (self->pid > 0) (void)kill(self->pid, SIGINT);
    while (own_server_runs(self)) {
        if (clock_mono_ms() >= deadline_ms) (void)kill(self->pid, SIGKILL);
        clock_pause_ms(LOOK_MS);
    }
    if (self->dir[0]) folder_remove(self->dir);
    *self = (struct own_server){.pid = 0};
}
