/*
 * See own_server.h.
 */
#include "own_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "common/folder.h"

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

/* Its own group, as Ctrl-C is ours to handle; and no signal is blocked or ignored: the script ends others by them. */
static int spawn(struct own_server *self, const char **argv)
{
    char log[PATH_MAX + 8];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    int error = 0;

    (void)stpcpy(stpcpy(log, self->said), ".log");
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, self->said,
                                           O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log, O_WRONLY | O_CREAT, 0600);
    (void)posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    error = posix_spawnp(&self->pid, argv[0], &files, &attributes, (char *const *)(void *)argv,
                         environ);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
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
    int error = spawn(out, argv);
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
