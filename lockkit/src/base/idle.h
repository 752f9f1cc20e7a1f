/*
 * How busy the machine is just now.
 */
#ifndef LKI_IDLE_H
#define LKI_IDLE_H

/* Processors that no thread runs on, which takes a look at /proc: some microseconds. The caller's is not one of them.
   Negative: so many threads wait for one. INT_MIN: it cannot be told. */
int lki_idle_processors(void);

#endif
