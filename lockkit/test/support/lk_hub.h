/*
 * A wait hub with its thread and three waiters, on the made-up servers of lk_pubsub.h, and a clock that
 * can be put forward. A test that uses this has in its head comment, besides the lines of lk_pubsub.h:
 * link: -Wl,--wrap=lki_clock_now -Wl,--wrap=lki_clock_after_ms
 * link: -Wl,--wrap=lki_clock_left_ms -Wl,--wrap=lki_clock_wait
 */
#ifndef LK_HUB_H
#define LK_HUB_H

#include "wait/hub.h"

/* For the setup and the teardown of a test; not 0: failed. Starts and stops the servers as well. */
int lks_hub_start(bool is_sharded);
int lks_hub_stop(void);
struct lki_hub *lks_hub(void);

/* Time passes for the hub; what was silent meanwhile is looked at. */
void lks_hub_put_clock_forward(int64_t ms);

/* The n-th waiter joins; without a limit: and its subscription is confirmed. */
void lks_hub_join_within(size_t waiter, const char *channel, int64_t limit_ms);
void lks_hub_join(size_t waiter, const char *channel);
void lks_hub_leave(size_t waiter);
lk_status lks_hub_wait_long(size_t waiter);
/* Whether it is asleep: BUSY when it is not woken now. */
lk_status lks_hub_look(size_t waiter);

/* The hub has worked off everything that this server had said before, and what it was told by us. Waiter
   2 is on a channel that is there. */
void lks_hub_settle(int server, const char *channel);

#endif
