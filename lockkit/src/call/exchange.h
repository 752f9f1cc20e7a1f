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
    const struct lki_variant *load_first[2]; /* not NULL: brought to whoever is asked, before */
    bool is_callers;                         /* a caller's own commands: they may leave traces */
    struct lk_error *out_refusal; /* why they were not taken there; else as it was. May be
                                               NULL */
};

/* Takes the reference to the node; NULL: UNREACHABLE. The topology learns from the answers. */
LK_MUST_CHECK lk_status lki_exchange_at(lk_client *client, struct lki_node *node,
                                        const struct lki_pipeline *pipeline, lk_reply **replies,
                                        struct lk_error *err);

/* "MOVED 3999 127.0.0.1:6381", of the code "MOVED ": the slot, and the address, which is the reply's. */
bool lki_exchange_redirection(const lk_reply *reply, const char *code, int *out_slot,
                              struct lk_bytes *out_address);
/* Tell the topology what an answer says of it ("MOVED ..."); whether it said anything. */
bool lki_exchange_learn(struct lki_topology *topology, const lk_reply *reply,
                        const struct lki_node *node);

/* What an error answer to a lock's or script's command means. UNREACHABLE: nothing was done, and another
   server, or this one later, may do it; else SERVER. */
lk_status lki_exchange_fail(const lk_client *client, const lk_reply *reply, struct lk_error *err);

/* UNSYNCED when it was not; text for err. */
LK_MUST_CHECK lk_status lki_exchange_check_synced(const lk_client *client, bool is_synced,
                                                  struct lk_error *err);

#endif
