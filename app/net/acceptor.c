/*
 * One thread for the addresses of a port. It holds the clients outside in an epoll set (pending.c) and
 * lets in who comes next (served.c). Its life, and the shutting of its door.
 */
#include "acceptor.h"

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "client_conns.h"
#include "pending.h"
#include "served.h"

enum {
    BACKLOG = 4096,
    HANDSHAKE_MS = 900, /* at most, from a connection's first packet to its third */
    TICK_MS = 10,
};

/* ---- the thread ------------------------------------------------------------------------------------ */

/* Whether somebody's first packet has been answered, and his third is still to come. */
static bool has_half_open_in(const char *table, const struct listen_address *address)
{
    FILE *sockets = fopen(table, "re");
    char line[256], port[5], state[3], ours[8];
    bool result = false;

    if (!sockets) return false;
    (void)snprintf(ours, sizeof ours, "%04X", listen_address_port(address));
    while (!result && fgets(line, sizeof line, sockets))
        result = sscanf(line, "%*s %*32[0-9A-F]:%4s %*s %2s", port, state) == 2 &&
                 strcmp(port, ours) == 0 && strcmp(state, "03") == 0; /* TCP_SYN_RECV */
    (void)fclose(sockets);
    return result;
}

static bool has_half_open(const struct acceptor *self)
{
    for (unsigned i = 0; i < self->options.addresses.count; i++) {
        if (has_half_open_in("/proc/self/net/tcp", &self->options.addresses.address[i]) ||
            has_half_open_in("/proc/self/net/tcp6", &self->options.addresses.address[i]))
            return true;
    }
    return false;
}

/*
 * Close the door behind the last who has come. A filter lets no more connections begin, so that none
 * comes between the last look and the close. Who has begun already is waited for: he may
 * believe that he is connected, and his request be on its way.
 */
static void stop_listening(struct acceptor *self)
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

    if (self->close_at_ms == 0) {
        for (unsigned i = 0; i < self->options.addresses.count; i++)
            (void)setsockopt(self->listen_fd[i], SOL_SOCKET, SO_ATTACH_FILTER, &filter,
                             sizeof filter);
        self->close_at_ms = clock_mono_ms() + HANDSHAKE_MS;
    }
    if (clock_mono_ms() < self->close_at_ms && has_half_open(self)) return;
    for (unsigned i = 0; i < self->options.addresses.count; i++) {
        while (!pending_accept(self, self->listen_fd[i]))
            continue;
        (void)close(self->listen_fd[i]);
        self->listen_fd[i] = -1;
    }
    client_conns_lock();
    self->scheduler.is_draining = true;
    client_conns_unlock();
}

static void schedule(struct acceptor *self)
{
    int64_t now_ms = clock_mono_ms();
    struct client_conn *next = NULL;

    client_conns_lock();
    pending_close_slow_locked(self, now_ms);
    while ((next = conn_scheduler_next(&self->scheduler)))
        served_admit_locked(self, next);
    if (self->scheduler.is_draining || self->scheduler.list[CONN_READY].count > 0)
        served_evict_idle_locked(self, now_ms);
    client_conns_unlock();
}

/* How long nothing has to be done unless somebody says something. */
static int poll_timeout_ms(struct acceptor *self)
{
    int result_ms = -1;

    client_conns_lock();
    if (self->scheduler.list[CONN_PENDING].count > 0) result_ms = CLIENT_CONNS_DRAIN_MS;
    if (self->close_at_ms > 0 || self->scheduler.list[CONN_READY].count > 0) result_ms = TICK_MS;
    client_conns_unlock();
    return result_ms;
}

static void handle_event(struct acceptor *self, int fd)
{
    eventfd_t ignored = 0;

    for (unsigned i = 0; i < self->options.addresses.count; i++) {
        if (fd != self->listen_fd[i]) continue;
        (void)pending_accept(self, fd);
        return;
    }
    if (fd == self->wake_fd) {
        (void)eventfd_read(fd, &ignored);
    } else {
        client_conns_lock();
        if (client_conns[fd].owner == self) pending_receive_locked(self, &client_conns[fd]);
        client_conns_unlock();
    }
}

static void *run(void *arg)
{
    enum { EVENTS = 64 };
    struct acceptor *self = arg;
    struct epoll_event events[EVENTS];

    while (atomic_load(&self->phase) != CLOSING) {
        int count = epoll_wait(self->epoll_fd, events, EVENTS, poll_timeout_ms(self));

        for (int i = 0; i < count; i++)
            handle_event(self, events[i].data.fd);
        if (self->listen_fd[0] >= 0 && atomic_load(&self->phase) == TO_DRAIN) stop_listening(self);
        schedule(self);
    }
    return NULL;
}

unsigned acceptor_waiting(const struct acceptor *self)
{
    return atomic_load_explicit(&self->waiting, memory_order_relaxed);
}

unsigned acceptor_connections(struct acceptor *self)
{
    unsigned result = 0;

    client_conns_lock();
    for (size_t i = CONN_PENDING; i < CONN_STAGE_COUNT; i++)
        result += self->scheduler.list[i].count;
    if (!self->scheduler.is_draining) result++; /* there may be more */
    client_conns_unlock();
    return result;
}

/* ---- life cycle ------------------------------------------------------------------------------------- */

/* "[::]" takes IPv4 as well, unless that has an address of its own. */
static bool takes_ipv4(const struct listen_addresses *list)
{
    for (unsigned i = 0; i < list->count; i++) {
        if (list->address[i].at.any.sa_family == AF_INET) return false;
    }
    return true;
}

static bool open_listeners(struct acceptor *self)
{
    struct listen_addresses *list = &self->options.addresses;
    char text[LISTEN_TEXT_SIZE];
    size_t len = 0;

    for (unsigned i = 0; i < list->count; i++) {
        self->listen_fd[i] = listen_address_open(&list->address[i], takes_ipv4(list), BACKLOG);
        (void)listen_address_show(&list->address[i], text);
        if (self->listen_fd[i] < 0) {
            (void)stpcpy(self->address, text); /* for whoever complains */
            return false;
        }
        len += (size_t)snprintf(self->address + len, sizeof self->address - len, "%s%s",
                                i > 0 ? "," : "", text);
    }
    return true;
}

static bool add_to_epoll(const struct acceptor *self, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return fd >= 0 && epoll_ctl(self->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

struct acceptor *acceptor_open(const struct acceptor_options *options, struct start_error *why)
{
    struct acceptor *self = calloc(1, sizeof *self);

    if (!self) {
        (void)start_error_say(why, "out of memory");
        return NULL;
    }
    self->options = *options;
    self->scheduler = (struct conn_scheduler){.places = options->places,
                                              .address_places = options->address_places,
                                              .streams = options->streams,
                                              .address_streams = options->address_streams};
    bool is_good = false;

    self->library_fd = -1;
    for (unsigned i = 0; i < LISTEN_ADDRESSES_MAX; i++)
        self->listen_fd[i] = -1;
    self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    self->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->handover_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    is_good = open_listeners(self) && self->handover_fd >= 0 && add_to_epoll(self, self->wake_fd);
    for (unsigned i = 0; is_good && i < self->options.addresses.count; i++)
        is_good = add_to_epoll(self, self->listen_fd[i]);
    if (is_good) return self;
    (void)start_error_say(why, "cannot listen on %s: %s", self->address, strerrordesc_np(errno));
    acceptor_close(self);
    return NULL;
}

const char *acceptor_address(const struct acceptor *self)
{
    return self->address;
}

bool acceptor_start(struct acceptor *self)
{
    self->is_started = pthread_create(&self->thread, NULL, run, self) == 0;
    return self->is_started;
}

void acceptor_drain(struct acceptor *self)
{
    atomic_store(&self->phase, TO_DRAIN);
    client_conns_wake(self);
}

void acceptor_close(struct acceptor *self)
{
    if (!self) return;
    if (self->is_started) {
        atomic_store(&self->phase, CLOSING);
        client_conns_wake(self);
        (void)pthread_join(self->thread, NULL);
    }
    served_give_back_listener(self);
    client_conns_lock();
    for (size_t i = CONN_PENDING; i < CONN_STAGE_COUNT; i++) {
        while (self->scheduler.list[i].first) {
            struct client_conn *conn = self->scheduler.list[i].first;

            client_conns_move_locked(conn, CONN_NONE);
            if (i <= CONN_HANDED_OVER)
                (void)close(client_conns_fd(conn)); /* the others' library has closed */
        }
    }
    client_conns_unlock();
    for (size_t i = 0; i < 3; i++) {
        int fd = (const int[]){self->epoll_fd, self->wake_fd, self->handover_fd}[i];

        if (fd >= 0) (void)close(fd);
    }
    for (size_t i = 0; i < LISTEN_ADDRESSES_MAX; i++) {
        if (self->listen_fd[i] >= 0) (void)close(self->listen_fd[i]);
    }
    free(self);
}
