/*
 * See torture_board.h. Any thread of any process; nothing but atomics.
 */
#include "torture_board.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

struct torture_board *torture_board_new(void)
{
    struct torture_board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return board == MAP_FAILED ? NULL : board;
}

void torture_board_free(struct torture_board *board)
{
    if (board) (void)munmap(board, sizeof *board);
}

int64_t torture_now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void torture_violation(struct torture_board *board, const char *format, ...)
{
    va_list args;

    if (atomic_fetch_add(&board->violations, 1) > 0) return;
    va_start(args, format);
    (void)vsnprintf(board->first_violation, sizeof board->first_violation, format, args);
    va_end(args);
}

/* ---- who is inside ------------------------------------------------------------------------------- */

static struct torture_entry *entry_of(const struct torture_place *place)
{
    return &place->board->entries[place->process][place->thread];
}

void torture_leave(const struct torture_place *place)
{
    struct torture_entry *entry = entry_of(place);

    if (atomic_load(&entry->turn) % 2 == 1) atomic_fetch_add(&entry->turn, 1);
}

void torture_enter(const struct torture_place *place, const struct torture_claim *claim,
                   int64_t until_ns)
{
    struct torture_entry *entry = entry_of(place);

    torture_leave(place); /* the one before us may have died there */
    for (size_t i = 0; i < TORTURE_KEYS_HELD; i++) {
        unsigned key = claim->keys[i];

        atomic_store(&entry->keys[i], key);
        if (key > 0)
            atomic_fetch_or(&place->board->owners[key % TORTURE_KEYS_MAX], 1U << place->process);
    }
    atomic_store(&entry->weight, claim->weight);
    atomic_store(&entry->asked_ns, place->asked_ns);
    atomic_store(&entry->until_ns, until_ns);
    atomic_fetch_add(&entry->turn, 1);
}

void torture_prolong(const struct torture_place *place, int64_t until_ns)
{
    struct torture_entry *entry = entry_of(place);

    if (until_ns > atomic_load(&entry->until_ns)) atomic_store(&entry->until_ns, until_ns);
}

static bool is_about(const struct torture_entry *entry, unsigned key)
{
    for (size_t i = 0; i < TORTURE_KEYS_HELD; i++) {
        if (atomic_load(&entry->keys[i]) == key) return true;
    }
    return false;
}

/*
 * Who is there before a moment and still there, in the same turn, after it, was there at the moment;
 * and held it then, if its lease ends later and the server has not forgotten it.
 */
static unsigned weight_inside(const struct torture_board *board, unsigned key,
                              unsigned *out_entries)
{
    const struct torture_entry *entries = &board->entries[0][0];
    enum { ENTRIES = TORTURE_PROCESSES_MAX * TORTURE_THREADS_MAX };
    unsigned turns[ENTRIES];
    unsigned weight = 0;

    *out_entries = 0;
    for (size_t i = 0; i < ENTRIES; i++) {
        turns[i] = atomic_load(&entries[i].turn);
        if (turns[i] % 2 == 1 && !is_about(&entries[i], key)) turns[i] = 0;
    }
    int64_t moment = torture_now_ns();
    int64_t emptied = atomic_load(&board->emptied_ns);
    for (size_t i = 0; i < ENTRIES; i++) {
        unsigned own = atomic_load(&entries[i].weight);
        int64_t until = atomic_load(&entries[i].until_ns);

        if (turns[i] % 2 == 0 || until <= moment) continue;
        if (atomic_load(&entries[i].asked_ns) <= emptied) continue;
        if (atomic_load(&entries[i].turn) != turns[i]) continue;
        weight += own;
        (*out_entries)++;
    }
    return weight;
}

void torture_look(const struct torture_place *place, const struct torture_claim *claim)
{
    for (size_t i = 0; i < TORTURE_KEYS_HELD && claim->keys[i] > 0; i++) {
        unsigned entries = 0;
        unsigned weight = weight_inside(place->board, claim->keys[i], &entries);

        atomic_fetch_add(&place->board->looks, 1);
        if (entries > 1) atomic_fetch_add(&place->board->crowded, 1);
        if (weight > claim->limit) {
            atomic_fetch_add(&place->board->meetings, 1);
            torture_violation(place->board, "key %u: %u inside where %u may be, of %u holders",
                              claim->keys[i], weight, claim->limit, entries);
        }
    }
}

/* ---- chance --------------------------------------------------------------------------------------- */

uint32_t torture_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

uint32_t torture_seed(uint32_t seed, uint32_t a, uint32_t b)
{
    uint32_t own = (seed ^ (a * 2654435761U) ^ (b * 40503U)) | 1U;

    for (int i = 0; i < 8; i++)
        (void)torture_random(&own);
    return own;
}

bool torture_chance(uint32_t *seed, unsigned percent)
{
    return torture_random(seed) % 100 < percent;
}

int64_t torture_between(uint32_t *seed, int64_t from, int64_t to)
{
    return from + (int64_t)(torture_random(seed) % (uint32_t)(to - from + 1));
}
