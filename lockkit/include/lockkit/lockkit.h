/*
 * lockkit: distributed locks on Redis for C. This header includes the others; read lock.h first.
 */
#ifndef LOCKKIT_H
#define LOCKKIT_H

#include "lockkit/client.h"
#include "lockkit/error.h"
#include "lockkit/event.h"
#include "lockkit/inspect.h"
#include "lockkit/latch.h"
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
