/*
 * Each thread asks for the bounds of its stack once, at its first call. Any thread.
 *
 * A page that was touched stays resident until it is trimmed, so the lowest resident page is the depth that the
 * stack has reached.
 */
#include "stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KEPT_BYTES = 512, PAGES_MAX = 512 }; /* kept: our own frame and the call below it */

struct extent {
    char *low, *high; /* NULL: not known */
};

static atomic_size_t deepest;

/*
 * This overrides libc's function for the libraries, too: civetweb sets the stack size of its threads here, and
 * has no option for it.
 */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's are reserved */
int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size)
{
    void *symbol = dlsym(RTLD_NEXT, "pthread_attr_setstacksize");
    int (*set)(pthread_attr_t *, size_t) = NULL;

    if (!symbol) return ENOSYS;
    memcpy(&set, &symbol, sizeof set); /* ISO C has no cast for it */
    return set(attributes, size < STACK_BYTES ? STACK_BYTES : size);
}

static struct extent find_extent(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return (struct extent){0};
    if (pthread_attr_getstack(&attributes, &low, &size) != 0) low = NULL;
    (void)pthread_attr_destroy(&attributes);
    return low ? (struct extent){low, (char *)low + size} : (struct extent){0};
}

static const struct extent *own_stack(void)
{
    static _Thread_local struct extent own;

    if (!own.low) own = find_extent();
    return &own;
}

void stack_note(void)
{
    const struct extent *own = own_stack();
    unsigned char is_there[PAGES_MAX];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (size_t)(own->high - own->low) / page;
    size_t before = atomic_load(&deepest);
    size_t lowest = 0;

    if (pages == 0 || pages > PAGES_MAX || mincore(own->low, pages * page, is_there) != 0) return;
    while (lowest < pages && !(is_there[lowest] & 1))
        lowest++;
    size_t depth = (pages - lowest) * page;
    while (depth > before && !atomic_compare_exchange_weak(&deepest, &before, depth))
        ;
}

size_t stack_deepest(void)
{
    return atomic_load(&deepest);
}

void stack_trim(void)
{
    char *low = own_stack()->low;
    char *end = (char *)__builtin_frame_address(0) - KEPT_BYTES;

    stack_note();
    end -= (uintptr_t)end % (uintptr_t)sysconf(_SC_PAGESIZE);
    if (low && low < end)
        (void)madvise(low, (size_t)(end - low), MADV_DONTNEED); /* or it is kept */
}
