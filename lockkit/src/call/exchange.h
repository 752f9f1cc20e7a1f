/*
 * One exchange with one server.
 */
#ifndef LKI_EXCHANGE_H
#define LKI_EXCHANGE_H

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
    const struct lki_variant *load_first[2]; /* scripts to be loaded first; NULL: none */
    bool is_callers;                         /* a user's commands: they may change the connection */
    struct lk_error *out_refusal; /* why they were not taken there; else as it was. May be
                                               NULL */
};

/* Takes the reference to the node; NULL: UNREACHABLE. The topology learns from the answers. */
LK_MUST_CHECK lk_status lki_exchange_at(lk_client *client, struct lki_node *node,
                                        const struct lki_pipeline *pipeline, lk_reply **replies,
                                        struct lk_error *err);

/* Parse "MOVED 3999 127.0.0.1:6381", with the code "MOVED ": the slot, and the address, which the reply owns. */
bool lki_exchange_redirection(const lk_reply *reply, const char *code, int *out_slot,
                              struct lk_bytes *out_address);
/* Pass what an answer says about servers ("MOVED ...", READONLY) on to the topology; false: nothing. */
bool lki_exchange_learn(struct lki_topology *topology, const lk_reply *reply,
                        const struct lki_node *node);

/* The status of an error answer to a command or script. UNREACHABLE: nothing was done, and another server, or this
   one later, may do it; else SERVER. */
lk_status lki_exchange_fail(const lk_client *client, const lk_reply *reply, struct lk_error *err);

/* OK, or UNSYNCED with *err. */
LK_MUST_CHECK lk_status lki_exchange_check_synced(const lk_client *client, bool is_synced,
                                                  struct lk_error *err);

#endif
