/*
 * lockkit and redsync on the same keys: on one server, and on five.
 */
#include "interop/checks/redlock_checks.h"

int main(void)
{
    return redlock_run("redsync", arena_start_redsync, NULL, 0);
}
