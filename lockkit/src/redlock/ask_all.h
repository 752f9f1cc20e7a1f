/*
 * One question to several servers at the same time, in the thread of the caller.
 */
#ifndef LKI_ASK_ALL_H
#define LKI_ASK_ALL_H

#include "seat.h"

/* Ask, and hear the answers until the deadline, until the round is over, or until there is nobody left to
   hear. Never waits for a connection longer than that. */
void lki_ask_all(struct lki_ask_all *all);

#endif
