/*
 * What is under test: the instances of the service and their Redis, where they are and how to get in.
 * service.c fills it in.
 */
#ifndef LOADTEST_UNDER_TEST_H
#define LOADTEST_UNDER_TEST_H

#include "base/own_server.h"
#include "base/programs.h"
#include "common/secret.h"
#include "evidence/ledger.h"
#include "evidence/tokens.h"

enum { INSTANCES_MAX = 8, URL_MAX = 256 };

struct instance {
    char name[24];
    char url[URL_MAX]; /* of the buyers' port */
    struct process process;
    long memory_kib; /* most it had resident; -1: not ours, or gone */
    bool is_away;    /* we have killed it, and will start it again */
};

struct service {
    bool is_ours;
    bool has_redis; /* of our own */
    struct process redis;
    struct own_server own[OWN_KINDS]; /* those that its guards need */
    struct process proxy;             /* between the instances and it, or not started; a link for */
    int proxy_ports[INSTANCES_MAX];   /* each instance */
    char proxy_control[RUN_PATH_MAX]; /* its socket */
    char redis_url[RUN_PATH_MAX];
    char redis_password[SECRET_SIZE]; /* of its user; "": the URL has it, or there is none */
    char sentinel_password[SECRET_SIZE];
    struct lk_tls_options tls;
    char redis_version[LEDGER_VERSION_MAX];
    char version[64];    /* of the service, as /version says, like the next */
    char durability[32]; /* of what Redis accepts */
    char socket_dir[32]; /* made by us for the socket, because the run's path is too long; or "" */
    struct instance instances[INSTANCES_MAX];
    int count;
    int started; /* instances so far, so that each has a name and a log of its own */
    char admin_url[URL_MAX];
    char token[SECRET_SIZE];
    struct http_client *http; /* owned */
    struct tokens *tokens;    /* owned: of buyers; NULL: they are known by X-User-Id */
    long window_ms;           /* to pay for an order; 0: sales are not paid for later */
    long segments;            /* of each sale that is put up; 0: it is in one piece */
    char pay_key[RUN_PATH_MAX + 64], pay_listen[32]; /* then: file; where the provider will be */
};

#endif
