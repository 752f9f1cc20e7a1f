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

#endif
