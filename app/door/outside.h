/*
 * Clients outside, who have not yet said a whole request.
 */
#ifndef SECKILL_OUTSIDE_H
#define SECKILL_OUTSIDE_H

#include "crowd.h"

/* Accept who has connected to this socket of the acceptor's. Returns whether nobody is left who has. */
bool outside_accept(struct acceptor *self, int listen_fd);
/* The client has said something, or hung up. */
void outside_hear_locked(struct acceptor *self, struct guest *guest);
/* Who has said too little for too long is sent away. */
void outside_end_silent_locked(struct acceptor *self, int64_t now_ms);

#endif
