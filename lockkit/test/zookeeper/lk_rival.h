/*
 * lockkit and another library at the same paths of a real ZooKeeper: one table of checks for each rival.
 */
#ifndef LK_RIVAL_H
#define LK_RIVAL_H

#include "interop/checks/meeting.h"
#include "lk_zookeeper.h"

struct lkz_rival {
    const char *name; /* of its rows, and of lockkit's dialect */
    struct peer *(*start)(const char *hosts);
    bool sees_strangers; /* whatever is no lock's node counts as well */
};

/* Where they meet: below "/t", with sessions of RIVAL_SESSION_MS. */
enum { RIVAL_SESSION_MS = 2000 };
struct lkz_arena {
    struct lkz_server *server;
    lk_client *client;
    struct peer *peer;
};
struct lkz_arena lkz_rival_arena(void);
struct peer *lkz_rival_start(void); /* another one */

/* All of them; main()'s result. */
int lkz_rival_run(const struct lkz_rival *rival, int argc, char **argv);

#endif
