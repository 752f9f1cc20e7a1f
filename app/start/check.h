/*
 * --check: whether the instance at an address is ready, as /readyz tells it. For health checks of
 * containers.
 */
#ifndef SECKILL_CHECK_H
#define SECKILL_CHECK_H

#include <stdbool.h>

#include "net/listen_address.h"

enum { CHECK_MS = 2000 /* at most */ };

/*
 * Ask, and print one line: what it says to standard output, or why nothing was said to standard error.
 *
 * Shape    addresses: the first is asked; every address of this host, 0.0.0.0 or [::], by the loopback.
 * Returns  whether it is ready.
 */
bool check_run(const struct listen_addresses *addresses);

#endif
