/*
 * The process ID is cached in a page that the kernel clears in the child of any fork, so no handler has to
 * run. Without such a page (Linux before 4.14, and qemu's user mode, which accepts any advice and does nothing)
 * the kernel is asked each time. The page lives as long as the process. Threads: any.
 */
#include "pid.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NOTE_BYTES = 4096, NO_ADVICE = -1 };

struct note {
    _Atomic pid_t pid; /* 0: not noted yet in this process */
};

/* NULL when there can be none. */
static struct note *map_note(void)
{
    void *page = mmap(NULL, NOTE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) return NULL;
    if (madvise(page, NOTE_BYTES, NO_ADVICE) != 0 &&
        madvise(page, NOTE_BYTES, MADV_WIPEONFORK) == 0)
        return page;
    (void)munmap(page, NOTE_BYTES);
    return NULL;
}

static struct note *note_of_process(void)
{
    static _Atomic(struct note *) shared;
    struct note *note = atomic_load(&shared);
    struct note *none = NULL;

    if (note) return note;
    note = map_note();
    if (!note || atomic_compare_exchange_strong(&shared, &none, note)) return note;
    (void)munmap(note, NOTE_BYTES); /* another thread was first */
    return none;
}

pid_t lki_pid(void)
{
    struct note *note = note_of_process();
    pid_t pid = note ? atomic_load_explicit(&note->pid, memory_order_relaxed) : 0;

    if (pid != 0) return pid;
    pid = getpid();
    if (note) atomic_store_explicit(&note->pid, pid, memory_order_relaxed);
    return pid;
}
