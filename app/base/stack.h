/*
 * The memory of threads' stacks. Those of civetweb's have STACK_BYTES, whatever it asks for: Debian's
 * asks for 100 KiB.
 */
#ifndef SECKILL_STACK_H
#define SECKILL_STACK_H

#include <stddef.h>

/* Of addresses; tests see that half of it is never touched. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK_BYTES = 2 * 1024 * 1024 }; /* what a sanitizer keeps for each thread is in it */
#else
enum { STACK_BYTES = 256 * 1024 };
#endif

/*
 * Give back what deeper calls than ours have touched of this thread's stack; they find zeros there
 * later. For a thread that will now wait for long, one of thousands: it costs a system call, and a
 * page fault for each page when it is used again.
 */
void stack_trim(void);

/* Note how deep this thread's stack has been since it was trimmed. */
void stack_note(void);

/* The deepest stack that any thread has noted, in bytes; 0: none has. Any thread. */
size_t stack_deepest(void);

#endif
