/*
 * Refresh of the topology: ask servers or Sentinels which servers there are.
 */
#ifndef LKI_TOPOLOGY_REFRESH_H
#define LKI_TOPOLOGY_REFRESH_H

#include "topology.h"

/* The first refresh; also checks that a server answers, and the loader. UNREACHABLE, SERVER, INVALID... */
LK_MUST_CHECK lk_status lki_topology_refresh_open(struct lki_topology *topology,
                                                  struct lk_error *err);
/* Refresh now: ask one server after the other, beginning with the one that answered last. */
lk_status lki_topology_refresh(struct lki_topology *topology, struct lk_error *err);
/* The body of the refreshing thread (arg: the topology); returns at once for a single server. */
void *lki_topology_refresh_main(void *arg);

#endif
