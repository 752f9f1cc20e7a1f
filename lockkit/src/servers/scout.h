/*
 * Finding the servers of a topology.
 */
#ifndef LKI_SCOUT_H
#define LKI_SCOUT_H

#include "topology.h"

/* Find the servers for the first time, and see that one answers. UNREACHABLE, SERVER, INVALID... */
LK_MUST_CHECK lk_status lki_scout_open(struct lki_topology *topology, struct lk_error *err);
/* Ask who the servers are, one after the other, beginning with who answered last. */
lk_status lki_scout_look(struct lki_topology *topology, struct lk_error *err);
/* The looking thread's body; it ends at once where there is nothing to look for. */
void *lki_scout_main(void *arg);

#endif
