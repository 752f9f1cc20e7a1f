/*
 * The watchdog's connections, by the slots of their servers. The watchdog's thread only.
 */
#ifndef LKI_RENEWAL_CONNS_H
#define LKI_RENEWAL_CONNS_H

#include "renewal_conn.h"

struct lki_renewal_conns {
    lk_client *client; /* borrowed */
    bool is_cluster;
    struct lki_renewal_conn *
        *by_slot; /* owned array; one entry without a cluster. NULL: not known */
    size_t slot_count;
    struct lki_renewal_conn *first; /* owned list */
    size_t conn_count;
    struct pollfd *fds; /* owned: one per connection and two more */
    int timer_fd;
};

LK_MUST_CHECK lk_status lki_renewal_conns_init(struct lki_renewal_conns *conns,
                                               struct lk_error *err);
void lki_renewal_conns_done(struct lki_renewal_conns *conns);

/* The index of a key in by_slot. Any thread. */
int lki_renewal_conns_slot_of(const struct lki_renewal_conns *conns, const char *key);
/* The node that has the key according to the topology: a reference. Any thread. */
struct lki_node *lki_renewal_conns_node_of(const struct lki_renewal_conns *conns, const char *key,
                                           struct lk_error *err);
/* The connection in by_slot; NULL: not known. */
struct lki_renewal_conn *lki_renewal_conns_known(const struct lki_renewal_conns *conns, int slot);
/* The connection to the node that has the slot according to the topology, made if need be. NULL: no node has
   it, or no memory. No mutex held. */
struct lki_renewal_conn *lki_renewal_conns_find(struct lki_renewal_conns *conns, int slot);
/* Pass an error answer (MOVED, READONLY, ...) on to the topology. Returns the connection to the server that an
   ASK names, else NULL. No mutex held. */
struct lki_renewal_conn *lki_renewal_conns_learn(struct lki_renewal_conns *conns, int slot,
                                                 const lk_reply *reply,
                                                 const struct lki_renewal_conn *from);
/* Poll until a connection under way can continue, wake_fd is readable, or that moment. */
void lki_renewal_conns_wait(const struct lki_renewal_conns *conns, int wake_fd, int64_t until);

/* The topology has changed: drop the entries of by_slot that are wrong now (without slots: all), and mark
   connections to servers that are gone. No mutex held. */
void lki_renewal_conns_recheck(struct lki_renewal_conns *conns);
/* Remove one connection that is_gone from the list, and return it: it is yours. NULL: there is none. */
struct lki_renewal_conn *lki_renewal_conns_take_gone(struct lki_renewal_conns *conns);

#endif
