/*
 * Which process this is.
 */
#ifndef LKI_PID_H
#define LKI_PID_H

#include <sys/types.h>

/* getpid(), mostly without asking the kernel: every step of a lock asks whether it was forked. */
pid_t lki_pid(void);

#endif
