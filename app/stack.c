/*
 * Where a thread's stack ends is asked once, at its first call. Any thread.
 */
#include "stack.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KEPT_BYTES = 512 }; /* of our own frame and the call below it */

static char *find_low_end(void)
{
    pthread_attr_t attributes;
    void *low_end = NULL;
    size_t size = 0;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return NULL;
    if (pthread_attr_getstack(&attributes, &low_end, &size) != 0) low_end = NULL;
    (void)pthread_attr_destroy(&attributes);
    return low_end;
}

void stack_trim(void)
{
    static _Thread_local char *low_end;
    char *end = (char *)__builtin_frame_address(0) - KEPT_BYTES;

    if (!low_end) low_end = find_low_end();
    end -= (uintptr_t)end % (uintptr_t)sysconf(_SC_PAGESIZE);
    if (low_end && low_end < end)
        (void)madvise(low_end, (size_t)(end - low_end), MADV_DONTNEED); /* or it is kept */
}
