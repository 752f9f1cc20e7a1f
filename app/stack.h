/*
 * The memory of a thread's stack.
 */
#ifndef SECKILL_STACK_H
#define SECKILL_STACK_H

/*
 * Give back what deeper calls than ours have touched of this thread's stack; they find zeros there
 * later. For a thread that will now wait for long, one of thousands: it costs a system call, and a
 * page fault for each page when it is used again.
 */
void stack_trim(void);

#endif
