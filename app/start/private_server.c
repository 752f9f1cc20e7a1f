/*
 * The embedded servers. Runs on the main thread only.
 *
 * Three precautions against two servers on one append-only file: the folder is locked (flock), the
 * child inherits the lock, so that it is held until both are gone, and the child is told to end by
 * the kernel when we die, however we die.
 */
#include "private_server.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

static const char becomes_server[] = "seckilld:private";

struct private_server {
    const struct kind *kind;
    char dir[PATH_MAX];    /* absolute */
    char socket[PATH_MAX]; /* in it; fits into a sockaddr_un */
    char url[3 * PATH_MAX];
    int lock_fd; /* owned; -1: none */
    pid_t pid;   /* 0: none is running */
    int64_t started_at_ms;
    int64_t restart_at_ms; /* while pid is 0 */
    int64_t pause_ms;      /* before the next start */
};

static bool is_redis_ready(const struct private_server *self);
static bool is_postgres_ready(const struct private_server *self);

/* It is made beside its place: what was killed half made is not taken for whole. */
static const char run_postgres[] =
    "bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)\n"
    "[ -x \"$bin/postgres\" ] || { echo 'it is not installed: apt-get install postgresql' && exit "
    "1; }\n"
    "if [ ! -e \"$0/book\" ]; then\n"
    "  rm -rf \"$0/book.new\" &&\n"
    "  \"$bin/initdb\" -D \"$0/book.new\" -U postgres -A trust -E UTF8 --locale=C &&\n"
    "  mv \"$0/book.new\" \"$0/book\" || exit\n"
    "fi\n"
    "exec \"$bin/postgres\" -D \"$0/book\" -k \"$0\" -c listen_addresses= "
    "-c unix_socket_permissions=0700 -c dynamic_shared_memory_type=mmap";

/* Of appendonly "yes" or "no", and more words. */
#define REDIS(...)                                                                                 \
    {                                                                                              \
        "redis-server", "/redis.log", "/seckilld.lock", "/redis.sock", "unix://", false, SIGTERM,  \
            is_redis_ready,                                                                        \
        {                                                                                          \
            "redis-server", "--port", "0", "--unixsocket", "@/redis.sock", "--unixsocketperm",     \
                "700", "--dir", "@", "--appendfsync", "always", "--auto-aof-rewrite-min-size",     \
                "512mb", "--save", "", "--maxmemory-policy", "noeviction", "--daemonize", "no",    \
                "--logfile", "@/redis.log", "--appendonly", __VA_ARGS__                            \
        }                                                                                          \
    }

/* What differs. Of the words, "@" is the folder, "@/..." a file in it. */
enum { WORDS_MAX = 32 };
static const struct kind {
    const char *name, *log, *lock, *socket;
    const char *url; /* with the socket behind it, or the socket's folder */
    bool is_url_of_folder;
    int stop_signal;
    bool (*is_ready)(const struct private_server *self);
    const char *words[WORDS_MAX];
} kinds[] = {
    [PRIVATE_REDIS] = REDIS("yes"),
    [PRIVATE_REDIS_IN_MEMORY] = REDIS("no"),
    /* Its bus listens at an address that no host has (RFC 5737), so at none, and takes nobody for dead. */
    [PRIVATE_REDIS_IN_CLUSTER] = REDIS("no", "--bind", "-198.51.100.1", "--cluster-enabled", "yes",
                                       "--cluster-node-timeout", "86400000"),
    [PRIVATE_POSTGRES] = {"PostgreSQL",
                          "/book.log",
                          "/book.lock",
                          "/.s.PGSQL.5432",
                          "postgres://postgres@/postgres?host=",
                          true,
                          SIGINT,
                          is_postgres_ready,
                          {"sh", "-c", run_postgres, "@"}},
};

/* As it stands in a URL. */
static void add_escaped(char *out, const char *path)
{
    for (; *path; path++)
        out +=
            sprintf(out, isalnum((unsigned char)*path) || strchr("/._-", *path) ? "%c" : "%%%02X",
                    (unsigned char)*path);
}

static bool set_paths(struct private_server *self, const char *dir, struct start_error *why)
{
    const struct kind *kind = self->kind;
    struct sockaddr_un limit;

    if (!realpath(dir, self->dir))
        return start_error_say(why, "%s: %s", dir, strerrordesc_np(errno));
    if (strlen(self->dir) + strlen(kind->socket) >= sizeof limit.sun_path)
        return start_error_say(why, "%s%s: longer than the %zu bytes a socket's path may have",
                               self->dir, kind->socket, sizeof limit.sun_path - 1);
    (void)stpcpy(stpcpy(self->socket, self->dir), kind->socket);
    char *end = stpcpy(self->url, kind->url);
    if (kind->is_url_of_folder)
        add_escaped(end, self->dir);
    else
        (void)stpcpy(end, self->socket);
    return true;
}

static bool lock_folder(struct private_server *self, struct start_error *why)
{
    char path[PATH_MAX + 16];
    int64_t deadline = clock_mono_ms() + LOCK_WAIT_MS;

    (void)stpcpy(stpcpy(path, self->dir), self->kind->lock);
    self->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (self->lock_fd < 0) return start_error_say(why, "%s: %s", path, strerrordesc_np(errno));
    while (flock(self->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return start_error_say(why, "%s: %s", path, strerrordesc_np(errno));
        if (clock_mono_ms() >= deadline)
            return start_error_say(why, "%s is in use by another seckilld or its %s", self->dir,
                                   self->kind->name);
        clock_pause_ms(LOOK_MS);
    }
    return true;
}

/* For where no user namespace can be had (chroots, most containers). Folders of root's stay open to it. */
static bool become_nobody(void)
{
    enum { NOBODY = 65534, REACH = 1U << CAP_DAC_OVERRIDE };
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct reach[_LINUX_CAPABILITY_U32S_3] = {{REACH, REACH, REACH}};

    return prctl(PR_SET_KEEPCAPS, 1) == 0 && setgroups(0, NULL) == 0 &&
           setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0 &&
           syscall(SYS_capset, &header, reach) == 0 &&
           prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0) == 0;
}

bool private_server_is_this(int argc, char **argv)
{
    /* argv: the name above, our parent's pid, then the program and its arguments */
    if (argc < 4 || strcmp(argv[0], becomes_server) != 0) return false;
    bool is_shell = strcmp(argv[2], "sh") == 0;
    /* PostgreSQL does not run as root: here it is nobody, who owns what root owns. */
    if (is_shell && geteuid() == 0 && unshare(CLONE_NEWUSER) != 0 && !become_nobody())
        (void)dprintf(STDOUT_FILENO, "as root it must become nobody: %s\n",
                      strerrordesc_np(errno)); /* a buffer would be gone with execvp() */
    /* Of PostgreSQL SIGTERM would only ask its clients to leave. */
    if (prctl(PR_SET_PDEATHSIG, is_shell ? SIGINT : SIGTERM) != 0) _exit(126);
    if (getppid() != (pid_t)strtol(argv[1], NULL, 10)) _exit(126); /* it has died already */
    (void)execvp(argv[2], argv + 2);
    (void)fprintf(stderr, "%s: %s\n", argv[2], strerrordesc_np(errno));
    _exit(127);
}

int private_server_spawn(const struct private_server_process *process, pid_t *out_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawn_file_actions_init(&files); /* these fail for want of memory only; so would */
    (void)posix_spawnattr_init(&attributes);     /* the spawn */
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
    for (int i = 0; i < process->file_count; i++) {
        if (process->files[i] < 0)
            (void)posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_RDWR, 0);
        else
            (void)posix_spawn_file_actions_adddup2(&files, process->files[i], i);
    }
    (void)posix_spawn_file_actions_addclosefrom_np(&files, process->file_count);
    int error = posix_spawnp(out_pid, process->program, &files, &attributes, process->argv,
                             process->env ? process->env : environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return error;
}

/* A word of the child; to be freed. */
static char *word_of(const struct private_server *self, const char *word)
{
    bool is_file = word[0] == '@';
    char *text = NULL;

    if (asprintf(&text, "%s%s", is_file ? self->dir : "", word + is_file) < 0) text = NULL;
    assert(text); /* some bytes, at start */
    return text;
}

static bool start_process(struct private_server *self, struct start_error *why)
{
    const struct kind *kind = self->kind;
    char parent[16], log[PATH_MAX + 16], name[] = "seckilld:private";
    char *argv[2 + WORDS_MAX + 1] = {name, parent};

    (void)snprintf(parent, sizeof parent, "%ld", (long)getpid());
    (void)stpcpy(stpcpy(log, self->dir), kind->log);
    (void)unlink(self->socket); /* a stale one would be mistaken for the new server's */
    for (size_t i = 0; i < WORDS_MAX && kind->words[i]; i++)
        argv[2 + i] = word_of(self, kind->words[i]);
    int log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const struct private_server_process child = {.program = "/proc/self/exe",
                                                 .argv = argv,
                                                 .files = {-1, log_fd, log_fd, self->lock_fd},
                                                 .file_count = LOCK_FD + 1};
    int failure = log_fd < 0 ? errno : private_server_spawn(&child, &self->pid);
    if (log_fd >= 0) (void)close(log_fd);
    for (size_t i = 2; argv[i]; i++)
        free(argv[i]);
    self->started_at_ms = clock_mono_ms();
    if (!failure) return true;
    self->pid = 0;
    return start_error_say(why, "%s: %s", kind->name, strerrordesc_np(failure));
}

/* Whether it answers PING; while it reads its file it answers LOADING. */
static bool is_redis_ready(const struct private_server *self)
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

/* Whether its pid file is of this process, and says so. */
static bool is_postgres_ready(const struct private_server *self)
{
    char path[PATH_MAX + 32], text[512] = "";

    (void)stpcpy(stpcpy(path, self->dir), "/book/postmaster.pid");
    FILE *file = fopen(path, "re");
    if (!file) return false;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file); /* it was only read */
    return strtol(text, NULL, 10) == self->pid && strstr(text, "\nready");
}

/* The last line of the log that says something, without its stamp. */
static void read_last_words(const struct private_server *self, char *out, size_t size)
{
    char path[PATH_MAX + 16];
    char line[256];
    FILE *log = NULL;

    *out = '\0';
    (void)stpcpy(stpcpy(path, self->dir), self->kind->log);
    log = fopen(path, "re");
    if (!log) return;
    while (fgets(line, sizeof line, log)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0]) log_escape(line, out, size);
    }
    (void)fclose(log); /* it was only read */
}

/* Whether the child has ended; civetweb ignores SIGCHLD, then it is reaped for us (ECHILD). */
static bool has_ended(struct private_server *self)
{
    int status = 0;
    pid_t pid = waitpid(self->pid, &status, WNOHANG);

    if (pid == 0 || (pid < 0 && errno != ECHILD)) return false;
    self->pid = 0;
    return true;
}

static bool wait_until_ready(struct private_server *self, struct start_error *why)
{
    int64_t deadline = clock_mono_ms() + READY_WAIT_MS;
    char words[160];

    while (!self->kind->is_ready(self)) {
        if (has_ended(self)) {
            read_last_words(self, words, sizeof words);
            return start_error_say(why, "%s ended at once; %s%s ends: %s", self->kind->name,
                                   self->dir, self->kind->log, words);
        }
        if (clock_mono_ms() >= deadline)
            return start_error_say(why, "%s does not answer on %s", self->kind->name, self->socket);
        clock_pause_ms(LOOK_MS);
    }
    return true;
}

struct private_server *private_server_start(private_kind kind, const char *dir,
                                            struct start_error *why)
{
    struct private_server *self = calloc(1, sizeof *self);

    if (!self) {
        (void)start_error_say(why, "out of memory");
        return NULL;
    }
    self->kind = &kinds[kind];
    self->lock_fd = -1;
    self->pause_ms = PAUSE_MIN_MS;
    if (set_paths(self, dir, why) && lock_folder(self, why) && start_process(self, why) &&
        wait_until_ready(self, why))
        return self;
    private_server_stop(self);
    return NULL;
}

const char *private_server_url(const struct private_server *self)
{
    return self->url;
}

static void plan_restart(struct private_server *self)
{
    int64_t now_ms = clock_mono_ms();
    char words[160];

    if (now_ms - self->started_at_ms >= STEADY_MS) self->pause_ms = PAUSE_MIN_MS;
    self->restart_at_ms = now_ms + self->pause_ms;
    read_last_words(self, words, sizeof words);
    log_line(LOG_ERROR, "%s has ended, next start in %lld ms; its last words: %s", self->kind->name,
             (long long)self->pause_ms, words);
    self->pause_ms = self->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : self->pause_ms * 2;
}

pid_t private_server_pid(const struct private_server *self)
{
    return self->pid;
}

void private_server_tend(struct private_server *self)
{
    struct start_error why = {0};

    if (!self) return;
    if (self->pid && has_ended(self)) plan_restart(self);
    if (self->pid || clock_mono_ms() < self->restart_at_ms) return;
    if (start_process(self, &why)) {
        log_line(LOG_WARN, "%s was started again", self->kind->name);
    } else {
        log_line(LOG_ERROR, "%s", why.text);
        plan_restart(self);
    }
}

static void end_process(struct private_server *self, int signal)
{
    int64_t deadline = clock_mono_ms() + STOP_WAIT_MS;

    (void)kill(self->pid, signal);
    while (!has_ended(self)) {
        if (clock_mono_ms() >= deadline && signal == SIGKILL) return; /* nobody can wait for that */
        if (clock_mono_ms() >= deadline) {
            signal = SIGKILL;
            (void)kill(self->pid, signal);
            deadline = clock_mono_ms() + STOP_WAIT_MS;
            if (!log_would_wait()) /* nobody watches any more that this ends */
                log_line(LOG_ERROR, "%s does not end when asked: killed", self->kind->name);
        }
        clock_pause_ms(LOOK_MS);
    }
}

static void stop(struct private_server *self, int signal)
{
    if (!self) return;
    if (self->pid) end_process(self, signal);
    if (self->lock_fd >= 0) (void)close(self->lock_fd); /* unlocks: the child has gone */
    free(self);
}

void private_server_stop(struct private_server *self)
{
    stop(self, self ? self->kind->stop_signal : 0);
}

void private_server_kill(struct private_server *self)
{
    stop(self, SIGKILL);
}
