/*
 * One question to several servers at the same time, in the thread of the caller.
 */
#ifndef LKI_QUORUM_H
#define LKI_QUORUM_H

#include "quorum_server.h"

/* Ask, and hear the answers until the deadline, until the round is over, or until there is nobody left to
   hear. Never waits for a connection longer than that. */
void lki_quorum_ask(struct lki_quorum *quorum);

#endif
