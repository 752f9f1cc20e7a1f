/*
 * lockkit and redsync on the same keys: on one server, and on five.
 */
#include "interop/checks/redlock_checks.h"

REDLOCK_ARENA("redsync", arena_start_redsync, NULL);
