/*
 * What the tests of the redlock share: five real servers, independent of each other.
 */
#ifndef LK_REDLOCK_H
#define LK_REDLOCK_H

#include "lk_support.h"
#include "torture/torture_links.h"

enum { LKR_NODES = 5, LKR_QUORUM = 3 };

extern struct lks_server *lkr_nodes[LKR_NODES];

/* For cmocka: of a group, the servers; after a test, all of them run again, and are empty. */
int lkr_start_servers(void **state);
int lkr_stop_servers(void **state);
int lkr_heal_servers(void **state);

/* A key of this test, on every server. */
const char *lkr_key(const char *name);

/*
 * A link before every server, which loses or holds what passes as torture_links.h says; a thread moves
 * the bytes.
 */
struct lkr_links;
struct lkr_links *lkr_links_open(void);
void lkr_links_close(struct lkr_links *links);
void lkr_links_set(struct lkr_links *links, size_t node, enum torture_link_state state);

/* One client per server, opened as the options say and with may_be_down. */
struct lkr_clients {
    lk_client *of[LKR_NODES];
};
void lkr_open(struct lkr_clients *clients, struct lk_client_options options);
void lkr_open_through(struct lkr_clients *clients, const struct lkr_links *links,
                      struct lk_client_options options);
void lkr_close(struct lkr_clients *clients);

/* A redlock on all; fails the test when it cannot be had. options: NULL: defaults. */
lk_lock *lkr_lock(const struct lkr_clients *clients, const char *key,
                  const struct lk_redlock_options *options);

/* On how many of the servers that run a key exists. */
size_t lkr_count(const char *key);
/* Wait until it exists on so many. */
void lkr_await_count(const char *key, size_t count);
bool lkr_exists(size_t node, const char *key);

/* How the vote of each server is reported. */
void lkr_assert_votes(const lk_lock *lock, const lk_status expected[LKR_NODES]);
/* How many of them count for the hold by now. */
size_t lkr_counting(const lk_lock *lock);

lk_status lkr_acquire(lk_lock *lock, int64_t wait_ms, int64_t lease_ms, struct lk_error *err);

#endif
