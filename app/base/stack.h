/*
 * The memory of threads' stacks. civetweb's threads have STACK_BYTES, whatever size civetweb asks for: Debian's
 * build asks for 100 KiB.
 */
#ifndef SECKILL_STACK_H
#define SECKILL_STACK_H

#include <stddef.h>

/* Address space; tests check that half of it is never touched. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK_BYTES = 2 * 1024 * 1024 }; /* what a sanitizer keeps for each thread is in it */
#else
enum { STACK_BYTES = 256 * 1024 };
#endif

/*
 * Return the pages below the caller's frame of this thread's stack to the kernel; later calls find zeros there.
 * Meant for one of thousands of threads that will now wait for long: it costs a system call, and a page fault
 * for each page that is used again.
 */
void stack_trim(void);

/* Record the depth that this thread's stack has reached since the last trim. */
void stack_note(void);

/* The greatest depth that any thread has recorded, in bytes; 0: none yet. Any thread. */
size_t stack_deepest(void);

#endif
