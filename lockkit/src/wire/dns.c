/*
 * Every name is looked up by a thread of its own, which ends when getaddrinfo() returns: with name servers
 * that do not answer that takes many seconds. So callers share a look-up of the same name, and the number of
 * threads is bounded. A look-up that has taken a second may wait for a lost packet: the next caller starts
 * another thread beside it, and the first result is for all. Callers poll a descriptor, beside others.
 *
 * A child of fork() has none of these threads: it begins with an empty list.
 *
 * Threads: any. Locks: one mutex for all look-ups and dead addresses, a leaf; nothing blocks under it.
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

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

enum { MOST = 64, FRESH_MS = 1000, DEAD_MAX = 16, DEAD_MS = 30000 };

struct answer {
    int failure; /* of getaddrinfo() */
    int sys_errno;
    unsigned count;
    char addresses[LKI_ADDRESSES_MAX][LKI_ADDRESS_SIZE];
};

struct lki_dns {
    struct lki_dns *next; /* in the list of running ones */
    unsigned users;       /* callers, and running threads */
    unsigned threads;
    int64_t asked_at; /* by the last of them */
    bool is_over;
    int over_fd; /* an eventfd */
    struct answer answer;
    char host[];
};

static struct {
    pthread_mutex_t mutex;   /* guards all below, and the look-ups */
    struct lki_dns *running; /* each is its threads' */
    unsigned count;          /* of threads */
    struct dead {
        char address[LKI_ADDRESS_SIZE];
        int port;
        int64_t until;
    } dead[DEAD_MAX]; /* the oldest makes room */
    unsigned dead_count;
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

static void end_locked(struct lki_dns *self, const struct answer *answer)
{
    struct lki_dns **at = &lookups.running;

    while (*at != self)
        at = &(*at)->next;
    *at = self->next;
    self->answer = *answer;
    self->is_over = true;
    (void)eventfd_write(self->over_fd, 1);
}

static void look_up(const char *host, struct answer *out)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;

    out->failure = getaddrinfo(host, NULL, &hints, &found);
    out->sys_errno = out->failure == EAI_SYSTEM ? errno : 0;
    if (out->failure != 0) return;
    for (const struct addrinfo *one = found; one && out->count < LKI_ADDRESSES_MAX;
         one = one->ai_next) {
        out->failure = getnameinfo(one->ai_addr, one->ai_addrlen, out->addresses[out->count],
                                   LKI_ADDRESS_SIZE, NULL, 0, NI_NUMERICHOST);
        out->count += out->failure == 0;
    }
    freeaddrinfo(found);
    if (out->count > 0) out->failure = 0;
}

static void *lookup_main(void *arg)
{
    struct lki_dns *self = arg;
    struct answer answer = {0};

    (void)pthread_detach(pthread_self());
    look_up(self->host, &answer);
    lock_all();
    lookups.count--;
    self->threads--;
    if (!self->is_over && (answer.failure == 0 || self->threads == 0)) end_locked(self, &answer);
    let_go_locked(self);
    unlock_all();
    return NULL;
}

/* ---- callers ------------------------------------------------------------------------------------- */

static bool ask_locked(struct lki_dns *lookup)
{
    pthread_t thread;

    if (!lki_thread_start(&thread, lookup_main, lookup)) return false;
    lookup->asked_at = lki_clock_now();
    lookup->users++;
    lookup->threads++;
    lookups.count++;
    return true;
}

static struct lki_dns *join_locked(const char *host)
{
    struct lki_dns *lookup = lookups.running;

    while (lookup && strcmp(lookup->host, host) != 0)
        lookup = lookup->next;
    if (!lookup) return NULL;
    lookup->users++;
    if (lookups.count < MOST / 2 && /* the others are for other names */
        lki_clock_now() - lookup->asked_at >= (int64_t)FRESH_MS * NS_PER_MS)
        (void)ask_locked(lookup);
    return lookup;
}

static struct lki_dns *start_locked(const char *host, struct lk_error *err)
{
    size_t size = strlen(host) + 1;
    struct lki_dns *self = NULL;

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
    self->users = 1;
    self->over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->over_fd < 0 || !ask_locked(self)) {
        (void)LKI_FAIL_ERRNO(err, LK_UNREACHABLE, "%s: cannot be looked up", host);
        let_go_locked(self);
        return NULL;
    }
    self->next = lookups.running;
    lookups.running = self;
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

lk_status lki_dns_end(const struct lki_dns *lookup, struct lk_error *err)
{
    lock_all();
    bool is_over = lookup->is_over;
    unlock_all();
    if (!is_over) return LK_BUSY;
    if (lookup->answer.failure == 0) return LK_OK;
    return lki_error_fill(err, LK_UNREACHABLE, lookup->answer.sys_errno, __func__, "%s: %s",
                          lookup->host, gai_strerror(lookup->answer.failure));
}

void lki_dns_free(struct lki_dns *lookup)
{
    if (!lookup) return;
    lock_all();
    let_go_locked(lookup);
    unlock_all();
}

/* ---- the order of addresses ----------------------------------------------------------------------- */

static struct dead *find_dead_locked(const char *address, int port)
{
    for (size_t i = 0; i < DEAD_MAX; i++) {
        struct dead *dead = &lookups.dead[i];

        if (dead->port == port && strcmp(dead->address, address) == 0) return dead;
    }
    return NULL;
}

unsigned lki_dns_next(const struct lki_dns *lookup, int port, unsigned *tried,
                      char out_address[LKI_ADDRESS_SIZE])
{
    const struct answer *answer = &lookup->answer;
    unsigned left = 0, next = 0;
    bool is_next_dead = true;

    lock_all();
    for (unsigned i = answer->count; i-- > 0;) {
        const struct dead *dead = find_dead_locked(answer->addresses[i], port);
        bool is_dead = dead && dead->until > lki_clock_now();

        if (*tried & 1U << i) continue;
        left++;
        if (is_dead && !is_next_dead) continue;
        next = i;
        is_next_dead = is_dead;
    }
    if (left > 0) (void)snprintf(out_address, LKI_ADDRESS_SIZE, "%s", answer->addresses[next]);
    unlock_all();
    if (left > 0) *tried |= 1U << next;
    return left;
}

void lki_dns_note(const struct lki_dns *lookup, int port, const char *address, bool is_dead)
{
    lock_all();
    struct dead *dead = find_dead_locked(address, port);
    if (!dead && is_dead && lookup->answer.count > 1) { /* else nothing is tried before it */
        dead = &lookups.dead[lookups.dead_count++ % DEAD_MAX];
        (void)snprintf(dead->address, sizeof dead->address, "%s", address);
        dead->port = port;
    }
    if (dead) dead->until = is_dead ? lki_clock_after_ms(DEAD_MS) : 0;
    unlock_all();
}
