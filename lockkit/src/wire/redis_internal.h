/*
 * Internals of a connection, for redis.c and redis_open.c alone.
 */
#ifndef LKI_REDIS_INTERNAL_H
#define LKI_REDIS_INTERNAL_H

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
    struct lki_dns *lookup; /* owned; of the host name, until one of its addresses connects */
    unsigned tried;         /* number of addresses that were tried: for lki_dns_next() */
    int64_t open_by;        /* the deadline of all attempts */
    int turn_fd,
        timer_fd;  /* of one attempt: an epoll of socket and timer; -1: it is the last one */
    bool is_hasty; /* its time is too short to call the address dead */
    struct redisContext *context; /* owned */
    struct lki_tls_conn *tls;     /* owned; NULL: plain, or not connected yet */
    void *functions;              /* owned; hiredis' callbacks that make replies */
    char *chunk; /* owned, LKI_READ_CHUNK bytes: not on the stacks of thousands of threads */
    bool is_broken;
    bool is_unadmitted;
    bool is_connected;    /* only answers to log-ins are outstanding */
    unsigned logins_left; /* their number */
    struct lki_identity identity;
    struct lki_traces traces;
    struct lki_spin spin;
    uint64_t sent;      /* number of commands */
    uint64_t received;  /* number of answers */
    struct load *loads; /* owned; not answered yet, the oldest first */
    size_t load_count;
    struct lk_error refusal; /* the first one of the last loads */
    char label[128];
    char address[LKI_ADDRESS_SIZE];
};

/* Mark it as broken, with errno as the reason. Returns status. */
lk_status lki_redis_broken(struct lki_redis *redis, lk_status status, struct lk_error *err);
/* Close the socket; end the attempt at one address. */
void lki_redis_drop_socket(struct lki_redis *redis);
void lki_redis_end_turn(struct lki_redis *redis);
/* The length of an error text that may be shown: a server without AUTH repeats the password behind it. */
int lki_redis_safe_len(const lk_reply *reply);

#endif
