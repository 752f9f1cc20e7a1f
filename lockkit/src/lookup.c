/*
 * Every name is looked up on a thread of its own, which ends when getaddrinfo() does, within seconds,
 * whether somebody still wants to know or not; so there are some at most. Who began it waits for a
 * descriptor, together with all else that he waits for. First IPv4, as hiredis does it.
 *
 * Threads: one begins, asks and frees; the other looks up. The last of the two frees the memory.
 */
#include "lookup.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "error.h"
#include "thread.h"

enum { MOST = 64 };

struct lki_lookup {
    atomic_int users; /* who began it, and its thread */
    atomic_bool is_over;
    int over_fd; /* an eventfd */
    int failure; /* of getaddrinfo() */
    int sys_errno;
    char address[LKI_ADDRESS_SIZE];
    char host[];
};

static atomic_int running;

bool lki_lookup_is_needed(const char *host)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;

    if (getaddrinfo(host, NULL, &hints, &found) != 0) return true;
    freeaddrinfo(found);
    return false;
}

void lki_lookup_free(struct lki_lookup *lookup)
{
    if (!lookup || atomic_fetch_sub(&lookup->users, 1) > 1) return;
    if (lookup->over_fd >= 0) (void)close(lookup->over_fd);
    free(lookup);
}

/* ---- its thread ---------------------------------------------------------------------------------- */

static int look_up(struct lki_lookup *self, int family)
{
    const struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int failure = getaddrinfo(self->host, NULL, &hints, &found);

    self->sys_errno = failure == EAI_SYSTEM ? errno : 0;
    if (failure != 0) return failure;
    failure = getnameinfo(found->ai_addr, found->ai_addrlen, self->address, sizeof self->address,
                          NULL, 0, NI_NUMERICHOST);
    freeaddrinfo(found);
    return failure;
}

static void *lookup_main(void *arg)
{
    struct lki_lookup *self = arg;

    (void)pthread_detach(pthread_self());
    self->failure = look_up(self, AF_INET);
    if (self->failure != 0) self->failure = look_up(self, AF_INET6);
    atomic_store(&self->is_over, true);
    (void)eventfd_write(self->over_fd, 1);
    (void)atomic_fetch_sub(&running, 1);
    lki_lookup_free(self);
    return NULL;
}

/* ---- who began it -------------------------------------------------------------------------------- */

struct lki_lookup *lki_lookup_begin(const char *host, struct lk_error *err)
{
    size_t size = strlen(host) + 1;
    pthread_t thread;
    struct lki_lookup *self = NULL;

    if (atomic_fetch_add(&running, 1) >= MOST) {
        (void)LKI_FAIL(err, LK_UNREACHABLE, "%s: %d names are being looked up, without answer",
                       host, MOST);
        goto fail;
    }
    self = calloc(1, sizeof *self + size);
    if (!self) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "%s", host);
        goto fail;
    }
    memcpy(self->host, host, size);
    self->over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_store(&self->users, 2);
    if (self->over_fd >= 0 && lki_thread_start(&thread, lookup_main, self)) return self;
    atomic_store(&self->users, 1);
    (void)LKI_FAIL_ERRNO(err, LK_UNREACHABLE, "%s: cannot be looked up", host);
    lki_lookup_free(self);

fail:
    (void)atomic_fetch_sub(&running, 1);
    return NULL;
}

int lki_lookup_fd(const struct lki_lookup *lookup)
{
    return lookup->over_fd;
}

lk_status lki_lookup_end(const struct lki_lookup *lookup, char out_address[LKI_ADDRESS_SIZE],
                         struct lk_error *err)
{
    if (!atomic_load(&lookup->is_over)) return LK_BUSY;
    if (lookup->failure != 0) {
        return lki_fail(err, LK_UNREACHABLE, lookup->sys_errno, __func__, "%s: %s", lookup->host,
                        gai_strerror(lookup->failure));
    }
    (void)snprintf(out_address, LKI_ADDRESS_SIZE, "%s", lookup->address);
    return LK_OK;
}
