/*
 * lockkit and node-redlock 4, which npm calls the latest one, on the same keys: on one server, and on
 * five.
 */
#include "interop/checks/redlock_checks.h"

REDLOCK_ARENA("node_redlock_4", arena_start_node_redlock_4, NULL);
