/*
 * Several servers that act as one, for the integration tests: a primary with replicas and Sentinels,
 * or a cluster. `lockkit/tools/redis_set` starts them and obeys; here is the other end of its pipe. For the main
 * thread; fails the running test when the world does not play along.
 */
#ifndef LK_TOPOLOGY_H
#define LK_TOPOLOGY_H

#include "lk_support.h"

enum { LKT_SERVERS_MAX = 16 };

struct lkt_options {
    bool is_cluster;      /* else Sentinel... */
    bool is_plain;        /* ...or one server, n1 */
    const char *masters;  /* of a cluster ["3"] */
    const char *replicas; /* of each master ["1"] */
    const char
        *tls; /* a folder of lockkit/tools/certificates: all speak TLS alone. LKS_ASK() does not */
    const char *password;          /* of the servers, and of their user app... */
    const char *sentinel_password; /* ...and of the Sentinels' user guard */
    const char *setting; /* one more line for each redis.conf: "min-replicas-to-write 1" */
};

struct lkt {
    pid_t pid;      /* of lockkit/tools/redis_set */
    int to_fd;      /* its stdin: when it closes, all ends */
    int from_fd;    /* its stdout */
    char url[256];  /* for lk_client_open() */
    char line[512]; /* its last one */
    char *names[LKT_SERVERS_MAX];
    struct lks_server *servers[LKT_SERVERS_MAX]; /* for LKS_ASK() only */
    size_t count;
};

/* NULL: a primary n1 with replicas n2, n3 and the Sentinels s1, s2, s3. A cluster: the masters n1, n2,
   n3 and their replicas n4, n5, n6. They die with this process. */
struct lkt *lkt_start(const struct lkt_options *options);
/* For a test that ends no server, and not over TLS: one that stands for a second is not taken for dead, with
   the whole machine or alone. */
void lkt_be_patient(struct lkt *topology);
/* NULL is fine. */
void lkt_stop(struct lkt *topology);

/* A command of lockkit/tools/redis_set (its head lists them): what stands behind the "ok", "n2" say. Fails the
   test at an "error". Borrowed until the next one. */
const char *lkt_tell(struct lkt *topology, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One of them, for LKS_ASK() and the like; whatever it is by now, primary or replica. */
struct lks_server *lkt_server(struct lkt *topology, const char *name);

/* A client of the whole; fails the test when it cannot be had. options.url stands in for the URL. */
lk_client *lkt_client_with(const struct lkt *topology, struct lk_client_options options);

#endif
