/*
 * lockkit: distributed locks on Redis for C. This header includes the others; read lock.h first.
 *
 * Example
 *     lk_client *client = lk_client_open(NULL, &err);
 *     lk_lock *lock = client ? lk_mutex_new(client, "report", &err) : NULL;
 *     if (lock && lk_lock_try(lock, &err) == LK_OK) puts("here, and nowhere else");
 *     lk_lock_close(lock, &err);
 *     lk_client_close(client);
 */
#ifndef LOCKKIT_H
#define LOCKKIT_H

#include "lockkit/client.h"
#include "lockkit/error.h"
#include "lockkit/event.h"
#include "lockkit/inspect.h"
#include "lockkit/latch.h"
#include "lockkit/leader.h"
#include "lockkit/lock.h"
#include "lockkit/locks.h"
#include "lockkit/reply.h"
#include "lockkit/script.h"
#include "lockkit/semaphore.h"

#define LK_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the library that runs, which may be newer than LK_VERSION, the one that was compiled with. */
const char *lk_version(void);

#ifdef __cplusplus
}
#endif

#endif
