/*
 * One thread for each listening address. It holds the clients outside in an epoll set and looks at what
 * they have said without taking it (MSG_PEEK); when a head and its body are there, or nobody needs to
 * wait for more, the descriptor goes to civetweb. A full house makes room: clients inside whose turn it
 * is, and who say nothing, are given up, first of the address that has most.
 *
 * How civetweb gets a descriptor: it can only accept() from a socket of its own. We let it listen on a
 * port of the loopback that it chooses, put an eventfd in that descriptor's place before it looks, and
 * define accept(), which the dynamic linker finds before libc's. The client's port, of which nobody
 * asks, carries the descriptor: so a handler knows its socket. Not good enough: to find it by its two
 * ends (wrong with two local addresses); a filter of packets (knows nobody's share); to close in
 * civetweb's first callback (it comes when a thread is taken already, and tells no address).
 *
 * Lock: `mutex` guards all guests and what acceptors know of them, but for what is atomic. Nothing is
 * called under it but the kernel, which does not wait.
 */
#include "acceptor.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "crowd.h"

enum {
    FD_MAX = 65536, /* a port has no more */
    BACKLOG = 4096,
    HEAD_MAX = 16384,    /* civetweb reads no more either */
    OPENING_MS = 2500,   /* the first request has been said by then */
    HANDSHAKE_MS = 900,  /* at most, from a connection's first packet to its third */
    LAST_WORDS_MS = 250, /* as OPENING_MS, once the door is shut */
    IDLE_MS = 30,    /* of a client inside, while others wait: more than the next packet takes */
    READING_MS = 60, /* an answer that is read at all has mostly gone out at once */
    PROXY_MS = 2000, /* a trusted proxy's connections are idle for good reason */
    TICK_MS = 10,
    VICTIMS_MAX = 32,  /* in one tick */
    ACCEPTS_MAX = 256, /* before others are looked after */
    ADDRESS_SIZE = 32,
};

struct acceptor {
    struct acceptor_options options;
    char address[ADDRESS_SIZE];
    int listen_fd;       /* owned; the thread's own; -1: shut */
    int64_t shuts_at_ms; /* monotonic, the thread's own; 0: not said yet */
    int epoll_fd;        /* owned */
    int wake_fd;         /* owned: the thread is to look around */
    int hand_fd;         /* owned: counts who is handed over */
    int library_fd;      /* borrowed: in its place there is a copy of hand_fd */
    pthread_t thread;
    bool is_started;
    atomic_uint waiting; /* guests that are ready */
    struct crowd crowd;
    enum { SERVING, TO_SHUT, CLOSING } _Atomic phase;
    char head[HEAD_MAX + 1]; /* the thread's own */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct guest guests[FD_MAX];
/* civetweb's accept() tells only its socket; one listener for buyers, one for operators. */
static struct acceptor *_Atomic taken_over[2];

static int fd_of(const struct guest *guest)
{
    return (int)(guest - guests);
}

static void place_locked(struct guest *guest, crowd_stage to, struct crowd_group *group)
{
    struct acceptor *self = guest->owner;

    crowd_place(&self->crowd, guest, to, group);
    atomic_store_explicit(&self->waiting, self->crowd.list[READY].count, memory_order_relaxed);
}

static void move_locked(struct guest *guest, crowd_stage to)
{
    place_locked(guest, to, guest->group);
}

static void hang_up_locked(struct guest *guest)
{
    move_locked(guest, NOWHERE);
    (void)shutdown(fd_of(guest),
                   SHUT_WR); /* with bytes unread it would be a reset, and no answer */
    (void)recv(fd_of(guest), NULL, HEAD_MAX, MSG_TRUNC | MSG_DONTWAIT);
    (void)close(fd_of(guest)); /* and it leaves the epoll set */
}

static void wake(const struct acceptor *self)
{
    (void)eventfd_write(self->wake_fd, 1);
}

/* ---- letting in ----------------------------------------------------------------------------------- */

static void let_in_locked(struct acceptor *self, struct guest *guest)
{
    if (guest->is_watched) (void)epoll_ctl(self->epoll_fd, EPOLL_CTL_DEL, fd_of(guest), NULL);
    guest->is_served = false;
    acceptor_set_turn(fd_of(guest),
                      ACCEPTOR_CLIENT_READS); /* should civetweb want more after all */
    move_locked(guest, HANDED);
    (void)eventfd_write(self->hand_fd, 1);
}

/* Whether civetweb has closed it before it called any handler. */
static bool is_gone(const struct guest *guest)
{
    struct stat info;

    return !guest->is_served && (fstat(fd_of(guest), &info) != 0 || info.st_ino != guest->socket);
}

/* What it has said is read and answered still; then its thread sees the end. */
static void give_up_locked(struct guest *guest)
{
    if (is_gone(guest)) { /* its descriptor may be somebody else's */
        move_locked(guest, NOWHERE);
        return;
    }
    bool is_writing =
        guest->stage == STREAMING || atomic_load(&guest->turn) == ACCEPTOR_CLIENT_READS;

    crowd_note_given_up(&guest->owner->crowd, guest);
    (void)shutdown(fd_of(guest), is_writing ? SHUT_RDWR : SHUT_RD);
}

/* Some wait, the places are taken: make as many free as there are clients that can be given up. */
static void make_room_locked(struct acceptor *self, int64_t now_ms)
{
    const struct crowd_list *inside = &self->crowd.list[INSIDE];
    unsigned wanted = self->crowd.is_to_leave ? inside->count : self->crowd.list[READY].count;

    for (int i = 0; i < VICTIMS_MAX && inside->leaving < wanted; i++) {
        struct guest *guest = self->crowd.is_to_leave
                                  ? crowd_idle(&self->crowd, now_ms - LAST_WORDS_MS, 0)
                                  : crowd_idle(&self->crowd, now_ms, PROXY_MS);

        if (!guest) return;
        give_up_locked(guest);
    }
}

/* ---- outside -------------------------------------------------------------------------------------- */

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

    if (len == HEAD_MAX || strlen(head) < len || strstr(head, "\n\n")) return true; /* refused */
    end = strstr(head, "\r\n\r\n"); /* as civetweb has it, or it would wait inside */
    if (!end) return false;
    *end = '\0';
    return (size_t)(end + 4 - head) + body_len_of(head, body_max) <= len;
}

/* The client has said something, or hung up. */
static void hear_locked(struct acceptor *self, struct guest *guest)
{
    ssize_t len = 0;
    size_t empty = 0;

    if (guest->stage != OUTSIDE) return; /* an event of one that has moved on */
    len = recv(fd_of(guest), self->head, HEAD_MAX, MSG_PEEK | MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (len <= 0) {
        hang_up_locked(guest);
        return;
    }
    guest->has_begun = true;
    self->head[len] = '\0';
    empty = strspn(self->head, "\r\n"); /* civetweb would answer empty lines */
    if (empty > 0) (void)recv(fd_of(guest), NULL, empty, MSG_TRUNC | MSG_DONTWAIT);
    if (is_whole(self->head + empty, (size_t)len - empty, self->options.body_max))
        move_locked(guest, READY);
}

static void end_silent_locked(struct acceptor *self, int64_t now_ms)
{
    struct guest *next = NULL;

    for (struct guest *each = self->crowd.list[OUTSIDE].first; each; each = next) {
        int64_t limit_ms = self->crowd.is_to_leave && !each->has_begun ? LAST_WORDS_MS : OPENING_MS;

        next = each->next;
        if (now_ms - each->since_ms >= limit_ms) {
            if (each->has_begun) self->options.refuse(fd_of(each), ACCEPTOR_TOO_SLOW);
            hang_up_locked(each);
        } else if (!self->crowd.is_to_leave) {
            return; /* the oldest come first */
        }
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
    if (guest->stage == READY) self->options.refuse(fd_of(guest), ACCEPTOR_TOO_MANY);
    hang_up_locked(guest);
}

static void admit(struct acceptor *self, int fd, const struct sockaddr_in *peer)
{
    char text[INET_ADDRSTRLEN] = "";
    struct client_walk walk; /* ends at once unless the peer is a proxy that we trust */
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = fd};
    struct guest *guest = &guests[fd];
    struct crowd_group *group = NULL;
    struct stat info = {0};

    (void)fstat(fd, &info); /* of a socket of ours */
    (void)inet_ntop(AF_INET, &peer->sin_addr, text, sizeof text);
    client_walk_begin(&walk, self->options.trusted, text);
    (void)pthread_mutex_lock(&mutex);
    /* Its descriptor is free again, so that one was closed, whatever was told of it. */
    if (guest->stage != NOWHERE) move_locked(guest, NOWHERE);
    guest->owner = self;
    group = crowd_group(&self->crowd, &walk.peer, !walk.is_over);
    if (group) {
        guest->socket = info.st_ino;
        guest->since_ms = clock_mono_ms();
        guest->has_begun = guest->is_watched = false;
        place_locked(guest, OUTSIDE, group);
        hear_locked(self, guest); /* most have said it by now */
        if (guest->stage == OUTSIDE) {
            guest->is_watched = epoll_ctl(self->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
            if (!guest->is_watched) hang_up_locked(guest);
        }
        drop_surplus_locked(self);
    } else {
        (void)close(fd);
    }
    (void)pthread_mutex_unlock(&mutex);
}

/* Returns whether nobody is left who has connected. */
static bool accept_some(struct acceptor *self)
{
    struct sockaddr_in peer;
    socklen_t len = sizeof peer;

    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int fd =
            accept4(self->listen_fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0 && errno != EAGAIN)
            clock_pause_ms(1); /* no descriptor, no memory: not in a circle */
        if (fd < 0) return true;
        if (fd < FD_MAX) {
            admit(self, fd, &peer);
        } else {
            (void)close(fd);
        }
    }
    return false;
}

/* ---- the thread ------------------------------------------------------------------------------------ */

/* Whether somebody's first packet has been answered, and his third is still to come. */
static bool is_one_on_the_way(const struct acceptor *self)
{
    FILE *sockets = fopen("/proc/self/net/tcp", "re");
    char line[256], port[5], state[3], ours[8];
    bool result = false;

    if (!sockets) return false;
    (void)snprintf(ours, sizeof ours, "%04lX", strtoul(strrchr(self->address, ':') + 1, NULL, 10));
    while (!result && fgets(line, sizeof line, sockets))
        result = sscanf(line, "%*s %*8[0-9A-F]:%4s %*s %2s", port, state) == 2 &&
                 strcmp(port, ours) == 0 && strcmp(state, "03") == 0; /* TCP_SYN_RECV */
    (void)fclose(sockets);
    return result;
}

/*
 * Close the door behind the last who has come. A filter lets no more connections begin, so that none
 * comes between the last look and the close. Who has begun already is waited for: he may
 * believe that he is connected, and his request be on its way.
 */
static void shut(struct acceptor *self)
{
    struct sock_filter first_packets[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, offsetof(struct tcphdr, th_flags)),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TH_SYN | TH_ACK),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TH_SYN, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog filter = {.len = sizeof first_packets / sizeof first_packets[0],
                                .filter = first_packets};

    if (self->shuts_at_ms == 0) {
        (void)setsockopt(self->listen_fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
        self->shuts_at_ms = clock_mono_ms() + HANDSHAKE_MS;
    }
    if (clock_mono_ms() < self->shuts_at_ms && is_one_on_the_way(self)) return;
    while (!accept_some(self))
        continue;
    (void)close(self->listen_fd);
    self->listen_fd = -1;
    (void)pthread_mutex_lock(&mutex);
    self->crowd.is_to_leave = true;
    (void)pthread_mutex_unlock(&mutex);
}

static void look_around(struct acceptor *self)
{
    int64_t now_ms = clock_mono_ms();
    struct guest *next = NULL;

    (void)pthread_mutex_lock(&mutex);
    end_silent_locked(self, now_ms);
    while ((next = crowd_next(&self->crowd)))
        let_in_locked(self, next);
    if (self->crowd.is_to_leave || self->crowd.list[READY].count > 0)
        make_room_locked(self, now_ms);
    (void)pthread_mutex_unlock(&mutex);
}

/* How long nothing has to be done unless somebody says something. */
static int patience_ms(struct acceptor *self)
{
    int result_ms = -1;

    (void)pthread_mutex_lock(&mutex);
    if (self->crowd.list[OUTSIDE].count > 0) result_ms = LAST_WORDS_MS;
    if (self->shuts_at_ms > 0 || self->crowd.list[READY].count > 0) result_ms = TICK_MS;
    (void)pthread_mutex_unlock(&mutex);
    return result_ms;
}

static void answer_event(struct acceptor *self, int fd)
{
    eventfd_t ignored = 0;

    if (fd == self->wake_fd) {
        (void)eventfd_read(fd, &ignored);
    } else if (fd == self->listen_fd) {
        (void)accept_some(self);
    } else {
        (void)pthread_mutex_lock(&mutex);
        if (guests[fd].owner == self) hear_locked(self, &guests[fd]);
        (void)pthread_mutex_unlock(&mutex);
    }
}

static void *run(void *arg)
{
    enum { EVENTS = 64 };
    struct acceptor *self = arg;
    struct epoll_event events[EVENTS];

    while (atomic_load(&self->phase) != CLOSING) {
        int count = epoll_wait(self->epoll_fd, events, EVENTS, patience_ms(self));

        for (int i = 0; i < count; i++)
            answer_event(self, events[i].data.fd);
        if (self->listen_fd >= 0 && atomic_load(&self->phase) == TO_SHUT) shut(self);
        look_around(self);
    }
    return NULL;
}

/* ---- what civetweb calls instead of libc's ---------------------------------------------------------- */

int acceptor_hand_over(int fd, struct sockaddr *out_peer, socklen_t *len) __asm__("accept");

int acceptor_hand_over(int fd, struct sockaddr *out_peer, socklen_t *len)
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
    errno = EAGAIN;
    if (eventfd_read(self->hand_fd, &one) != 0) return -1;
    (void)pthread_mutex_lock(&mutex);
    guest = self->crowd.list[HANDED].first;
    if (guest) {
        struct sockaddr_in peer = {.sin_family = AF_INET};

        given = fd_of(guest);
        peer.sin_port = htons((uint16_t)given);
        peer.sin_addr.s_addr = htonl((uint32_t)guest->group->key);
        assert(*len >= sizeof peer);
        memcpy(out_peer, &peer, sizeof peer);
        *len = sizeof peer;
        move_locked(guest, INSIDE);
    }
    (void)pthread_mutex_unlock(&mutex);
    return given;
}

/* ---- connections inside ----------------------------------------------------------------------------- */

void acceptor_note_served(int fd)
{
    (void)pthread_mutex_lock(&mutex);
    guests[fd].is_served = true;
    (void)pthread_mutex_unlock(&mutex);
}

void acceptor_set_turn(int fd, acceptor_turn turn)
{
    int64_t until_ms = 0;

    if (fd < 0) return;
    if (turn != ACCEPTOR_OURS)
        until_ms = clock_mono_ms() + (turn == ACCEPTOR_CLIENT_READS ? READING_MS : IDLE_MS);
    atomic_store_explicit(&guests[fd].turn, turn, memory_order_relaxed);
    atomic_store_explicit(&guests[fd].spared_until_ms, until_ms, memory_order_relaxed);
}

bool acceptor_begin_stream(int fd, const struct client_address *client)
{
    struct guest *guest = &guests[fd];
    struct acceptor *self = NULL;
    struct crowd_group *group = NULL;
    struct guest *instead = NULL;
    bool good = false;

    (void)pthread_mutex_lock(&mutex);
    self = guest->owner;
    group = crowd_group(&self->crowd, client, false);
    good = group && crowd_has_stream(&self->crowd, group, &instead);
    if (instead) give_up_locked(instead);
    if (good) {
        place_locked(guest, STREAMING, group); /* behind a proxy that is another address's share */
    } else if (group) {
        crowd_forget(&self->crowd, group);
    }
    (void)pthread_mutex_unlock(&mutex);
    if (good) wake(self);
    return good;
}

/* Those that civetweb has closed before it called any handler: their sockets are no more. */
static void sweep_locked(struct acceptor *self)
{
    struct guest *next = NULL;

    for (struct guest *each = self->crowd.list[INSIDE].first; each; each = next) {
        next = each->next;
        if (is_gone(each)) move_locked(each, NOWHERE);
    }
}

void acceptor_note_left(struct acceptor *self, int fd)
{
    (void)pthread_mutex_lock(&mutex);
    if (fd < 0) {
        sweep_locked(self);
    } else {
        move_locked(&guests[fd], NOWHERE);
    }
    (void)pthread_mutex_unlock(&mutex);
    if (acceptor_waiting(self) > 0) wake(self);
}

unsigned acceptor_waiting(const struct acceptor *self)
{
    return atomic_load_explicit(&self->waiting, memory_order_relaxed);
}

bool acceptor_is_wanted(struct acceptor *self, int fd)
{
    bool result = false;

    (void)pthread_mutex_lock(&mutex);
    result = crowd_wants_place_of(&self->crowd, guests[fd].group);
    (void)pthread_mutex_unlock(&mutex);
    return result;
}

unsigned acceptor_guests(struct acceptor *self)
{
    unsigned result = 0;

    (void)pthread_mutex_lock(&mutex);
    for (size_t i = OUTSIDE; i < STAGE_COUNT; i++)
        result += self->crowd.list[i].count;
    if (!self->crowd.is_to_leave) result++; /* there may be more */
    (void)pthread_mutex_unlock(&mutex);
    return result;
}

/* ---- life cycle ------------------------------------------------------------------------------------- */

static bool address_is_read(const char *address, struct sockaddr_in *out)
{
    const char *colon = strrchr(address, ':');
    char host[INET_ADDRSTRLEN] = "";

    assert(colon && (size_t)(colon - address) < sizeof host); /* config.c has checked it */
    memcpy(host, address, (size_t)(colon - address));
    *out = (struct sockaddr_in){.sin_family = AF_INET};
    out->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    return inet_pton(AF_INET, host, &out->sin_addr) == 1;
}

static bool starts_to_listen(struct acceptor *self)
{
    const char *address = self->options.address;
    struct sockaddr_in where;
    socklen_t len = sizeof where;
    int yes = 1;

    self->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->listen_fd < 0 || !address_is_read(address, &where)) return false;
    (void)setsockopt(self->listen_fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(self->listen_fd, (const struct sockaddr *)&where, sizeof where) != 0 ||
        listen(self->listen_fd, BACKLOG) != 0 ||
        getsockname(self->listen_fd, (struct sockaddr *)&where, &len) != 0)
        return false;
    (void)snprintf(self->address, sizeof self->address, "%.*s:%d",
                   (int)(strrchr(address, ':') - address), address, ntohs(where.sin_port));
    return true;
}

static bool is_watched(const struct acceptor *self, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return fd >= 0 && epoll_ctl(self->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

struct acceptor *acceptor_open(const struct acceptor_options *options, struct refusal *why)
{
    struct acceptor *self = calloc(1, sizeof *self);

    if (!self) {
        (void)refusal_say(why, "out of memory");
        return NULL;
    }
    self->options = *options;
    self->crowd = (struct crowd){.places = options->places,
                                 .address_places = options->address_places,
                                 .streams = options->streams,
                                 .address_streams = options->address_streams};
    self->library_fd = self->listen_fd = -1;
    self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    self->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->hand_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    if (starts_to_listen(self) && self->hand_fd >= 0 && is_watched(self, self->wake_fd) &&
        is_watched(self, self->listen_fd))
        return self;
    (void)refusal_say(why, "cannot listen on %s: %s", options->address, strerrordesc_np(errno));
    acceptor_close(self);
    return NULL;
}

const char *acceptor_address(const struct acceptor *self)
{
    return self->address;
}

/* The socket that listens on this port; -1: none does. */
static int find_listener(int port)
{
    for (int fd = 0; fd < FD_MAX; fd++) {
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

bool acceptor_take_over(struct acceptor *self, int library_port)
{
    int fd = find_listener(library_port);
    struct acceptor *none = NULL;

    if (fd < 0 || dup3(self->hand_fd, fd, O_CLOEXEC) < 0) return false;
    self->library_fd = fd;
    if (atomic_compare_exchange_strong(&taken_over[0], &none, self)) return true;
    none = NULL;
    return atomic_compare_exchange_strong(&taken_over[1], &none, self);
}

bool acceptor_start(struct acceptor *self)
{
    self->is_started = pthread_create(&self->thread, NULL, run, self) == 0;
    return self->is_started;
}

void acceptor_shut(struct acceptor *self)
{
    atomic_store(&self->phase, TO_SHUT);
    wake(self);
}

void acceptor_nudge(struct acceptor *self)
{
    (void)eventfd_write(self->hand_fd, 1);
}

void acceptor_close(struct acceptor *self)
{
    if (!self) return;
    if (self->is_started) {
        atomic_store(&self->phase, CLOSING);
        wake(self);
        (void)pthread_join(self->thread, NULL);
    }
    for (size_t i = 0; i < 2; i++) {
        struct acceptor *mine = self;

        (void)atomic_compare_exchange_strong(&taken_over[i], &mine, NULL);
    }
    (void)pthread_mutex_lock(&mutex);
    for (size_t i = OUTSIDE; i < STAGE_COUNT; i++) {
        while (self->crowd.list[i].first) {
            struct guest *guest = self->crowd.list[i].first;

            move_locked(guest, NOWHERE);
            if (i <= HANDED) (void)close(fd_of(guest)); /* the others' library has closed */
        }
    }
    (void)pthread_mutex_unlock(&mutex);
    for (size_t i = 0; i < 4; i++) {
        int fd = (const int[]){self->listen_fd, self->epoll_fd, self->wake_fd, self->hand_fd}[i];

        if (fd >= 0) (void)close(fd);
    }
    free(self);
}
