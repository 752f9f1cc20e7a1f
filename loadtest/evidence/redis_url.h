/*
 * Where Redis is: a URL taken apart. Pure; ledger.c goes there.
 *
 * Shape    redis://[USER[:PASS]@]HOST[:6379][/DB]                         one server
 *          unix:///PATH                                                   one server
 *          redis+sentinel://[USER[:PASS]@]HOST[:26379],HOST,.../NAME[/DB] the primary they name
 *          redis+cluster://[USER[:PASS]@]HOST[:6379],HOST,...             some nodes of a cluster
 *          USER may be empty before ":PASS": the password of the default user. With "rediss" for "redis"
 *          everything goes over TLS, to Sentinels too.
 */
#ifndef LOADTEST_REDIS_URL_H
#define LOADTEST_REDIS_URL_H

#include <stddef.h>

#include "base/failure.h"

enum { REDIS_NODES_MAX = 16, REDIS_HOST_MAX = 256, REDIS_USER_MAX = 128, REDIS_NAME_MAX = 64 };

typedef enum redis_topology { REDIS_ONE, REDIS_SENTINEL, REDIS_CLUSTER } redis_topology;

struct redis_address {
    char host[REDIS_HOST_MAX]; /* host name, or path of the socket */
    int port;                  /* 0: unix socket */
};

struct redis_url {
    redis_topology topology;
    bool is_tls;
    struct redis_address nodes[REDIS_NODES_MAX]; /* the server; Sentinels; nodes of the cluster */
    int count;                                   /* of these, 1 at least */
    char user[REDIS_USER_MAX], pass[REDIS_HOST_MAX];
    char name[REDIS_NAME_MAX]; /* as Sentinel knows the primary; else "" */
    int db;
};

/* false: `failure` says what the URL should look like. */
bool redis_url_read(const char *url, struct redis_url *out_url, struct failure *failure);

/* "HOST:PORT", as a cluster redirects; false when it is none. */
bool redis_url_read_address(const char *text, struct redis_address *out_address);

/* The URL for people to read: USER[:PASS]@ is left out. */
void redis_url_show(const char *url, char *out, size_t size);

#endif
