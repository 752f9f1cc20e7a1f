/*
 * Every name is looked up on a thread of its own, which ends when getaddrinfo() does: with servers that
 * do not answer that is many seconds, whether somebody still wants to know or not. So who asks for a
 * name that is being looked up shares that look-up, and there are so many names at most. Whoever waits
 * polls a descriptor, which nobody reads, beside all else that he waits for. First IPv4, as hiredis does.
 *
 * A child of fork() has none of these threads: it begins with an empty list.
 *
 * Threads: any. Locks: one mutex for all look-ups, a leaf; nothing waits under it.
 */
#include "dns.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"

enum { MOST = 64 };

struct lki_dns {
    struct lki_dns *next; /* of those that are running */
    unsigned users;       /* who wants to know, and its thread until it is over */
    bool is_over;
    int over_fd; /* an eventfd */
    int failure; /* of getaddrinfo() */
    int sys_errno;
    char address[LKI_ADDRESS_SIZE];
    char host[];
};

static struct {
    pthread_mutex_t mutex;   /* guards all below, and the look-ups */
    struct lki_dns *running; /* each is its thread's */
    unsigned count;
} lookups = {.mutex = PTHREAD_MUTEX_INITIALIZER};

bool lki_dns_is_needed(const char *host)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;

    if (getaddrinfo(host, NULL, &hints, &found) != 0) return true;
    freeaddrinfo(found);
    return false;
}

/* ---- fork ---------------------------------------------------------------------------------------- */

static void lock_all(void)
{
    (void)pthread_mutex_lock(&lookups.mutex);
}

static void unlock_all(void)
{
    (void)pthread_mutex_unlock(&lookups.mutex);
}

static void forget_all(void)
{
    lookups.running = NULL;
    lookups.count = 0;
    unlock_all();
}

static void watch_forks(void)
{
    (void)pthread_atfork(lock_all, unlock_all, forget_all);
}

/* ---- its thread ---------------------------------------------------------------------------------- */

static void let_go_locked(struct lki_dns *lookup)
{
    if (--lookup->users > 0) return;
    if (lookup->over_fd >= 0) (void)close(lookup->over_fd);
    free(lookup);
}

static void end_locked(struct lki_dns *self)
{
    struct lki_dns **at = &lookups.running;

    while (*at != self)
        at = &(*at)->next;
    *at = self->next;
    lookups.count--;
    self->is_over = true;
    (void)eventfd_write(self->over_fd, 1);
    let_go_locked(self);
}

static int look_up(struct lki_dns *self, int family)
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
    struct lki_dns *self = arg;

    (void)pthread_detach(pthread_self());
    self->failure = look_up(self, AF_INET); /* nobody looks before it is over */
    if (self->failure != 0) self->failure = look_up(self, AF_INET6);
    lock_all();
    end_locked(self);
    unlock_all();
    return NULL;
}

/* ---- who wants to know --------------------------------------------------------------------------- */

static struct lki_dns *join_locked(const char *host)
{
    struct lki_dns *lookup = lookups.running;

    while (lookup && strcmp(lookup->host, host) != 0)
        lookup = lookup->next;
    if (lookup) lookup->users++;
    return lookup;
}

static struct lki_dns *start_locked(const char *host, struct lk_error *err)
{
    size_t size = strlen(host) + 1;
    struct lki_dns *self = NULL;
    pthread_t thread;

    if (lookups.count >= MOST) {
        (void)LKI_FAIL(err, LK_UNREACHABLE, "%s: %d names are being looked up, without answer",
                       host, MOST);
        return NULL;
    }
    self = calloc(1, sizeof *self + size);
    if (!self) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "%s", host);
        return NULL;
    }
    memcpy(self->host, host, size);
    self->users = 2;
    self->over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->over_fd < 0 || !lki_thread_start(&thread, lookup_main, self)) {
        (void)LKI_FAIL_ERRNO(err, LK_UNREACHABLE, "%s: cannot be looked up", host);
        self->users = 1;
        let_go_locked(self);
        return NULL;
    }
    self->next = lookups.running;
    lookups.running = self;
    lookups.count++;
    return self;
}

struct lki_dns *lki_dns_begin(const char *host, struct lk_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, watch_forks);
    lock_all();
    struct lki_dns *lookup = join_locked(host);
    if (!lookup) lookup = start_locked(host, err);
    unlock_all();
    return lookup;
}

int lki_dns_fd(const struct lki_dns *lookup)
{
    return lookup->over_fd;
}

lk_status lki_dns_end(const struct lki_dns *lookup, char out_address[LKI_ADDRESS_SIZE],
                      struct lk_error *err)
{
    lock_all();
    bool is_over = lookup->is_over;
    unlock_all();
    if (!is_over) return LK_BUSY;
    if (lookup->failure != 0) {
        return lki_error_fill(err, LK_UNREACHABLE, lookup->sys_errno, __func__, "%s: %s",
                              lookup->host, gai_strerror(lookup->failure));
    }
    (void)snprintf(out_address, LKI_ADDRESS_SIZE, "%s", lookup->address);
    return LK_OK;
}

void lki_dns_free(struct lki_dns *lookup)
{
    if (!lookup) return;
    lock_all();
    let_go_locked(lookup);
    unlock_all();
}
