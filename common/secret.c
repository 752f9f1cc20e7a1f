/*
 * See secret.h. The file may be a pipe, or a container's secret that every user in it may read. Any thread.
 */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { CHANCE_BYTES = 32, PATH_SIZE = 4096, LINE_MAX_BYTES = SECRET_SIZE - 1 };

static bool write_chance(int fd)
{
    unsigned char chance[CHANCE_BYTES];

    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) return false;
    for (size_t i = 0; i < sizeof chance; i++) {
        if (dprintf(fd, "%02x", chance[i]) != 2) return false;
    }
    return write(fd, "\n", 1) == 1;
}

/* The file is written under a temporary name and then linked, so that no reader ever sees half of it. */
bool secret_make(const char *path, struct failure *failure)
{
    char part[PATH_SIZE];

    if (snprintf(part, sizeof part, "%s.%ld", path, (long)getpid()) >= (int)sizeof part)
        return failure_set(failure, "%.64s...: the path is too long", path);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return failure_set(failure, "%s: %s", part, failure_errno_text());
    bool is_made = write_chance(fd) && fsync(fd) == 0 && link(part, path) == 0;
    if (!is_made) (void)failure_set(failure, "%s: %s", path, failure_errno_text());
    (void)close(fd); /* synced above */
    (void)unlink(part);
    return is_made;
}

/* Up to `size` bytes, fewer only at the end of the file; negative: errno says why. */
static ssize_t read_start(const char *path, char *out, size_t size)
{
    size_t len = 0;
    ssize_t got = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return -1;
    while (len < size && got > 0) {
        got = TEMP_FAILURE_RETRY(read(fd, out + len, size - len));
        if (got > 0) len += (size_t)got;
    }
    int reason = errno;
    (void)close(fd); /* it was only read */
    errno = reason;
    return got < 0 ? -1 : (ssize_t)len;
}

bool secret_read(const char *path, char *out, size_t size, size_t *out_len, struct failure *failure)
{
    ssize_t got = read_start(path, out, size);
    size_t len = got > 0 ? (size_t)got : 0;

    if (got < 0) return failure_set(failure, "%s: %s", path, failure_errno_text());
    if (len > 0 && out[len - 1] == '\n')
        len--;
    else if (len == size)
        return failure_set(failure, "%s: a secret has at most %zu bytes", path, size - 1);
    *out_len = len;
    return true;
}

static bool has_control_bytes(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) return true;
    }
    return false;
}

bool secret_read_line(const char *flag, const char *path, char out[SECRET_SIZE],
                      struct failure *failure)
{
    char start[LINE_MAX_BYTES + 2]; /* and CR LF, or a byte too many */
    ssize_t got = read_start(path, start, sizeof start);

    if (got < 0) return failure_set(failure, "%s: %s: %s", flag, path, failure_errno_text());
    const char *end = memchr(start, '\n', (size_t)got);
    size_t len = end ? (size_t)(end - start) : (size_t)got;
    if (len > 0 && start[len - 1] == '\r') len--;
    bool is_good = len > 0 && len <= LINE_MAX_BYTES && !has_control_bytes(start, len);
    if (is_good) {
        memcpy(out, start, len);
        out[len] = '\0';
    } else if (len == 0) {
        (void)failure_set(failure, "%s: %s: its first line is empty", flag, path);
    } else if (len > LINE_MAX_BYTES) {
        (void)failure_set(failure, "%s: %s: its first line is longer than %d bytes", flag, path,
                          LINE_MAX_BYTES);
    } else {
        (void)failure_set(failure, "%s: %s: its first line is no text", flag, path);
    }
    explicit_bzero(start, sizeof start);
    return is_good;
}
