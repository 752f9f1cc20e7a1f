/*
 * Connect, one line out, one line in. Blocking, with a time limit. One thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "proxy_address.h"
#include "proxy_command.h"
#include "proxy_control.h"

enum { ANSWER_LIMIT_S = 10, CTL_OK = 0, CTL_REFUSED = 1, CTL_BAD_WORDS = 2, ANSWER_MAX = 16384 };

static bool join(char *line, size_t size, char **words, int count, struct failure *failure)
{
    size_t length = 0;

    for (int i = 0; i < count; i++) {
        int added = snprintf(line + length, size - length, "%s%s", i > 0 ? " " : "", words[i]);
        if (added < 0 || (size_t)added >= size - length)
            return failure_set(failure, "the line is too long");
        length += (size_t)added;
    }
    return !strchr(line, '\n') || failure_set(failure, "one line, please");
}

static int connect_to(const char *path, struct failure *failure)
{
    struct timeval limit = {.tv_sec = ANSWER_LIMIT_S};
    struct proxy_address address;

    if (!proxy_address_of_path(&address, path, failure)) return -1;
    int fd = proxy_address_connect(&address);
    if (fd < 0 || fcntl(fd, F_SETFL, 0) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) {
        (void)failure_set(failure, "%s: %s", path, failure_errno_text());
        if (fd >= 0) (void)close(fd);
        return -1;
    }
    return fd;
}

/* The line goes to `text`, without its newline. */
static bool read_line(int fd, char *text, size_t size, struct failure *failure)
{
    size_t length = 0;

    while (length + 1 < size) {
        ssize_t count = read(fd, text + length, size - 1 - length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0)
            return failure_set(failure, "no answer: %s", count ? failure_errno_text() : "closed");
        length += (size_t)count;
        if (text[length - 1] != '\n') continue;
        text[length - 1] = '\0';
        return true;
    }
    return failure_set(failure, "the answer is too long");
}

static bool ask(const char *path, const char *line, char answer[ANSWER_MAX],
                struct failure *failure)
{
    char request[PROXY_LINE_MAX + 2];
    int fd = connect_to(path, failure);

    if (fd < 0) return false;
    int length = snprintf(request, sizeof request, "%s\n", line);
    bool is_sent = send(fd, request, (size_t)length, MSG_NOSIGNAL) == length ||
                   failure_set(failure, "%s: %s", path, failure_errno_text());
    bool is_answered = is_sent && read_line(fd, answer, ANSWER_MAX, failure);
    (void)close(fd);
    return is_answered;
}

static int complain(const char *text, int status)
{
    (void)fprintf(stderr, "proxy: %s\n", text);
    return status;
}

int proxy_ctl(int argc, char **argv)
{
    char line[PROXY_LINE_MAX];
    char answer[ANSWER_MAX];
    struct failure failure = {.text = ""};
    struct proxy_command command;

    if (argc < 2) return complain("ctl: PATH and a verb are missing (try --help)", CTL_BAD_WORDS);
    if (!join(line, sizeof line, argv + 1, argc - 1, &failure) ||
        !proxy_command_parse(&command, line, &failure))
        return complain(failure.text, CTL_BAD_WORDS);
    if (!ask(argv[0], line, answer, &failure)) return complain(failure.text, CTL_REFUSED);
    if (strncmp(answer, "error: ", 7) == 0) return complain(answer + 7, CTL_REFUSED);
    return puts(answer) < 0 || fflush(stdout) != 0 ? CTL_REFUSED : CTL_OK;
}
