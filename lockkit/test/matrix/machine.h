/*
 * How long the machine stood still, as seen by a thread that does nothing but look at the clock: the other threads,
 * and most likely the servers, took no step meanwhile.
 */
#ifndef MATRIX_MACHINE_H
#define MATRIX_MACHINE_H

void machine_watch(void);
void machine_let_be(void);
/* In all, since it is watched. */
double machine_stood_ms(void);

#endif
