/*
 * Which connection asks for the keys of a slot. The watchdog's thread only.
 */
#ifndef LKI_RENEWAL_CONNS_H
#define LKI_RENEWAL_CONNS_H

#include "renewal_conn.h"

struct lki_renewal_conns {
    lk_client *client; /* borrowed */
    bool is_cluster;
    struct lki_renewal_conn **by_slot; /* owned array, one entry where there are no slots;
                                NULL: not known */
    size_t slot_count;
    struct lki_renewal_conn *first; /* owned list */
    size_t conn_count;
    struct pollfd *fds; /* owned: room for what to poll() for, one per connection and two more */
    int timer_fd;
};

LK_MUST_CHECK lk_status lki_renewal_conns_init(struct lki_renewal_conns *conns,
                                               struct lk_error *err);
void lki_renewal_conns_done(struct lki_renewal_conns *conns);

/* The place of a key in by_slot. Any thread. */
int lki_renewal_conns_slot_of(const struct lki_renewal_conns *conns, const char *key);
/* Who has it, as far as the topology knows: a reference. Any thread. */
struct lki_node *lki_renewal_conns_node_of(const struct lki_renewal_conns *conns, const char *key,
                                           struct lk_error *err);
/* What is known without asking; NULL: nothing. */
struct lki_renewal_conn *lki_renewal_conns_known(const struct lki_renewal_conns *conns, int slot);
/* By what the topology says now. NULL: nobody has it, or no memory. No mutex held. */
struct lki_renewal_conn *lki_renewal_conns_find(struct lki_renewal_conns *conns, int slot);
/* Take over what an answer says of the servers; the connection that it names for one question (ASK), or
   NULL. No mutex held. */
struct lki_renewal_conn *lki_renewal_conns_learn(struct lki_renewal_conns *conns, int slot,
                                                 const lk_reply *reply,
                                                 const struct lki_renewal_conn *from);
/* Until a connection under way can go on, the eventfd wakes us, or the moment comes.
 */
void lki_renewal_conns_wait(const struct lki_renewal_conns *conns, int wake_fd, int64_t until);

/* The servers have changed: forget what does not hold any more, and mark the connections that are gone.
   Without slots everything is forgotten. No mutex held. */
void lki_renewal_conns_recheck(struct lki_renewal_conns *conns);
/* Take one of the connections that are gone out of the list; NULL: there is none. It is yours. */
struct lki_renewal_conn *lki_renewal_conns_take_gone(struct lki_renewal_conns *conns);

#endif
