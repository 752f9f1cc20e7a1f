/*
 * Finding the servers of a topology.
 */
#ifndef LKI_TOPOLOGY_REFRESH_H
#define LKI_TOPOLOGY_REFRESH_H

#include "topology.h"

/* Find the servers for the first time, and see that one answers. UNREACHABLE, SERVER, INVALID... */
LK_MUST_CHECK lk_status lki_topology_refresh_open(struct lki_topology *topology,
                                                  struct lk_error *err);
/* Ask who the servers are, one after the other, beginning with who answered last. */
lk_status lki_topology_refresh(struct lki_topology *topology, struct lk_error *err);
/* The looking thread's body; it ends at once where there is nothing to look for. */
void *lki_topology_refresh_main(void *arg);

#endif
