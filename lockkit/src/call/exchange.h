/*
 * Round trips of a client.
 */
#ifndef LKI_EXCHANGE_H
#define LKI_EXCHANGE_H

#include "one_server.h"

/* To whom its keys are, and in a cluster perhaps to several. */
LK_MUST_CHECK lk_status lki_exchange_send(lk_client *client, const struct lki_pipeline *pipeline,
                                          lk_reply **replies, struct lk_error *err);

/* What an error answer to a lock's or script's command means. UNREACHABLE: nothing was done, and another
   server, or this one later, may do it; else SERVER. */
lk_status lki_exchange_fail(const lk_client *client, const lk_reply *reply, struct lk_error *err);

/* UNSYNCED when it was not; text for err. */
LK_MUST_CHECK lk_status lki_exchange_check_synced(const lk_client *client, bool is_synced,
                                                  struct lk_error *err);

#endif
