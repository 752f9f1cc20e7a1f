/*
 * See classroom.h.
 */
#include "classroom.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hex.h"

#define SALES  "class-" /* how learners' sales begin */
#define COOKIE "seat="
enum { CHANCE_SIZE = 9 };

struct seat {
    struct class_seat seen; /* number 0: free */
    char token[CLASS_TOKEN_SIZE];
    char chance[CHANCE_SIZE]; /* in its sales' names, so that they are new after a restart */
    bool is_playing;
};

struct classroom {
    pthread_mutex_t mutex; /* guards all below */
    unsigned count;
    struct seat seats[];
};

struct classroom *classroom_new(unsigned seats)
{
    struct classroom *self = calloc(1, sizeof *self + seats * sizeof self->seats[0]);

    if (!self) return NULL;
    self->count = seats;
    (void)pthread_mutex_init(&self->mutex, NULL);
    return self;
}

void classroom_free(struct classroom *self)
{
    if (!self) return;
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
}

/* Random hex digits, and a NUL. */
static bool draw(char *out, size_t size)
{
    unsigned char bytes[CLASS_TOKEN_SIZE / 2];

    if (getrandom(bytes, size / 2, 0) != (ssize_t)(size / 2)) return false;
    hex_write(bytes, size / 2, out);
    return true;
}

/* With the mutex, until leave(): the seat where somebody sits; NULL: none. */
static struct seat *enter(struct classroom *self, unsigned number)
{
    (void)pthread_mutex_lock(&self->mutex);
    if (number == 0 || number > self->count) return NULL;
    return self->seats[number - 1].seen.number ? &self->seats[number - 1] : NULL;
}

static bool leave(struct classroom *self, bool answer)
{
    (void)pthread_mutex_unlock(&self->mutex);
    return answer;
}

bool classroom_take(struct classroom *self, const char *name, char token[CLASS_TOKEN_SIZE],
                    struct class_seat *out)
{
    struct seat drawn = {0};
    unsigned number = 1;

    if (!draw(drawn.token, sizeof drawn.token) || !draw(drawn.chance, sizeof drawn.chance))
        return false;
    (void)enter(self, 0);
    while (number <= self->count && self->seats[number - 1].seen.number)
        number++;
    if (number > self->count) return leave(self, false);
    drawn.seen.number = number;
    drawn.seen.seen_ms = clock_mono_ms();
    (void)stpncpy(drawn.seen.name, name, CLASS_NAME_MAX);
    self->seats[number - 1] = drawn;
    *out = drawn.seen;
    (void)stpcpy(token, drawn.token);
    return leave(self, true);
}

/* The value of our cookie in "a=1; seat=...; b=2"; NULL: it is not there, or of another length. */
static const char *token_in(const char *cookie)
{
    for (; cookie; cookie = strchr(cookie, ';')) {
        cookie += strspn(cookie, "; ");
        if (strncmp(cookie, COOKIE, sizeof COOKIE - 1) != 0) continue;
        cookie += sizeof COOKIE - 1;
        return strcspn(cookie, ";") == CLASS_TOKEN_SIZE - 1 ? cookie : NULL;
    }
    return NULL;
}

/* In a time that tells nothing of where they differ. */
static bool is_same(const char *ours, const char *theirs)
{
    unsigned char difference = 0;

    for (size_t i = 0; i < CLASS_TOKEN_SIZE - 1; i++)
        difference |= (unsigned char)(ours[i] ^ theirs[i]);
    return difference == 0;
}

unsigned classroom_find(struct classroom *self, const char *cookie)
{
    const char *token = token_in(cookie);
    unsigned found = 0;

    if (!token) return 0;
    (void)enter(self, 0);
    for (unsigned i = 0; i < self->count && !found; i++) {
        if (!self->seats[i].seen.number || !is_same(self->seats[i].token, token)) continue;
        self->seats[i].seen.seen_ms = clock_mono_ms();
        found = i + 1;
    }
    (void)leave(self, true);
    return found;
}

bool classroom_look(struct classroom *self, unsigned number, struct class_seat *out)
{
    const struct seat *seat = enter(self, number);

    if (seat) *out = seat->seen;
    return leave(self, seat);
}

bool classroom_leave(struct classroom *self, unsigned number)
{
    struct seat *seat = enter(self, number);

    if (seat) *seat = (struct seat){.is_playing = false};
    return leave(self, seat);
}

bool classroom_next_sale(struct classroom *self, unsigned number, struct sale_id *out)
{
    struct seat *seat = enter(self, number);
    struct class_seat *seen = seat ? &seat->seen : NULL;

    if (!seen || seen->sales == CLASS_SALES_MAX) return leave(self, false);
    (void)snprintf(seen->sale.text, sizeof seen->sale.text, SALES "%02u-%s-%u", number,
                   seat->chance, ++seen->sales);
    *out = seen->sale;
    return leave(self, true);
}

bool classroom_may_see(struct classroom *self, unsigned number, const char *sale)
{
    if (strncmp(sale, SALES, sizeof SALES - 1) != 0) return true;
    const struct seat *seat = enter(self, number);

    return leave(self, seat && strcmp(seat->seen.sale.text, sale) == 0);
}

bool classroom_begin_play(struct classroom *self, unsigned number, const char *run,
                          const char *schedule)
{
    if (!self || number == 0) return true;
    struct seat *seat = enter(self, number);
    struct class_seat *seen = seat ? &seat->seen : NULL;

    if (!seen || seat->is_playing) return leave(self, !seen);
    seat->is_playing = true;
    seen->plays++;
    (void)snprintf(seen->run, sizeof seen->run, "%s", run);
    (void)snprintf(seen->schedule, sizeof seen->schedule, "%s", schedule);
    return leave(self, true);
}

void classroom_end_play(struct classroom *self, unsigned number, bool is_broken)
{
    if (!self || number == 0) return;
    struct seat *seat = enter(self, number);

    if (seat) seat->is_playing = false;
    if (seat && is_broken) seat->seen.broken++;
    (void)leave(self, true);
}
