/*
 * One exchange with one server.
 */
#ifndef LKI_ONE_SERVER_H
#define LKI_ONE_SERVER_H

#include "context.h"
#include "wire/node.h"

/* Commands of one round trip. */
struct lki_pipeline {
    const struct lk_command *commands;
    size_t count;
    int64_t deadline;
    bool
        *out_is_synced; /* not NULL: WAIT for the client's sync_replicas behind them; false: too few
                            (it stays as it is for a client without) */
    const struct lki_variant *introduce[2]; /* not NULL: brought to whoever is asked, before */
    bool is_callers;                        /* a caller's own commands: they may leave traces */
    struct lk_error *out_refusal;           /* why they were not taken there; else as it was. May be
                                               NULL */
};

LK_MUST_CHECK lk_status lki_one_server_exchange(lk_client *client, struct lki_node *node,
                                                const struct lki_pipeline *pipeline,
                                                lk_reply **replies, struct lk_error *err);

#endif
