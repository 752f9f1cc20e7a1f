/*
 * A server that somebody's script keeps busy: it answers BUSY.
 */
#ifndef LK_BUSY_H
#define LK_BUSY_H

#include "lk_support.h"

/* It does when this returns; hand the result to lks_busy_end(). */
pthread_t lks_busy_begin(struct lks_server *server);
void lks_busy_end(struct lks_server *server, pthread_t whose);

#endif
