/*
 * Faults between lockkit and a server, for tests: the n-th call is refused, answered by an error, or
 * done (or begun) with its reply lost. A test that uses this has in its head comment:
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send
 */
#ifndef LK_FAULT_H
#define LK_FAULT_H

#include <stdbool.h>

#include "lockkit/client.h"

enum lks_fault_kind {
    LKS_REFUSED,
    LKS_ERROR_ANSWER,
    LKS_QUEUED, /* answered, but not done */
    LKS_REPLY_LOST,
    LKS_CUT_SHORT, /* after its first command */
    LKS_FAULT_KINDS,
    LKS_LATE, /* nobody knows: it is delivered when the test says so */
    LKS_NO_FAULT
};

const char *lks_fault_name(enum lks_fault_kind kind);

/* The n-th round trip of this thread from now on; what was late is forgotten. */
void lks_fault_arm(enum lks_fault_kind kind, int n);
/* And all later ones are refused. */
void lks_fault_arm_for_good(enum lks_fault_kind kind, int n);
/* Back to normal; whether there was an n-th one. */
bool lks_fault_disarm(void);
/* What was late comes now: its first command is sent, by any client, as often as this is called. */
void lks_fault_deliver(lk_client *client);

/* Until LKS_NO_FAULT, REFUSED, LATE or REPLY_LOST: all that any watchdog and any redlock asks. */
void lks_fault_arm_sent(enum lks_fault_kind kind);

/* For who fakes round trips to other servers: one begins; and what becomes of what watchdogs ask. */
enum lks_fault_kind lks_fault_strikes(void);
enum lks_fault_kind lks_fault_of_sent(void);

#endif
