/*
 * See guests.h.
 */
#include "guests.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct guest guests[GUESTS_MAX];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void guests_lock(void)
{
    (void)pthread_mutex_lock(&mutex);
}

void guests_unlock(void)
{
    (void)pthread_mutex_unlock(&mutex);
}

int guests_fd(const struct guest *guest)
{
    return (int)(guest - guests);
}

void guests_place_locked(struct guest *guest, crowd_stage to, struct crowd_group *group)
{
    struct acceptor *self = guest->owner;

    crowd_place(&self->crowd, guest, to, group);
    atomic_store_explicit(&self->waiting, self->crowd.list[READY].count, memory_order_relaxed);
}

void guests_move_locked(struct guest *guest, crowd_stage to)
{
    guests_place_locked(guest, to, guest->group);
}

void guests_hang_up_locked(struct guest *guest)
{
    int fd = guests_fd(guest);

    guests_move_locked(guest, NOWHERE);
    (void)shutdown(fd, SHUT_WR); /* with bytes unread it would be a reset, and no answer */
    (void)recv(fd, NULL, GUESTS_HEAD_MAX, MSG_TRUNC | MSG_DONTWAIT);
    (void)close(fd); /* and it leaves the epoll set */
}

void guests_wake(const struct acceptor *self)
{
    (void)eventfd_write(self->wake_fd, 1);
}
