/*
 * See lk_net.h.
 */
#include "lk_net.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CHUNK = 65536, ANSWER_MS = 1000, FILES = 1024 };

int lk_net_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

void lk_net_cut(const char *path)
{
    for (int fd = 0; fd < FILES; fd++) {
        struct sockaddr_un peer = {0};
        socklen_t len = sizeof peer;

        if (getpeername(fd, (struct sockaddr *)(void *)&peer, &len) == 0 &&
            strcmp(peer.sun_path, path) == 0)
            (void)shutdown(fd, SHUT_RDWR);
    }
}

bool lk_net_send(int fd, const char *text)
{
    return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

char *lk_net_read(int fd, char *text, size_t *len)
{
    char *grown = realloc(text, *len + CHUNK + 1);

    if (!grown) abort();
    ssize_t got = recv(fd, grown + *len, CHUNK, MSG_DONTWAIT);
    if (got > 0) *len += (size_t)got;
    grown[*len] = '\0';
    return grown;
}

bool lk_net_answers(const char *path)
{
    char answer[8] = "";
    int fd = lk_net_connect(path);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    if (fd < 0) return false;
    bool answers = lk_net_send(fd, "PING\r\n") && poll(&poll_fd, 1, ANSWER_MS) == 1 &&
                   recv(fd, answer, sizeof answer - 1, 0) > 0 &&
                   (strncmp(answer, "+PONG", 5) == 0 || strncmp(answer, "-NOAUTH", 5) == 0);
    (void)close(fd);
    return answers;
}
