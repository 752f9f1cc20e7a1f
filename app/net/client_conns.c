/*
 * See client_conns.h.
 */
#include "client_conns.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct client_conn client_conns[CLIENT_CONNS_MAX];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void client_conns_lock(void)
{
    (void)pthread_mutex_lock(&mutex);
}

void client_conns_unlock(void)
{
    (void)pthread_mutex_unlock(&mutex);
}

int client_conns_fd(const struct client_conn *conn)
{
    return (int)(conn - client_conns);
}

void client_conns_place_locked(struct client_conn *conn, conn_stage to,
                               struct conn_scheduler_group *group)
{
    struct acceptor *self = conn->owner;

    conn_scheduler_move(&self->scheduler, conn, to, group);
    atomic_store_explicit(&self->waiting, self->scheduler.list[CONN_READY].count,
                          memory_order_relaxed);
}

void client_conns_move_locked(struct client_conn *conn, conn_stage to)
{
    client_conns_place_locked(conn, to, conn->group);
}

void client_conns_close_locked(struct client_conn *conn)
{
    int fd = client_conns_fd(conn);

    client_conns_move_locked(conn, CONN_NONE);
    (void)shutdown(fd, SHUT_WR); /* with bytes unread it would be a reset, and no answer */
    (void)recv(fd, NULL, CLIENT_CONNS_HEAD_MAX, MSG_TRUNC | MSG_DONTWAIT);
    (void)close(fd); /* and it leaves the epoll set */
}

void client_conns_wake(const struct acceptor *self)
{
    (void)eventfd_write(self->wake_fd, 1);
}
