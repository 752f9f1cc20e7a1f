/*
 * Files that hold one secret. Runs before threads exist. Never says what is in them.
 */
#include "secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/log.h"

enum { CHANCE_BYTES = 32, PATH_SIZE = 4096 };

static bool write_chance(int fd)
{
    unsigned char chance[CHANCE_BYTES];
    char line[2 * CHANCE_BYTES + 1];

    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) return false;
    hex_write(chance, sizeof chance, line);
    line[sizeof line - 1] = '\n';
    return write(fd, line, sizeof line) == (ssize_t)sizeof line;
}

/* Written beside its place and linked into it, so that nobody ever reads half of it. */
bool secret_file_make(const char *path, struct start_error *why)
{
    char part[PATH_SIZE];
    bool made = false;
    int fd = -1;

    if (snprintf(part, sizeof part, "%s.%ld", path, (long)getpid()) >= (int)sizeof part)
        return start_error_say(why, "%.64s...: the path is too long", path);
    fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return start_error_say(why, "%s: %s", part, strerrordesc_np(errno));
    made = write_chance(fd) && fsync(fd) == 0 && link(part, path) == 0;
    if (!made) (void)start_error_say(why, "%s: %s", path, strerrordesc_np(errno));
    (void)close(fd); /* synced above */
    (void)unlink(part);
    return made;
}

static void warn_if_open_to_others(int fd, const char *path)
{
    struct stat info;

    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return;
    if (info.st_mode & (S_IWGRP | S_IROTH | S_IWOTH))
        log_line(LOG_WARN, "%s: others may read or write this secret (chmod 600)", path);
}

/* Up to `size` bytes, fewer only at the end of the file; negative: errno says why. */
static ssize_t read_fully(int fd, char *out, size_t size)
{
    size_t len = 0;
    ssize_t got = 1;

    while (len < size && got > 0) {
        got = read(fd, out + len, size - len);
        if (got < 0 && errno != EINTR) return -1;
        if (got < 0)
            got = 1; /* try again */
        else
            len += (size_t)got;
    }
    return (ssize_t)len;
}

/* The beginning of a file. */
struct start {
    char *bytes;
    size_t size; /* of the room for them */
    size_t len;
    int next; /* the byte behind them, or negative */
};

static bool read_start(const char *path, struct start *out, struct start_error *why)
{
    char next = '\0';
    ssize_t len = 0;
    ssize_t more = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return start_error_say(why, "%s: %s", path, strerrordesc_np(errno));
    warn_if_open_to_others(fd, path);
    len = read_fully(fd, out->bytes, out->size);
    if (len == (ssize_t)out->size) more = read_fully(fd, &next, 1);
    if (len < 0 || more < 0) (void)start_error_say(why, "%s: %s", path, strerrordesc_np(errno));
    (void)close(fd); /* it was only read */
    if (len < 0 || more < 0) return false;
    out->len = (size_t)len;
    out->next = more > 0 ? (unsigned char)next : -1;
    return true;
}

static bool refuse_length(const char *path, size_t max, struct start_error *why)
{
    return start_error_say(why, "%s: a secret has at most %zu bytes", path, max);
}

bool secret_file_read(const char *path, char *out, size_t size, size_t *out_len,
                      struct start_error *why)
{
    struct start file = {.size = size};

    file.bytes = out;
    if (!read_start(path, &file, why)) return false;
    if (file.next >= 0 && file.next != '\n') return refuse_length(path, size, why);
    if (file.next < 0 && file.len > 0 && out[file.len - 1] == '\n') file.len--;
    *out_len = file.len;
    return true;
}

static bool has_control_bytes(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) return true;
    }
    return false;
}

bool secret_file_read_line(const char *path, char *out, size_t size, struct start_error *why)
{
    struct start file = {.bytes = out, .size = size - 1};
    const char *end = NULL;
    size_t len = 0;

    if (!read_start(path, &file, why)) return false;
    len = file.len;
    end = memchr(out, '\n', len);
    if (!end && file.next >= 0 && file.next != '\n') return refuse_length(path, size - 1, why);
    if (end) len = (size_t)(end - out);
    if (len > 0 && out[len - 1] == '\r') len--;
    if (len == 0) return start_error_say(why, "%s: its first line is empty", path);
    if (has_control_bytes(out, len))
        return start_error_say(why, "%s: its first line is no text", path);
    out[len] = '\0';
    return true;
}
