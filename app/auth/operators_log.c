/*
 * The file is opened for each line, so that it can be rotated at any time; a lock on it keeps lines whole, and a
 * partial line left by a full disk or a crash is removed before the next one is written. Any thread.
 */
#include "operators_log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

enum { LINE_SIZE = 1024 };

/* Remove a partial line after the last newline, if it begins like one of our lines: else the file is not our log. */
static bool drop_cut_line(int fd)
{
    static const char start[] = "{\"t\":";
    char tail[LINE_SIZE];
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > LINE_SIZE ? size - LINE_SIZE : 0;
    ssize_t len = pread(fd, tail, sizeof tail, from);

    if (size < 0 || len < 0) return false;
    const char *newline = memrchr(tail, '\n', (size_t)len);
    size_t kept = newline ? (size_t)(newline - tail) + 1 : 0;
    size_t cut = (size_t)len - kept;
    if (cut == 0) return true;
    if (memcmp(tail + kept, start, cut < sizeof start - 1 ? cut : sizeof start - 1) == 0)
        return ftruncate(fd, from + (off_t)kept) == 0;
    errno = EBADMSG;
    return false;
}

static void write_down(struct text *line, const char *instance, const struct operator_step *step)
{
    const char *const members[] = {
        "step", step->id,   "instance", instance,   "who", step->who, "from",   step->client,
        "what", step->what, "sale",     step->sale, "key", step->key, "result", step->result};

    TEXT_ADD(line, "{");
    text_add_count(line, "t", clock_unix_ms());
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i += 2)
        text_add_member(line, members[i], members[i + 1] ? members[i + 1] : "");
    text_add_count(line, "units", step->units);
    text_add_count(line, "epoch", step->epoch);
    TEXT_ADD(line, "}\n");
    assert(!line->is_cut);
}

bool operators_log_add(const char *path, const char *instance, struct operator_step *step,
                       struct start_error *why)
{
    static atomic_uint count;
    char buffer[LINE_SIZE];
    struct text line = TEXT_OVER(buffer);

    if (step && !step->id[0]) {
        step->result = "asked";
        (void)snprintf(step->id, sizeof step->id, "%lld-%ld-%u", (long long)clock_unix_ms(),
                       (long)getpid(), atomic_fetch_add(&count, 1));
    }
    if (step) write_down(&line, instance, step);
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) errno = EIO; /* of a write that comes short */
    bool is_kept = fd >= 0 && flock(fd, LOCK_EX) == 0 && drop_cut_line(fd) &&
                   write(fd, buffer, line.len) == (ssize_t)line.len && fsync(fd) == 0;
    if (!is_kept)
        (void)start_error_say(why, "--operators-log: %s: %s", path,
                              errno == EBADMSG ? "its last line is none of such a log"
                                               : strerrordesc_np(errno));
    if (fd >= 0) (void)close(fd); /* synced above */
    return is_kept;
}
