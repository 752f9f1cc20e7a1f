/*
 * The embedded redis-server. Runs on the main thread only.
 *
 * Three precautions against two servers on one append-only file: the folder is locked (flock), the
 * child inherits the lock, so that it is held until both are gone, and the child is told to end by
 * the kernel when we die, however we die.
 */
#include "redis_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum {
    LOCK_WAIT_MS = 5000,   /* the old redis-server may still be saving */
    READY_WAIT_MS = 60000, /* it reads its append-only file first */
    STOP_WAIT_MS = 10000,
    LOOK_MS = 20,
    PAUSE_MIN_MS = 100,
    PAUSE_MAX_MS = 5000,
    STEADY_MS = 10000, /* a child that lived this long is started again without pause */
    LOCK_FD = 3,       /* where the child has the folder's lock */
};

static const char becomes_redis[] = "seckilld:redis-server";

struct redis_child {
    char dir[PATH_MAX];    /* absolute */
    char socket[PATH_MAX]; /* dir/redis.sock; fits into a sockaddr_un */
    char url[PATH_MAX + 8];
    bool is_in_memory;
    int lock_fd; /* owned; -1: none */
    pid_t pid;   /* 0: none is running */
    int64_t started_at_ms;
    int64_t restart_at_ms; /* while pid is 0 */
    int64_t pause_ms;      /* before the next start */
};

static bool set_paths(struct redis_child *self, const char *dir, struct start_error *why)
{
    struct sockaddr_un limit;

    if (!realpath(dir, self->dir))
        return start_error_say(why, "%s: %s", dir, strerrordesc_np(errno));
    if (strlen(self->dir) + strlen("/redis.sock") >= sizeof limit.sun_path)
        return start_error_say(why,
                               "%s/redis.sock: longer than the %zu bytes a socket's path may have",
                               self->dir, sizeof limit.sun_path - 1);
    (void)stpcpy(stpcpy(self->socket, self->dir), "/redis.sock");
    (void)stpcpy(stpcpy(self->url, "unix://"), self->socket);
    return true;
}

static bool lock_folder(struct redis_child *self, struct start_error *why)
{
    char path[PATH_MAX + 16];
    int64_t deadline = clock_mono_ms() + LOCK_WAIT_MS;

    (void)stpcpy(stpcpy(path, self->dir), "/seckilld.lock");
    self->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (self->lock_fd < 0) return start_error_say(why, "%s: %s", path, strerrordesc_np(errno));
    while (flock(self->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return start_error_say(why, "%s: %s", path, strerrordesc_np(errno));
        if (clock_mono_ms() >= deadline)
            return start_error_say(why, "%s is in use by another seckilld or its redis-server",
                                   self->dir);
        clock_pause_ms(LOOK_MS);
    }
    return true;
}

bool redis_child_is_this(int argc, char **argv)
{
    /* argv: the name above, our parent's pid, then redis-server and its arguments */
    if (argc < 4 || strcmp(argv[0], becomes_redis) != 0) return false;
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) _exit(126);
    if (getppid() != (pid_t)strtol(argv[1], NULL, 10)) _exit(126); /* it has died already */
    (void)execvp(argv[2], argv + 2);
    (void)fprintf(stderr, "%s: %s\n", argv[2], strerrordesc_np(errno));
    _exit(127);
}

/*
 * What the child gets: our lock, its own process group (Ctrl-C is ours to handle), no signal mask. Nothing
 * else that is open: a socket that another thread has made, and not yet marked, would live as long as it.
 */
static int spawn(struct redis_child *self, char **argv, const char *log)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    int error = 0;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawn_file_actions_init(&files); /* these fail for want of memory only; so would */
    (void)posix_spawnattr_init(&attributes);     /* the spawn */
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
    (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log,
                                           O_WRONLY | O_CREAT | O_APPEND, 0600);
    (void)posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    (void)posix_spawn_file_actions_adddup2(&files, self->lock_fd, LOCK_FD);
    (void)posix_spawn_file_actions_addclosefrom_np(&files, LOCK_FD + 1);
    error = posix_spawn(&self->pid, "/proc/self/exe", &files, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return error;
}

static char *writable(const char *text)
{
    char *copy = strdup(text);

    assert(copy); /* a few bytes, at start */
    return copy;
}

/* whole: a table of arguments, and one straight sequence */
static bool start_process(struct redis_child *self, struct start_error *why)
{
    char parent[16];
    char log[PATH_MAX + 16];
    const char *const args[] = {becomes_redis,
                                parent,
                                "redis-server",
                                "--port",
                                "0",
                                "--unixsocket",
                                self->socket,
                                "--unixsocketperm",
                                "700",
                                "--dir",
                                self->dir,
                                "--appendonly",
                                self->is_in_memory ? "no" : "yes",
                                "--appendfsync",
                                "always",
                                "--auto-aof-rewrite-min-size",
                                "512mb",
                                "--save",
                                "",
                                "--maxmemory-policy",
                                "noeviction",
                                "--daemonize",
                                "no",
                                "--logfile",
                                log};
    enum { ARGS = sizeof args / sizeof args[0] };
    char *argv[ARGS + 1] = {NULL};
    int failure = 0;

    (void)snprintf(parent, sizeof parent, "%ld", (long)getpid());
    (void)stpcpy(stpcpy(log, self->dir), "/redis.log");
    (void)unlink(self->socket); /* a stale one would be mistaken for the new server's */
    for (size_t i = 0; i < ARGS; i++)
        argv[i] = writable(args[i]);
    failure = spawn(self, argv, log);
    for (size_t i = 0; i < ARGS; i++)
        free(argv[i]);
    self->started_at_ms = clock_mono_ms();
    if (!failure) return true;
    self->pid = 0;
    return start_error_say(why, "redis-server: %s", strerrordesc_np(failure));
}

/* Whether the server answers PING; while it reads its file it answers LOADING. */
static bool is_ready(const struct redis_child *self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = 1};
    char answer[8] = "";
    bool ready = false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0) return false;
    memcpy(address.sun_path, self->socket, strlen(self->socket) + 1);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        send(fd, "PING\r\n", 6, MSG_NOSIGNAL) == 6)
        ready = recv(fd, answer, sizeof answer - 1, 0) >= 5 && memcmp(answer, "+PONG", 5) == 0;
    (void)close(fd);
    return ready;
}

/* The last line of redis.log that says something, without its stamp. */
static void read_last_words(const struct redis_child *self, char *out, size_t size)
{
    char path[PATH_MAX + 16];
    char line[256];
    FILE *log = NULL;

    *out = '\0';
    (void)stpcpy(stpcpy(path, self->dir), "/redis.log");
    log = fopen(path, "re");
    if (!log) return;
    while (fgets(line, sizeof line, log)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0]) log_escape(line, out, size);
    }
    (void)fclose(log); /* it was only read */
}

/* Whether the child has ended; civetweb ignores SIGCHLD, then it is reaped for us (ECHILD). */
static bool has_ended(struct redis_child *self)
{
    int status = 0;
    pid_t pid = waitpid(self->pid, &status, WNOHANG);

    if (pid == 0 || (pid < 0 && errno != ECHILD)) return false;
    self->pid = 0;
    return true;
}

static bool wait_until_ready(struct redis_child *self, struct start_error *why)
{
    int64_t deadline = clock_mono_ms() + READY_WAIT_MS;
    char words[160];

    while (!is_ready(self)) {
        if (has_ended(self)) {
            read_last_words(self, words, sizeof words);
            return start_error_say(why, "redis-server ended at once; %s/redis.log ends: %s",
                                   self->dir, words);
        }
        if (clock_mono_ms() >= deadline)
            return start_error_say(why, "redis-server does not answer on %s", self->socket);
        clock_pause_ms(LOOK_MS);
    }
    return true;
}

static struct redis_child *start(const char *dir, bool is_in_memory, struct start_error *why)
{
    struct redis_child *self = calloc(1, sizeof *self);

    if (!self) {
        (void)start_error_say(why, "out of memory");
        return NULL;
    }
    self->is_in_memory = is_in_memory;
    self->lock_fd = -1;
    self->pause_ms = PAUSE_MIN_MS;
    if (set_paths(self, dir, why) && lock_folder(self, why) && start_process(self, why) &&
        wait_until_ready(self, why))
        return self;
    redis_child_stop(self);
    return NULL;
}

struct redis_child *redis_child_start(const char *dir, struct start_error *why)
{
    return start(dir, false, why);
}

struct redis_child *redis_child_start_in_memory(const char *dir, struct start_error *why)
{
    return start(dir, true, why);
}

const char *redis_child_url(const struct redis_child *self)
{
    return self->url;
}

static void plan_restart(struct redis_child *self)
{
    int64_t now_ms = clock_mono_ms();
    char words[160];

    if (now_ms - self->started_at_ms >= STEADY_MS) self->pause_ms = PAUSE_MIN_MS;
    self->restart_at_ms = now_ms + self->pause_ms;
    read_last_words(self, words, sizeof words);
    log_line(LOG_ERROR, "redis-server has ended, next start in %lld ms; its last words: %s",
             (long long)self->pause_ms, words);
    self->pause_ms = self->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : self->pause_ms * 2;
}

void redis_child_tend(struct redis_child *self)
{
    struct start_error why = {0};

    if (!self) return;
    if (self->pid && has_ended(self)) plan_restart(self);
    if (self->pid || clock_mono_ms() < self->restart_at_ms) return;
    if (start_process(self, &why)) {
        log_line(LOG_WARN, "redis-server was started again");
    } else {
        log_line(LOG_ERROR, "%s", why.text);
        plan_restart(self);
    }
}

static void end_process(struct redis_child *self, int signal)
{
    int64_t deadline = clock_mono_ms() + STOP_WAIT_MS;

    (void)kill(self->pid, signal);
    while (!has_ended(self)) {
        if (clock_mono_ms() >= deadline && signal == SIGKILL) return; /* nobody can wait for that */
        if (clock_mono_ms() >= deadline) {
            log_line(LOG_ERROR, "redis-server does not end when asked: killed");
            signal = SIGKILL;
            (void)kill(self->pid, signal);
            deadline = clock_mono_ms() + STOP_WAIT_MS;
        }
        clock_pause_ms(LOOK_MS);
    }
}

static void stop(struct redis_child *self, int signal)
{
    if (!self) return;
    if (self->pid) end_process(self, signal);
    if (self->lock_fd >= 0) (void)close(self->lock_fd); /* unlocks: the child has gone */
    free(self);
}

void redis_child_stop(struct redis_child *self)
{
    stop(self, SIGTERM);
}

void redis_child_kill(struct redis_child *self)
{
    stop(self, SIGKILL);
}
