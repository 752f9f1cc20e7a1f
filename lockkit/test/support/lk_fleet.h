/*
 * Several private servers behind a made-up topology, for what asks a topology where a key is, without
 * the servers knowing of each other; and lies in their answers. A test that uses this has in its head
 * comment:
 * link: -Wl,--wrap=lki_topology_node -Wl,--wrap=lki_topology_primary -Wl,--wrap=lki_topology_at
 * link: -Wl,--wrap=lki_topology_moved -Wl,--wrap=lki_topology_refresh_soon -Wl,--wrap=lki_topology_epoch
 * link: -Wl,--wrap=lki_topology_is_cluster
 * link: -Wl,--wrap=lki_node_unref -Wl,--wrap=lki_redis_send
 */
#ifndef LK_FLEET_H
#define LK_FLEET_H

#include "lk_support.h"

struct lki_topology;

enum { LKS_FLEET = 3 };

/* Slot n is at server n % count; without slots, everything at the first. */
void lks_fleet_start(struct lks_server *const *servers, size_t count, bool is_cluster);
/* Whether all references to its nodes were given back. */
bool lks_fleet_stop(void);
struct lki_topology *lks_fleet_topology(void);

/* References that are held now. */
unsigned long lks_fleet_references(size_t node);
int lks_fleet_refreshes(void);
int lks_fleet_askings(void);     /* ASKINGs sent */
int lks_fleet_looks(void);       /* for the server of a slot */
int lks_fleet_sent(size_t node); /* pipelines, lies too */

/* Nothing is told to anybody. */
void lks_fleet_move(int slot, size_t node);
/* All is at one server from now on, and another is no part of the topology any more. */
void lks_fleet_fail_over(size_t from, size_t to);
/* The topology forgets all servers, or knows them again. */
void lks_fleet_lose(bool is_lost);

/* The next so many pipelines to a server are answered by this error, whatever they ask. "%s" stands for
   the address of another one. */
void lks_fleet_lie(size_t node, const char *error, size_t other, int times);
int lks_fleet_lies_left(void);

#endif
