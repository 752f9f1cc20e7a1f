/*
 * Made-up servers with channels, and a topology that knows of them, for the tests of the wait hub. The
 * asserting thread plays the servers. A test that uses this has in its head comment:
 * link: -Wl,--wrap=lki_redis_open_begin -Wl,--wrap=lki_redis_open_go_on -Wl,--wrap=lki_redis_close
 * link: -Wl,--wrap=lki_redis_send -Wl,--wrap=lki_redis_receive -Wl,--wrap=lki_redis_fd
 * link: -Wl,--wrap=lk_reply_at -Wl,--wrap=lk_reply_bytes -Wl,--wrap=lk_reply_free
 * link: -Wl,--wrap=lk_reply_type_of -Wl,--wrap=lki_topology_node -Wl,--wrap=lki_topology_primary
 * link: -Wl,--wrap=lki_node_unref -Wl,--wrap=lki_topology_refresh_soon -Wl,--wrap=lki_topology_moved
 * link: -Wl,--wrap=lki_topology_is_sharded
 */
#ifndef LK_PUBSUB_H
#define LK_PUBSUB_H

#include <stdbool.h>

#include "servers/topology.h"
#include "wait/hub.h"

enum { LKS_PUBSUB_SERVERS = 2, LKS_NO_SERVER = -1 };

enum lks_pubsub_mood {
    LKS_WELL,
    LKS_REFUSING, /* lets nobody in */
    LKS_SLAMMING, /* lets everybody in and throws them out at once */
    LKS_DENYING,  /* answers a SUBSCRIBE by an error */
    LKS_PICKY,    /* ...those of the channel "denied" */
    LKS_DOWN,     /* ...as servers of a cluster do that is not whole */
    LKS_ASTRAY,   /* ...by sending everybody to the next server */
    LKS_SILENT,   /* is reached, and answers nothing */
    LKS_HANGING,  /* is not even reached, and nobody says so */
};

/* Of one server: read by the test through lks_pubsub_reaches() and lks_pubsub_count(). */
struct lks_pubsub_counts {
    unsigned opens, failures, closes, pings, subscribes, unsubscribes;
};

/* Before a hub is made. Server 0 has all channels. Sharded: channels go by slot. */
void lks_pubsub_start(bool is_sharded);
/* After it is freed; false: a connection or a reference to a server is left. */
bool lks_pubsub_stop(void);
struct lki_topology *lks_pubsub_topology(void);
struct lks_pubsub_counts *lks_pubsub_counts(int server);
/* The thread that heard last. */
extern pthread_t lks_pubsub_listener;
extern unsigned lks_pubsub_refreshes;
extern unsigned lks_pubsub_wrong_verbs; /* subscriptions by slot where there are none, or not */

void lks_pubsub_say(int server, const char *kind, const char *channel, const char *text);
void lks_pubsub_set_mood(int server, enum lks_pubsub_mood mood);
/* Its connection ends; what comes then is as the mood says. */
void lks_pubsub_cut(int server, enum lks_pubsub_mood mood);

/* The channel, all channels of its slot, is at another server (LKS_NO_SERVER) now; nobody is told. NULL:
   all channels. */
void lks_pubsub_move(const char *channel, int server);
/* The topology learns where all channels are. */
void lks_pubsub_learn(void);

/* Whether somebody holds a reference to it. */
bool lks_pubsub_is_referred_to(int server);

/* True when a counter has reached a value within a long time. */
bool lks_pubsub_reaches(const unsigned *counter, unsigned value);
unsigned lks_pubsub_read(const unsigned *counter);

#endif
