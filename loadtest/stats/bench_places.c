/*
 * What a crash costs is what DURABILITY_LIST, deployment_promise() and the tests of the book say (app/). Pure.
 */
#include "bench_places.h"

#define ALWAYS .aof = "always", .durability = "appendfsync-always"

const struct bench_place bench_places[BENCH_PLACE_COUNT] = {
    {"one", "one Redis", "AOF always", "plain", ALWAYS, .crash = "none is lost",
     .keeps_orders = true},
    {"everysec", "one Redis", "AOF everysec", "plain", "everysec", "appendfsync-everysec",
     .crash = "up to about a second of them is lost"},
    {"none", "one Redis", "nothing", "plain", "no", "none", .crash = "all are lost"},
    {"sentinel", "Sentinels, two replicas", "AOF always", "sentinel", ALWAYS,
     .crash = "what no replica had is lost by a failover"},
    {"synced", "Sentinels, two replicas", "AOF always, one replica has it", "sentinel", ALWAYS,
     .crash = "none is lost by a failover to a replica that had it", .keeps_orders = true,
     .sync_replicas = 1},
    {"cluster", "cluster, three masters, a replica each", "AOF always", "cluster", ALWAYS,
     .crash = "what no replica had is lost by a failover"},
    {"book", "one Redis", "AOF always, the book follows", "plain", ALWAYS,
     .crash = "none is lost; should Redis forget, what the book had not", .keeps_orders = true,
     .has_book = true},
    {"booked", "one Redis", "AOF always, the book has it", "plain", ALWAYS,
     .crash = "none is lost, should Redis forget, too", .keeps_orders = true, .has_book = true,
     .waits_for_book = true},
};
