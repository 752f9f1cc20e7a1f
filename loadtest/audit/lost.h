/*
 * The names of accepted orders that are gone, for whoever has to answer for them.
 *
 * Shape    JSON lines: {"e":"lost","order":O,"buyer":B,"rid":R,"t":T}; T: when the buyer was told
 *          201, CLOCK_MONOTONIC in nanoseconds
 */
#ifndef LOADTEST_LOST_H
#define LOADTEST_LOST_H

#include <stdio.h>

#include "base/failure.h"
#include "evidence/facts.h"

/* Write one line per lost order to a new file at `path`. */
bool lost_write(const struct facts *facts, const char *path, struct failure *failure);

#endif
