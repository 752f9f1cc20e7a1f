/*
 * Which line asks for the keys of a slot. The watchdog's thread only.
 */
#ifndef LKI_WATCHDOG_ROUTES_H
#define LKI_WATCHDOG_ROUTES_H

#include "watchdog_line.h"

struct lki_watch_routes {
    lk_client *client;             /* borrowed */
    struct lki_topology *topology; /* borrowed */
    int64_t connect_ms;
    bool is_cluster;
    struct lki_line **by_slot; /* owned array, one entry where there are no slots;
                                NULL: not known */
    size_t slot_count;
    struct lki_line *lines; /* owned list */
    size_t line_count;
    struct pollfd *fds; /* owned: room for what to poll() for, one per line and one more */
};

LK_MUST_CHECK lk_status lki_watch_routes_init(struct lki_watch_routes *routes,
                                              struct lk_error *err);
void lki_watch_routes_done(struct lki_watch_routes *routes);

/* The place of a key in by_slot. Any thread. */
int lki_watch_routes_slot_of(const struct lki_watch_routes *routes, const char *key);
/* What is known without asking; NULL: nothing. */
struct lki_line *lki_watch_routes_known(const struct lki_watch_routes *routes, int slot);
/* By what the topology says now. NULL: nobody has it, or no memory. No mutex held. */
struct lki_line *lki_watch_routes_find(struct lki_watch_routes *routes, int slot);
/* Take over what an answer says of the servers; the line that it names for one question (ASK), or
   NULL. No mutex held. */
struct lki_line *lki_watch_routes_learn(struct lki_watch_routes *routes, int slot,
                                        const lk_reply *reply, const struct lki_line *from);
/* Until a line under way can go on, the eventfd wakes us, or the moment comes.
 */
void lki_watch_routes_wait(const struct lki_watch_routes *routes, int wake_fd, int64_t until);

/* The servers have changed: forget what does not hold any more, and mark the lines that are gone.
   Without slots everything is forgotten. No mutex held. */
void lki_watch_routes_look_again(struct lki_watch_routes *routes);
/* Take one of the lines that are gone out of the list; NULL: there is none. It is yours. */
struct lki_line *lki_watch_routes_take_gone(struct lki_watch_routes *routes);

#endif
