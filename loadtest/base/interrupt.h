/*
 * Ctrl-C: SIGINT and SIGTERM set a flag; every loop of the runner looks at it.
 */
#ifndef LOADTEST_INTERRUPT_H
#define LOADTEST_INTERRUPT_H

#include <stdbool.h>

void interrupt_watch(void);
bool interrupt_came(void);

#endif
