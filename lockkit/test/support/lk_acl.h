/*
 * Servers with users: "locks", who has what lockkit needs and no more, "loader", who loads scripts, and
 * "admin". The default user is off.
 */
#ifndef LK_ACL_H
#define LK_ACL_H

#include "lk_support.h"

#define LKA_PASSWORD        "l0cks:s3cret@/"
#define LKA_LOADER_PASSWORD "l0ader:s3cret"
#define LKA_LOADER          "loader:" LKA_LOADER_PASSWORD

/* Write an ACL file with these users; "default on" as rules_of_default: for a tool that has no password.
   NULL: off. It is removed at the end of the program. */
const char *lka_write_users(const char *rules_of_default);

/* A server with those users, where LKS_ASK() asks as admin. */
struct lks_server *lka_start(void);

/* A client that logs in as locks, and has the loader. options.url NULL: the server's. */
lk_client *lka_client(const struct lks_server *server, struct lk_client_options options);
/* "redis://USER@127.0.0.1:PORT". Borrowed, until the next one. */
const char *lka_url(const struct lks_server *server, const char *user);

/* For cmocka: of a group, such servers; before a test, without keys, without scripts, with nothing in their
   logs, and with all that locks may do. A test that changes more of the users changes it back. */
enum { LKA_NODES = 3 };
extern struct lks_server *lka_nodes[LKA_NODES];
int lka_start_servers(void **state);
int lka_stop_servers(void **state);
int lka_heal_servers(void **state);

/* SCRIPT FLUSH on all of them. */
void lka_forget_scripts(void);

/* Fails the test, with the words of err, when the status is another one. */
void lka_must_be(lk_status expected, lk_status status, const char *what,
                 const struct lk_error *err);

/* Nobody has been refused anything since the last look, and nobody has said EVAL. */
void lka_assert_quiet(struct lks_server *server);

#endif
