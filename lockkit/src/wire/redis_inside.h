/*
 * What a connection is made of: for redis.c and redis_open.c, and nobody else.
 */
#ifndef LKI_REDIS_INSIDE_H
#define LKI_REDIS_INSIDE_H

#include "dns.h"
#include "redis.h"
#include "spin.h"

enum {
    LKI_READ_CHUNK = 16384,
    LKI_SLICE_MS = 50, /* SO_RCVTIMEO of every connection */
};

struct redisContext;
struct lki_tls_conn;
struct load;

struct lki_redis {
    struct lki_dns *lookup; /* owned; of the host's name, until one of its addresses connects */
    unsigned tried;         /* addresses, as lki_dns_next() has them */
    int64_t open_by;        /* ...in turn, all before this moment */
    int turn_fd, timer_fd;  /* an epoll of the socket and of its time; -1: no other is left */
    bool is_hasty;          /* that time is too short to call an address dead */
    struct redisContext *context; /* owned */
    struct lki_tls_conn *tls;     /* owned; NULL: plain, or not connected yet */
    void *functions;              /* owned; hiredis makes replies by them */
    char *chunk; /* owned, LKI_READ_CHUNK bytes: not on the stacks of thousands of threads */
    bool is_broken;
    bool is_unadmitted;
    bool is_connected;    /* past that, only log-ins are still to be answered */
    unsigned logins_left; /* not answered yet */
    struct lki_identity identity;
    struct lki_traces traces;
    struct lki_spin spin;
    uint64_t sent;      /* commands so far */
    uint64_t received;  /* answers so far */
    struct load *loads; /* owned; first first; not answered yet */
    size_t load_count;
    struct lk_error refusal; /* of the last ones under way, the first */
    char label[128];
    char address[LKI_ADDRESS_SIZE];
};

/* It is of no use any more, because of errno. Returns status. */
lk_status lki_redis_broken(struct lki_redis *redis, lk_status status, struct lk_error *err);
/* What it connects, or has connected, by; and the time of that attempt. */
void lki_redis_drop_socket(struct lki_redis *redis);
void lki_redis_end_turn(struct lki_redis *redis);
/* How much of a refused log-in may be told: a server that knows no AUTH repeats its words behind that. */
int lki_redis_safe_len(const lk_reply *reply);

#endif
