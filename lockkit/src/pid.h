/*
 * Which process this is.
 */
#ifndef LKI_PID_H
#define LKI_PID_H

#include <sys/types.h>

/* getpid(), mostly without asking the kernel: each step of a lock wants to know whether it was forked. */
pid_t lki_pid(void);

#endif
