/*
 * See torture_links.h. A joint is one connection of a worker and its counterpart to the server. What
 * a link holds back stays in the sockets' own buffers; a side that has nothing to do is taken out of
 * the epoll set, as a hang-up would be told of it for ever.
 */
#include "torture_links.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "test/support/lk_net.h"

enum { JOINTS_MAX = 1024, BUFFER = 8192, EVENTS = 64, BACKLOG = 128, PATH_MAX_BYTES = 108 };
enum { WORKER, SERVER, SIDES };

static const size_t first_listener = (size_t)SIDES * JOINTS_MAX; /* numbers below are sides */

struct side {
    int fd;
    uint32_t watched;  /* what epoll waits for; 0: it is not in the set */
    bool has_ended;    /* nothing more comes from it... */
    bool is_told;      /* ...and the other side was told so */
    char data[BUFFER]; /* what came from it and was not yet passed on */
    size_t begin, end;
};

struct joint {
    struct side sides[SIDES];
    size_t link;
    bool is_over;
};

struct torture_links {
    int epoll_fd;
    char *server; /* owned */
    size_t count;
    int *listeners;                   /* owned */
    enum torture_link_state *states;  /* owned */
    struct joint *joints[JOINTS_MAX]; /* owned; NULL: free */
};

/* ---- what is waited for ------------------------------------------------------------------------- */

static void watch(struct torture_links *links, size_t slot, int which)
{
    const struct joint *joint = links->joints[slot];
    struct side *side = &links->joints[slot]->sides[which];
    const struct side *other = &joint->sides[1 - which];
    struct epoll_event event = {.data.u64 = 2 * slot + (size_t)which};

    if (links->states[joint->link] != LINK_HELD && !joint->is_over) {
        if (side->begin == side->end && !side->has_ended) event.events |= EPOLLIN;
        if (other->begin < other->end) event.events |= EPOLLOUT;
    }
    if (event.events == side->watched) return;
    int step = side->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    (void)epoll_ctl(links->epoll_fd, event.events ? step : EPOLL_CTL_DEL, side->fd, &event);
    side->watched = event.events;
}

static void watch_both(struct torture_links *links, size_t slot)
{
    watch(links, slot, WORKER);
    watch(links, slot, SERVER);
}

/* ---- bytes ---------------------------------------------------------------------------------------- */

/* Give the other side what came from this one. What a worker does not want any more is dropped. */
static void pass_on(struct joint *joint, int which)
{
    struct side *side = &joint->sides[which];
    int to = joint->sides[1 - which].fd;

    while (side->begin < side->end) {
        ssize_t done = send(to, side->data + side->begin, side->end - side->begin,
                            MSG_NOSIGNAL | MSG_DONTWAIT);

        if (done < 0 && errno == EAGAIN) return;
        if (done < 0 && which == WORKER) joint->is_over = true; /* the server is gone */
        side->begin = done < 0 ? side->end : side->begin + (size_t)done;
    }
    if (side->has_ended && !side->is_told) {
        side->is_told = true;
        (void)shutdown(to, SHUT_WR);
    }
}

static void take_in(const struct torture_links *links, struct joint *joint, int which)
{
    struct side *side = &joint->sides[which];

    if (side->begin < side->end || side->has_ended) return;
    ssize_t got = recv(side->fd, side->data, sizeof side->data, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    bool is_lost = which == SERVER && links->states[joint->link] == LINK_DEAF;
    side->begin = 0;
    side->end = got > 0 && !is_lost ? (size_t)got : 0;
    side->has_ended = got <= 0;
}

static void serve(struct torture_links *links, size_t slot, int which)
{
    struct joint *joint = links->joints[slot];

    if (!joint || joint->is_over || links->states[joint->link] == LINK_HELD) return;
    take_in(links, joint, which);
    pass_on(joint, which);
    pass_on(joint, 1 - which); /* there may be room now */
    if (joint->sides[SERVER].has_ended && joint->sides[SERVER].begin == joint->sides[SERVER].end)
        joint->is_over = true;
    watch_both(links, slot);
}

/* ---- connections ------------------------------------------------------------------------------------ */

static void end_joint(struct torture_links *links, size_t slot)
{
    for (int which = 0; which < SIDES; which++)
        (void)close(links->joints[slot]->sides[which].fd); /* leaves the epoll set, too */
    free(links->joints[slot]);
    links->joints[slot] = NULL;
}

static void end_those_that_are_over(struct torture_links *links)
{
    for (size_t slot = 0; slot < JOINTS_MAX; slot++) {
        if (links->joints[slot] && links->joints[slot]->is_over) end_joint(links, slot);
    }
}

static size_t free_slot(const struct torture_links *links)
{
    size_t slot = 0;

    while (slot < JOINTS_MAX && links->joints[slot])
        slot++;
    return slot;
}

/* A worker has come. */
static void join(struct torture_links *links, size_t link)
{
    int worker = accept4(links->listeners[link], NULL, NULL, SOCK_CLOEXEC);
    size_t slot = free_slot(links);
    bool is_wanted = worker >= 0 && links->states[link] != LINK_CLOSED && slot < JOINTS_MAX;
    int server = is_wanted ? lk_net_connect(links->server) : -1;
    struct joint *joint = server >= 0 ? calloc(1, sizeof *joint) : NULL;

    if (!joint) {
        if (worker >= 0) (void)close(worker);
        if (server >= 0) (void)close(server);
        return;
    }
    joint->link = link;
    joint->sides[WORKER].fd = worker;
    joint->sides[SERVER].fd = server;
    links->joints[slot] = joint;
    watch_both(links, slot);
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

static bool add_listener(struct torture_links *links, const char *dir, size_t link)
{
    char path[PATH_MAX_BYTES];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = first_listener + link};

    (void)snprintf(path, sizeof path, "%s/%zu", dir, link);
    links->listeners[link] = listen_at(path);
    return links->listeners[link] >= 0 &&
           epoll_ctl(links->epoll_fd, EPOLL_CTL_ADD, links->listeners[link], &event) == 0;
}

struct torture_links *torture_links_open(const char *dir, const char *server, size_t count)
{
    struct torture_links *links = calloc(1, sizeof *links);

    if (!links) return NULL;
    links->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    links->listeners = calloc(count, sizeof *links->listeners);
    links->states = calloc(count, sizeof *links->states);
    links->server = strdup(server);
    if (links->epoll_fd < 0 || !links->listeners || !links->states || !links->server) goto fail;
    for (; links->count < count; links->count++) {
        if (!add_listener(links, dir, links->count)) goto fail;
    }
    return links;

fail:
    torture_links_close(links);
    return NULL;
}

void torture_links_close(struct torture_links *links)
{
    if (!links) return;
    for (size_t slot = 0; slot < JOINTS_MAX; slot++) {
        if (links->joints[slot]) end_joint(links, slot);
    }
    for (size_t i = 0; i < links->count; i++)
        (void)close(links->listeners[i]);
    if (links->epoll_fd >= 0) (void)close(links->epoll_fd);
    free(links->listeners);
    free(links->states);
    free(links->server);
    free(links);
}

void torture_links_set(struct torture_links *links, size_t link, enum torture_link_state state)
{
    bool is_cut = state == LINK_CLOSED || links->states[link] == LINK_DEAF;

    links->states[link] = state;
    for (size_t slot = 0; slot < JOINTS_MAX; slot++) {
        struct joint *joint = links->joints[slot];

        if (!joint || joint->link != link) continue;
        if (is_cut) joint->is_over = true;
        watch_both(links, slot);
    }
    end_those_that_are_over(links);
}

void torture_links_step(struct torture_links *links, int wait_ms)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(links->epoll_fd, events, EVENTS, wait_ms);

    for (int i = 0; i < count; i++) {
        size_t number = (size_t)events[i].data.u64;

        if (number >= first_listener) {
            join(links, number - first_listener);
        } else {
            serve(links, number / SIDES, (int)(number % SIDES));
        }
    }
    if (count > 0) end_those_that_are_over(links);
}
