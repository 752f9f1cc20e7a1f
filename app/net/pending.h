/*
 * Clients outside, who have not yet said a whole request.
 */
#ifndef SECKILL_PENDING_H
#define SECKILL_PENDING_H

#include "conn_scheduler.h"

/* Accept who has connected to this socket of the acceptor's. Returns whether nobody is left who has. */
bool pending_accept(struct acceptor *self, int listen_fd);
/* The client has said something, or hung up. */
void pending_receive_locked(struct acceptor *self, struct client_conn *conn);
/* Who has said too little for too long is sent away. */
void pending_close_slow_locked(struct acceptor *self, int64_t now_ms);

#endif
