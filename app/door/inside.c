/*
 * How a descriptor gets to civetweb, which can only accept() from a socket of its own. We let it listen
 * on a port of the loopback that it chooses, put an eventfd in that descriptor's place before it looks,
 * and define accept(), which the dynamic linker finds before libc's. The client's port, of which nobody
 * asks, carries the descriptor: so a handler knows its socket. Not good enough: to find it by its two
 * ends (wrong with two local addresses); a filter of packets (knows nobody's share); to close in
 * civetweb's first callback (it comes when a thread is taken already, and tells no address). In the same
 * way poll() bounds how long civetweb reads what drips; to read it byte by byte costs 10 us a request.
 *
 * A full house makes room: clients inside whose turn it is, and who say nothing, are given up, first of
 * the address that has most.
 */
#include "inside.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "guests.h"

enum {
    IDLE_MS = 30,     /* of a client inside, while others wait: more than the next packet takes */
    READING_MS = 60,  /* an answer that is read at all has mostly gone out at once */
    PROXY_MS = 2000,  /* a trusted proxy's connections are idle for good reason */
    VICTIMS_MAX = 32, /* in one tick */
};

/* civetweb's accept() tells only its socket; one listener for buyers, one for operators. */
static struct acceptor *_Atomic taken_over[2];

void inside_set_turn(int fd, inside_turn turn)
{
    int64_t until_ms = 0;

    if (fd < 0) return;
    if (turn != INSIDE_OURS)
        until_ms = clock_mono_ms() + (turn == INSIDE_CLIENT_READS ? READING_MS : IDLE_MS);
    atomic_store_explicit(&guests[fd].turn, turn, memory_order_relaxed);
    atomic_store_explicit(&guests[fd].spared_until_ms, until_ms, memory_order_relaxed);
}

void inside_let_in_locked(struct acceptor *self, struct guest *guest)
{
    if (guest->is_watched) (void)epoll_ctl(self->epoll_fd, EPOLL_CTL_DEL, guests_fd(guest), NULL);
    guest->is_served = false;
    inside_set_turn(guests_fd(guest), INSIDE_CLIENT_READS); /* should it want more after all */
    guests_move_locked(guest, HANDED);
    (void)eventfd_write(self->hand_fd, 1);
}

/* Whether civetweb has closed it before it called any handler. */
static bool is_gone(const struct guest *guest)
{
    struct stat info;

    return !guest->is_served &&
           (fstat(guests_fd(guest), &info) != 0 || info.st_ino != guest->socket);
}

/* What it has said is read and answered still; then its thread sees the end. */
static void give_up_locked(struct guest *guest)
{
    if (is_gone(guest)) { /* its descriptor may be somebody else's */
        guests_move_locked(guest, NOWHERE);
        return;
    }
    bool is_writing = guest->stage == STREAMING || atomic_load(&guest->turn) == INSIDE_CLIENT_READS;

    crowd_note_given_up(&guest->owner->crowd, guest);
    (void)shutdown(guests_fd(guest), is_writing ? SHUT_RDWR : SHUT_RD);
}

void inside_make_room_locked(struct acceptor *self, int64_t now_ms)
{
    const struct crowd_list *inside = &self->crowd.list[INSIDE];
    unsigned wanted = self->crowd.is_to_leave ? inside->count : self->crowd.list[READY].count;

    for (int i = 0; i < VICTIMS_MAX && inside->leaving < wanted; i++) {
        struct guest *guest = self->crowd.is_to_leave
                                  ? crowd_idle(&self->crowd, now_ms - GUESTS_LAST_WORDS_MS, 0)
                                  : crowd_idle(&self->crowd, now_ms, PROXY_MS);

        if (!guest) return;
        give_up_locked(guest);
    }
}

/* ---- a connection inside --------------------------------------------------------------------------- */

const struct client_address *inside_peer(int fd)
{
    return &guests[fd].peer;
}

void inside_note_served(int fd)
{
    guests_lock();
    guests[fd].is_served = true;
    guests_unlock();
}

bool inside_begin_stream(int fd, const struct client_address *client)
{
    struct guest *guest = &guests[fd];
    struct acceptor *self = NULL;
    struct crowd_group *group = NULL;
    struct guest *instead = NULL;
    bool good = false;

    guests_lock();
    self = guest->owner;
    group = crowd_group(&self->crowd, client, false);
    good = group && crowd_has_stream(&self->crowd, group, &instead);
    if (instead) give_up_locked(instead);
    if (good) {
        /* Behind a proxy that is another address's share. */
        guests_place_locked(guest, STREAMING, group);
    } else if (group) {
        crowd_forget(&self->crowd, group);
    }
    guests_unlock();
    if (good) guests_wake(self);
    return good;
}

/* Those that civetweb has closed before it called any handler: their sockets are no more. */
static void sweep_locked(struct acceptor *self)
{
    struct guest *next = NULL;

    for (struct guest *each = self->crowd.list[INSIDE].first; each; each = next) {
        next = each->next;
        if (is_gone(each)) guests_move_locked(each, NOWHERE);
    }
}

void inside_note_left(struct acceptor *self, int fd)
{
    guests_lock();
    if (fd < 0) {
        sweep_locked(self);
    } else {
        guests_move_locked(&guests[fd], NOWHERE);
    }
    guests_unlock();
    if (atomic_load(&self->waiting) > 0) guests_wake(self);
}

bool inside_is_wanted(struct acceptor *self, int fd)
{
    bool result = false;

    guests_lock();
    result = crowd_wants_place_of(&self->crowd, guests[fd].group);
    guests_unlock();
    return result;
}

/* ---- what civetweb calls instead of libc's ---------------------------------------------------------- */

int inside_hand_over(int fd, struct sockaddr *out_peer, socklen_t *len) __asm__("accept");

int inside_hand_over(int fd, struct sockaddr *out_peer, socklen_t *len)
{
    struct acceptor *self = NULL;
    struct guest *guest = NULL;
    eventfd_t one = 0;
    int given = -1;

    for (size_t i = 0; i < 2 && !self; i++) {
        self = atomic_load(&taken_over[i]);
        if (self && self->library_fd != fd) self = NULL;
    }
    if (!self) return accept4(fd, out_peer, len, 0);
    atomic_store_explicit(&self->is_asked, true, memory_order_relaxed);
    errno = EAGAIN;
    if (eventfd_read(self->hand_fd, &one) != 0) return -1;
    guests_lock();
    guest = self->crowd.list[HANDED].first;
    if (guest) {
        struct sockaddr_in peer = {.sin_family = AF_INET};

        given = guests_fd(guest);
        peer.sin_port = htons((uint16_t)given);
        peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK); /* inside_peer() tells who it is */
        assert(*len >= sizeof peer);
        memcpy(out_peer, &peer, sizeof peer);
        *len = sizeof peer;
        guests_move_locked(guest, INSIDE);
    }
    guests_unlock();
    return given;
}

static _Thread_local int64_t hear_until_ms; /* 0: no such moment */

void inside_hear_until(int64_t until_ms)
{
    hear_until_ms = until_ms;
}

int inside_await(struct pollfd *ends, nfds_t count, int wait_ms) __asm__("poll");

int inside_await(struct pollfd *ends, nfds_t count, int wait_ms)
{
    if (hear_until_ms > 0) {
        int64_t left_ms = hear_until_ms - clock_mono_ms();

        errno = ETIMEDOUT;
        if (left_ms <= 0) return -1;
        if (wait_ms < 0 || wait_ms > left_ms) wait_ms = (int)left_ms;
    }
    const struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L};
    return ppoll(ends, count, wait_ms < 0 ? NULL : &wait, NULL);
}

/* The socket that listens on this port; -1: none does. */
static int find_listener(int port)
{
    for (int fd = 0; fd < GUESTS_MAX; fd++) {
        struct sockaddr_in where = {0};
        socklen_t len = sizeof where;
        int listens = 0;
        socklen_t listens_len = sizeof listens;

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_len) == 0 && listens &&
            getsockname(fd, (struct sockaddr *)&where, &len) == 0 && where.sin_family == AF_INET &&
            where.sin_addr.s_addr == htonl(INADDR_LOOPBACK) && ntohs(where.sin_port) == port)
            return fd;
    }
    return -1;
}

bool inside_take_over(struct acceptor *self, int library_port)
{
    int fd = find_listener(library_port);
    struct acceptor *none = NULL;

    if (fd < 0 || dup3(self->hand_fd, fd, O_CLOEXEC) < 0) return false;
    self->library_fd = fd;
    if (atomic_compare_exchange_strong(&taken_over[0], &none, self)) return true;
    none = NULL;
    return atomic_compare_exchange_strong(&taken_over[1], &none, self);
}

bool inside_is_asked(struct acceptor *self)
{
    enum { PATIENCE_MS = 1000 };

    inside_nudge(self);
    for (int i = 0; i < PATIENCE_MS && !atomic_load(&self->is_asked); i++)
        clock_pause_ms(1);
    return atomic_load(&self->is_asked);
}

void inside_nudge(struct acceptor *self)
{
    (void)eventfd_write(self->hand_fd, 1);
}

void inside_give_back(struct acceptor *acceptor)
{
    for (size_t i = 0; i < 2; i++) {
        struct acceptor *mine = acceptor;

        (void)atomic_compare_exchange_strong(&taken_over[i], &mine, NULL);
    }
}
