/*
 * After the run: ask the service what became of every purchase whose outcome is unknown, the way a
 * buyer would (GET orders/me), and write the answers down.
 */
#ifndef LOADTEST_RESOLVE_H
#define LOADTEST_RESOLVE_H

#include "evidence/facts.h"
#include "service.h"

/*
 * Ask for each unknown of `facts` and append "resolve" lines to the file at `path`; then read that
 * file into `facts`. An unknown the service does not answer about gets no line: the audit fails it.
 * A service that does not answer at all is waited for, some twenty seconds.
 *
 * Returns  false   out of memory, or the file could not be written.
 */
bool resolve_unknowns(const struct service *service, const char *sale, const char *path,
                      struct facts *facts, struct failure *failure);

/*
 * Write the names of accepted orders that are gone, for whoever has to answer for them, to a new file.
 *
 * Shape    JSON lines: {"t":T,"e":"lost","rid":R,"buyer":B,"order":O}; T: when the buyer was told
 *          201, CLOCK_MONOTONIC in nanoseconds
 */
bool resolve_name_lost(const struct facts *facts, const char *path, struct failure *failure);

#endif
