/*
 * Starts and stops what hostile clients attack. Main thread only.
 */
#include "hostile_world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

static bool write_secret(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0) (void)close(fd);
    return good;
}

static bool prepare(struct hostile_world *self)
{
    static const char *const keys[] = {HOSTILE_KEY, HOSTILE_OLD_KEY};
    char path[APP_PATH_SIZE + 16];

    app_folder_make(self->redis_dir);
    for (int i = 0; i < HOSTILE_SERVICES; i++) {
        app_folder_make(self->dirs[i]);
        (void)snprintf(self->keys[i], sizeof self->keys[i], "%s/key", self->dirs[i]);
        (void)snprintf(path, sizeof path, "%s/admin.token", self->dirs[i]);
        if (!write_secret(self->keys[i], keys[i]) || !write_secret(path, HOSTILE_OPERATOR))
            return false;
        (void)snprintf(path, sizeof path, "%s/link", self->dirs[i]);
        if (symlink("/etc/passwd", path) != 0) return false;
    }
    return true;
}

static bool start_service(struct hostile_world *self, int i, const char *log_level)
{
    const char *args[] = {"no-lab",      "--redis",       self->redis.redis, "--token-key",
                          self->keys[0], "--token-key-2", self->keys[1],     "--log-format",
                          "json",        "--log-level",   log_level,         "--public-metrics",
                          "--listen",    "0.0.0.0:0",     "--instance",      i ? "tokens" : "lab",
                          NULL};

    return app_start(&self->services[i], self->dirs[i], i == 0 ? args + 1 : args);
}

bool hostile_world_open(struct hostile_world *self, const char *build, const char *log_level)
{
    const char *const settings[][2] = {
        {"ASAN_OPTIONS", "exitcode=66:detect_leaks=1:quarantine_size_mb=16"},
        {"UBSAN_OPTIONS", "exitcode=66:print_stacktrace=1"},
        {"TSAN_OPTIONS", "exitcode=66:suppressions=app/test/support/tsan.supp"},
        {"BUILD_DIR", build},
    };
    char sale[64];

    *self = (struct hostile_world){0};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads yet */
        if (setenv(settings[i][0], settings[i][1], 1) != 0) abort();
    }
    (void)snprintf(sale, sizeof sale, "{\"id\":\"cup\",\"stock\":%d}", HOSTILE_UNITS);
    return prepare(self) && app_start_redis(&self->redis, self->redis_dir) &&
           start_service(self, 0, log_level) && start_service(self, 1, log_level) &&
           app_create_sale(&self->services[0], self->dirs[0], sale);
}

const char *hostile_world_base(const struct hostile_world *self, enum hostile_door door)
{
    if (door == DOOR_LAB) return self->services[0].buyers;
    return door == DOOR_TOKENS ? self->services[1].buyers : self->services[1].admin;
}

/* Each line has these members, and perhaps those of log_fields, but no other. */
static bool has_fields_alone(json_t *object)
{
    json_t *any = NULL;

    return json_unpack(object, "{s:o, s:o, s:o, s:o, s?o, s?o, s?o, s?o, s?o, s?o, s?o, s?o !}",
                       "t", &any, "level", &any, "event", &any, "msg", &any, "sale", &any, "who",
                       &any, "from", &any, "method", &any, "path", &any, "status", &any, "units",
                       &any, "duration_ms", &any) == 0;
}

/* The first line of the log that is not as it should be, into `why`. */
static bool log_is_clean(const char *dir, char *why, size_t size)
{
    static const char *const secrets[] = {HOSTILE_KEY, HOSTILE_OLD_KEY, HOSTILE_OPERATOR,
                                          "test-secret", "eyJ"};
    char path[APP_PATH_SIZE + 16];
    char *line = NULL;
    size_t room = 0;
    bool is_clean = true;
    FILE *log = NULL;

    (void)snprintf(path, sizeof path, "%s/seckilld.log", dir);
    log = fopen(path, "re");
    while (log && is_clean && getline(&line, &room, log) > 0) {
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        const char *level = json_string_value(json_object_get(object, "level"));

        is_clean = has_fields_alone(object) && level && strcmp(level, "x") != 0;
        for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
            is_clean = is_clean && !strstr(line, secrets[i]);
        json_decref(object);
    }
    if (!is_clean) {
        int len = snprintf(why, size, "the log says: %s", line);

        if (len > 0 && (size_t)len < size)
            why[len + (int)fread(why + len, 1, size - (size_t)len - 1, log)] = '\0';
    }
    free(line);
    if (log) (void)fclose(log);
    return is_clean && log;
}

int hostile_connect(const char *base, in_addr_t from, in_addr_t to, uint16_t *port)
{
    struct sockaddr_in near = {.sin_family = AF_INET, .sin_port = htons(*port)};
    struct sockaddr_in far = {.sin_family = AF_INET};
    socklen_t len = sizeof near;
    int yes = 1;
    int room = 512 * 1024;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    near.sin_addr.s_addr = htonl(from);
    far.sin_addr.s_addr = htonl(to);
    far.sin_port = htons((uint16_t)strtoul(strrchr(base, ':') + 1, NULL, 10));
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    /* Who sends on and reads later has room for the longest answer: when it is hung up on, what did not fit is
       lost, by nobody's fault. */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&near, len) == 0 &&
        connect(fd, (const struct sockaddr *)&far, len) == 0 &&
        getsockname(fd, (struct sockaddr *)&near, &len) == 0) {
        *port = ntohs(near.sin_port);
        return fd;
    }
    if (fd >= 0) (void)close(fd);
    return -1;
}

bool hostile_world_close(struct hostile_world *self, char *why, size_t size)
{
    bool good = true;

    for (int i = 0; i < HOSTILE_SERVICES; i++) {
        bool ran = self->services[i].pid > 0;
        int status = app_stop(&self->services[i]);

        if (good && (!ran || status != 0)) {
            (void)snprintf(why, size, "%s ended with %d", i ? "tokens" : "lab", status);
            good = false;
        }
        if (good || status == 66) good = log_is_clean(self->dirs[i], why, size) && good;
    }
    (void)app_stop(&self->redis);
    for (int i = 0; i < HOSTILE_SERVICES; i++)
        app_folder_remove(self->dirs[i]);
    app_folder_remove(self->redis_dir);
    return good;
}
