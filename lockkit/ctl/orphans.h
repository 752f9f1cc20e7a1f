/*
 * What a command has started and left behind: when the lock is lost, ending the command alone would
 * leave these at work.
 */
#ifndef LOCKCTL_ORPHANS_H
#define LOCKCTL_ORPHANS_H

#include <stddef.h>
#include <sys/types.h>

enum { ORPHANS_MAX = 256 };

struct orphans {
    pid_t told[ORPHANS_MAX]; /* by the last orphans_tell() */
    size_t count;
    int number;                /* the signal they were told with */
    pid_t others[ORPHANS_MAX]; /* children that are no business of ours */
    size_t other_count;
};

/* From now on descendants whose parent has ended become children of ours. Those that are here already,
   left by a script that became us, are left alone. */
void orphans_adopt(struct orphans *out);

/* This child has got the signal, and no other has: orphans_tell() goes on from here. */
void orphans_begin(struct orphans *orphans, pid_t told, int number);

/*
 * Send the signal to each child that has not got it yet.
 *
 * Returns  how many children there are; 0 also where the kernel does not tell.
 */
size_t orphans_tell(struct orphans *orphans);

#endif
