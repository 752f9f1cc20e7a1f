/*
 * See lk_vip.h. What is sent is small and read at once, so passing it on never waits for long.
 */
#include "lk_vip.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/port.h"
#include "lk_net.h"
#include "lk_support.h"

enum { PAIRS_MAX = 512, BUFFER = 65536, BACKLOG = 128, FIRST = 2, ANSWER_MS = 2000 };

struct pair {
    int fds[2]; /* the client's, the server's */
    bool is_silent;
};

struct lks_vip {
    char url[64];
    int port;
    int listener;
    int wake_fd; /* eventfd: the thread looks again */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards all below */
    int server_port;
    bool is_stopping;
    bool is_dripping;
    struct lk_bytes word; /* borrowed; none: nobody's connection is cut */
    bool is_word_passed;
    size_t taken;
    struct pair pairs[PAIRS_MAX];
    size_t count;
};

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    (void)close(fd);
    return -1;
}

static void take_client_locked(struct lks_vip *vip)
{
    int client = accept4(vip->listener, NULL, NULL, SOCK_CLOEXEC);
    int server = client >= 0 && vip->count < PAIRS_MAX ? connect_to(vip->server_port) : -1;

    vip->taken += client >= 0;
    if (server >= 0) {
        vip->pairs[vip->count++] = (struct pair){.fds = {client, server}};
    } else if (client >= 0) {
        (void)close(client);
    }
}

static void end_pair_locked(struct lks_vip *vip, size_t i)
{
    (void)close(vip->pairs[i].fds[0]);
    (void)close(vip->pairs[i].fds[1]);
    vip->pairs[i] = vip->pairs[--vip->count];
}

/* False: the connection ends. */
static bool pass_on_locked(struct lks_vip *vip, const struct pair *pair, size_t side)
{
    static _Thread_local char data[BUFFER];
    bool drips = vip->is_dripping && side == 1;
    struct pollfd answer = {.fd = pair->fds[1], .events = POLLIN};

    if (drips) lks_nap(LKS_DRIP_MS);
    ssize_t got = recv(pair->fds[side], data, drips ? 1 : BUFFER, MSG_DONTWAIT);
    if (got <= 0) return false;
    bool is_cut =
        side == 0 && vip->word.len > 0 && memmem(data, (size_t)got, vip->word.data, vip->word.len);
    if (is_cut) vip->word.len = 0;
    if (is_cut && !vip->is_word_passed) return false;
    bool is_sent = send(pair->fds[1 - side], data, (size_t)got, MSG_NOSIGNAL) == got;
    if (is_cut) (void)poll(&answer, 1, ANSWER_MS);
    return is_sent && !is_cut;
}

static void turn_locked(struct lks_vip *vip, const struct pollfd *fds)
{
    for (size_t i = vip->count; i-- > 0;) {
        struct pair *pair = &vip->pairs[i];
        bool goes_on = true;

        if (pair->is_silent) continue;
        for (size_t side = 0; side < 2 && goes_on; side++)
            if (fds[FIRST + 2 * i + side].revents != 0) goes_on = pass_on_locked(vip, pair, side);
        if (!goes_on) end_pair_locked(vip, i);
    }
    if (fds[1].revents != 0) take_client_locked(vip);
}

static void *vip_main(void *arg)
{
    struct lks_vip *vip = arg;
    static _Thread_local struct pollfd fds[FIRST + 2 * PAIRS_MAX];

    (void)pthread_mutex_lock(&vip->mutex);
    while (!vip->is_stopping) {
        nfds_t count = FIRST;
        uint64_t wakes = 0;

        fds[0] = (struct pollfd){.fd = vip->wake_fd, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = vip->listener, .events = POLLIN};
        for (size_t i = 0; i < vip->count; i++) {
            for (size_t side = 0; side < 2; side++)
                fds[count++] = (struct pollfd){
                    .fd = vip->pairs[i].is_silent ? -1 : vip->pairs[i].fds[side], .events = POLLIN};
        }
        (void)pthread_mutex_unlock(&vip->mutex);
        (void)poll(fds, count, -1);
        (void)pthread_mutex_lock(&vip->mutex);
        if (fds[0].revents != 0) (void)eventfd_read(vip->wake_fd, &wakes);
        turn_locked(vip, fds);
    }
    (void)pthread_mutex_unlock(&vip->mutex);
    return NULL;
}

struct lks_vip *lks_vip_open(const char *address, int port, int server_port)
{
    struct lks_vip *vip = calloc(1, sizeof *vip);
    int yes = 1;

    assert_non_null(vip);
    vip->port = port ? port : port_free();
    vip->server_port = server_port;
    if (!address) address = "127.0.0.1";
    (void)snprintf(vip->url, sizeof vip->url, "redis://%s:%d", address, vip->port);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)vip->port)};
    assert_int_equal(inet_pton(AF_INET, address, &own.sin_addr), 1);
    vip->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    vip->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)setsockopt(vip->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    assert_int_equal(bind(vip->listener, (struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(listen(vip->listener, BACKLOG), 0);
    (void)pthread_mutex_init(&vip->mutex, NULL);
    assert_int_equal(pthread_create(&vip->thread, NULL, vip_main, vip), 0);
    return vip;
}

void lks_vip_close(struct lks_vip *vip)
{
    if (!vip) return;
    (void)pthread_mutex_lock(&vip->mutex);
    vip->is_stopping = true;
    (void)pthread_mutex_unlock(&vip->mutex);
    (void)eventfd_write(vip->wake_fd, 1);
    (void)pthread_join(vip->thread, NULL);
    while (vip->count > 0)
        end_pair_locked(vip, 0);
    (void)close(vip->listener);
    (void)close(vip->wake_fd);
    (void)pthread_mutex_destroy(&vip->mutex);
    free(vip);
}

const char *lks_vip_url(const struct lks_vip *vip)
{
    return vip->url;
}

int lks_vip_port(const struct lks_vip *vip)
{
    return vip->port;
}

void lks_vip_move(struct lks_vip *vip, int server_port)
{
    (void)pthread_mutex_lock(&vip->mutex);
    vip->server_port = server_port;
    (void)pthread_mutex_unlock(&vip->mutex);
}

void lks_vip_silence(struct lks_vip *vip)
{
    (void)pthread_mutex_lock(&vip->mutex);
    for (size_t i = 0; i < vip->count; i++)
        vip->pairs[i].is_silent = true;
    (void)pthread_mutex_unlock(&vip->mutex);
    (void)eventfd_write(vip->wake_fd, 1);
}

void lks_vip_drip(struct lks_vip *vip)
{
    (void)pthread_mutex_lock(&vip->mutex);
    vip->is_dripping = true;
    (void)pthread_mutex_unlock(&vip->mutex);
}

void lks_vip_cut_at(struct lks_vip *vip, struct lk_bytes word, bool is_passed)
{
    (void)pthread_mutex_lock(&vip->mutex);
    vip->word = word;
    vip->is_word_passed = is_passed;
    (void)pthread_mutex_unlock(&vip->mutex);
}

size_t lks_vip_taken(struct lks_vip *vip)
{
    (void)pthread_mutex_lock(&vip->mutex);
    size_t taken = vip->taken;
    (void)pthread_mutex_unlock(&vip->mutex);
    return taken;
}
