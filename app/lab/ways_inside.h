/*
 * What the files of ways share.
 */
#ifndef SECKILL_LAB_WAYS_INSIDE_H
#define SECKILL_LAB_WAYS_INSIDE_H

/* The moment between the last look at the lock and the write. */
void way_pause(void);

#endif
