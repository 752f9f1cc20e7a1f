/*
 * A quorum call: one request to several servers at the same time, in the thread of the caller.
 */
#ifndef LKI_QUORUM_H
#define LKI_QUORUM_H

#include "quorum_server.h"

/* Send the request to all servers. Returns when settle() has decided, when no answer is outstanding, or
   at the deadline, which also bounds the wait for a connection. */
void lki_quorum_ask(struct lki_quorum *quorum);

#endif
