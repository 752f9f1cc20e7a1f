/*
 * Clients outside: accepted, and their heads looked at without being taken (MSG_PEEK). When a head and
 * its body are there, or nobody needs to wait for more, one is ready. The acceptor's thread.
 */
#include "outside.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "guests.h"

enum {
    OPENING_MS = 2500, /* the first request has been said by then */
    ACCEPTS_MAX = 256, /* before others are looked after */
};

/* What is expected behind a head, as far as it is worth waiting for: nothing where it will be refused. */
static size_t body_len_of(const char *head, size_t body_max)
{
    static const char length[] = "content-length:";
    unsigned long len = 0;

    while ((head = strchr(head, '\n'))) {
        bool is_header = isalpha((unsigned char)*++head);

        if (!is_header || strncasecmp(head, "expect:", 7) == 0) return 0;
        if (strncasecmp(head, length, sizeof length - 1) == 0)
            len = strtoul(head + sizeof length - 1, NULL, 10);
    }
    return len <= body_max ? len : 0;
}

/* Whether there is nothing more to wait for before civetweb's thread looks at it. */
static bool is_whole(char *head, size_t len, size_t body_max)
{
    char *end = NULL;

    if (len == GUESTS_HEAD_MAX || strlen(head) < len || strstr(head, "\n\n"))
        return true;                /* refused */
    end = strstr(head, "\r\n\r\n"); /* as civetweb has it, or it would wait inside */
    if (!end) return false;
    *end = '\0';
    return (size_t)(end + 4 - head) + body_len_of(head, body_max) <= len;
}

/* The client has said something, or hung up. */
void outside_hear_locked(struct acceptor *self, struct guest *guest)
{
    ssize_t len = 0;
    size_t empty = 0;

    if (guest->stage != OUTSIDE) return; /* an event of one that has moved on */
    len = recv(guests_fd(guest), self->head, GUESTS_HEAD_MAX, MSG_PEEK | MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (len <= 0) {
        guests_hang_up_locked(guest);
        return;
    }
    guest->has_begun = true;
    self->head[len] = '\0';
    empty = strspn(self->head, "\r\n"); /* civetweb would answer empty lines */
    if (empty > 0) (void)recv(guests_fd(guest), NULL, empty, MSG_TRUNC | MSG_DONTWAIT);
    if (is_whole(self->head + empty, (size_t)len - empty, self->options.body_max))
        guests_move_locked(guest, READY);
}

static bool is_late(const struct acceptor *self, const struct guest *guest, int64_t now_ms)
{
    bool is_leaving = self->crowd.is_to_leave && !guest->has_begun;

    return now_ms - guest->since_ms >= (is_leaving ? GUESTS_LAST_WORDS_MS : OPENING_MS);
}

void outside_end_silent_locked(struct acceptor *self, int64_t now_ms)
{
    struct guest *next = NULL;

    for (struct guest *each = self->crowd.list[OUTSIDE].first; each; each = next) {
        next = each->next;
        if (!is_late(self, each, now_ms)) {
            if (!self->crowd.is_to_leave) return; /* the oldest come first */
            continue;
        }
        outside_hear_locked(self, each); /* what was said while this thread stood still counts */
        if (each->stage != OUTSIDE || !is_late(self, each, now_ms)) continue;
        if (each->has_begun) self->options.refuse(guests_fd(each), ACCEPTOR_TOO_SLOW);
        guests_hang_up_locked(each);
    }
}

static void drop_surplus_locked(struct acceptor *self)
{
    struct guest *guest = NULL;
    unsigned count = 0;

    for (size_t i = OUTSIDE; i <= INSIDE; i++)
        count += self->crowd.list[i].count;
    if (count <= self->crowd.places + ACCEPTOR_ROOM) return;
    guest = crowd_surplus(&self->crowd);
    if (guest->stage == READY) self->options.refuse(guests_fd(guest), ACCEPTOR_TOO_MANY);
    guests_hang_up_locked(guest);
}

static void admit(struct acceptor *self, int fd, const struct client_address *peer)
{
    struct client_walk walk; /* ends at once unless the peer is a proxy that we trust */
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = fd};
    struct guest *guest = &guests[fd];
    struct crowd_group *group = NULL;
    struct stat info = {0};

    (void)fstat(fd, &info); /* of a socket of ours */
    client_address_walk_begin(&walk, self->options.trusted, peer);
    guests_lock();
    /* Its descriptor is free again, so that one was closed, whatever was told of it. */
    if (guest->stage != NOWHERE) guests_move_locked(guest, NOWHERE);
    guest->owner = self;
    group = crowd_group(&self->crowd, &walk.peer, !walk.is_over);
    if (group) {
        guest->socket = info.st_ino;
        guest->peer = *peer;
        guest->since_ms = clock_mono_ms();
        guest->has_begun = guest->is_watched = false;
        guests_place_locked(guest, OUTSIDE, group);
        outside_hear_locked(self, guest); /* most have said it by now */
        if (guest->stage == OUTSIDE) {
            guest->is_watched = epoll_ctl(self->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
            if (!guest->is_watched) guests_hang_up_locked(guest);
        }
        drop_surplus_locked(self);
    } else {
        (void)close(fd);
    }
    guests_unlock();
}

/* Returns whether nobody is left who has connected there. */
bool outside_accept(struct acceptor *self, int listen_fd)
{
    struct sockaddr_storage from;
    struct client_address peer;

    for (int i = 0; i < ACCEPTS_MAX; i++) {
        socklen_t len = sizeof from;
        int fd = accept4(listen_fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0 && errno != EAGAIN)
            clock_pause_ms(1); /* no descriptor, no memory: not in a circle */
        if (fd < 0) return true;
        client_address_of_socket(&from, &peer);
        if (fd < GUESTS_MAX) {
            admit(self, fd, &peer);
        } else {
            (void)close(fd);
        }
    }
    return false;
}
