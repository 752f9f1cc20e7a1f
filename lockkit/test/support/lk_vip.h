/*
 * An address whose server may change, as that of a managed Redis, and whose connections may be cut so
 * that nobody is told: a TCP forwarder on a thread of its own.
 */
#ifndef LK_VIP_H
#define LK_VIP_H

#include <stdbool.h>
#include <stddef.h>

#include "lockkit/script.h"

enum { LKS_DRIP_MS = 20 };

struct lks_vip;

/* Listens at address (NULL: 127.0.0.1) and port (0: a free one), for the server at a port of 127.0.0.1.
   Fails the test when it cannot. */
struct lks_vip *lks_vip_open(const char *address, int port, int server_port);
void lks_vip_close(struct lks_vip *vip); /* NULL is fine */

/* "redis://127.0.0.1:PORT" */
const char *lks_vip_url(const struct lks_vip *vip);
int lks_vip_port(const struct lks_vip *vip);

/* Connections to come go to another server; those that stand stay where they are. */
void lks_vip_move(struct lks_vip *vip, int server_port);
/* From now on nothing passes on the connections that stand, and neither side hears of it. */
void lks_vip_silence(struct lks_vip *vip);
/* From now on what a server says comes byte by byte, each LKS_DRIP_MS after the one before. */
void lks_vip_drip(struct lks_vip *vip);
/* The next client that says this word loses its connection: before it is passed on, or when the server has answered. */
void lks_vip_cut_at(struct lks_vip *vip, struct lk_bytes word, bool is_passed);
/* Connections taken so far. */
size_t lks_vip_taken(struct lks_vip *vip);

#endif
