/*
 * lockkit in this process, and a rival in its own, at one lock that is not kept in Redis. What does not come as it should
 * fails the running test; what does becomes a row of the matrix.
 */
#ifndef LOCKKIT_INTEROP_MEETING_H
#define LOCKKIT_INTEROP_MEETING_H

#include "matrix.h"
#include "peer.h"
#include "test/support/lk_support.h"

struct meeting {
    struct peer *peer;      /* borrowed */
    lk_lock *lock;          /* borrowed; lockkit's, not held */
    const char *kind, *key; /* the rival's words for it */
};

/* A program that `run` has fetched or compiled: the Java class in its place, or argv[0] under build/interop. */
struct peer *meeting_java(const char *name, const char *url);
struct peer *meeting_python(const char *script, const char *log, const char *url);
/* The file of rows, of all that this program has checked. */
void meeting_write(const struct peer *peer, const char *name);

/* Who holds it keeps the other out: both ways. */
void meeting_excludes(const struct meeting *meeting);
/* Who waits has it after the release: both ways. */
void meeting_hands_over(const struct meeting *meeting);
/* Both take it and give it back as fast as they can, for so long: no hold meets another, and both have turns. */
void meeting_contends(const struct meeting *meeting, int64_t ms);

#endif
