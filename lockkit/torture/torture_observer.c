/*
 * See torture_observer.h. A look is one script that reads all keys at one moment, about every
 * plan->look_ms. What is seen is told when it is over: of a name, from the first look to the last of
 * those in a row that saw it. Nothing of lockkit's own is asked, neither its scripts nor its views.
 */
#include "torture_observer.h"

#include <unistd.h>

#include "test/support/lk_support.h"

enum { NS_PER_MS = 1000000, KEYS_MAX = 32, NAME_MAX_BYTES = 96 };

/* KEYS: the locks'. Per key { PTTL, the counter of its fences, names... }; -3: of a read/write lock, whose
   holders have a lease each. */
static const char look[] =
    "local all = {}\n"
    "for i, key in ipairs(KEYS) do\n"
    "  local kind = redis.call('TYPE', key).ok\n"
    "  local seen = {redis.call('PTTL', key), redis.call('GET', 'redisson_lock_token:{' .. key .. "
    "'}') or '0'}\n"
    "  if kind == 'string' then seen[3] = redis.call('GET', key) end\n"
    "  local fields = kind == 'hash' and redis.call('HGETALL', key) or {}\n"
    "  for n = 1, #fields, 2 do\n"
    "    if fields[n] == 'mode' then seen[1] = -3 else seen[#seen + 1] = fields[n] end\n"
    "  end\n"
    "  all[i] = seen\n"
    "end\n"
    "return all\n";

/* A name in a key, at all looks since the first; or a value of its counter. */
struct sighting {
    char name[NAME_MAX_BYTES];
    uint64_t fence;
    int64_t from_ns; /* the first look was sent */
    int64_t to_ns;   /* the last look was answered */
    int64_t ends_ns; /* by the first look */
};

struct watched {
    char key[TORTURE_KEY_MAX];
    struct sighting counter;
    struct sighting *names; /* owned */
    size_t count;
    size_t room;
};

struct observer {
    struct history_writer writer;
    lk_client *client; /* owned */
    struct watched keys[KEYS_MAX];
    unsigned key_count;
    int64_t from_ns; /* of the present look */
    int64_t to_ns;
};

/* ---- telling --------------------------------------------------------------------------------------- */

static void tell(const struct observer *observer, const struct watched *watched,
                 const struct sighting *sighting)
{
    bool is_name = sighting != &watched->counter;

    if (sighting->to_ns == 0) return;
    (void)dprintf(observer->writer.fd, "%lld %ld seen %s %s %s ok took=%lld ends=%lld fence=%llu\n",
                  (long long)sighting->to_ns, (long)getpid(), is_name ? "holder" : "counter",
                  watched->key, is_name ? sighting->name : "-",
                  (long long)(sighting->to_ns - sighting->from_ns), (long long)sighting->ends_ns,
                  (unsigned long long)sighting->fence);
}

/* Those that this look, if it is one, has not seen. */
static void tell_those_over(const struct observer *observer, struct watched *watched, int64_t to_ns)
{
    for (size_t i = watched->count; i-- > 0;) {
        if (watched->names[i].to_ns == to_ns) continue;
        tell(observer, watched, &watched->names[i]);
        watched->names[i] = watched->names[--watched->count];
    }
}

/* ---- looking --------------------------------------------------------------------------------------- */

static struct sighting *sighting_of(struct watched *watched, const char *name)
{
    for (size_t i = 0; i < watched->count; i++) {
        if (strcmp(watched->names[i].name, name) == 0) return &watched->names[i];
    }
    if (watched->count == watched->room) {
        watched->room = watched->room ? 2 * watched->room : 16;
        watched->names = reallocarray(watched->names, watched->room, sizeof *watched->names);
        if (!watched->names) abort(); /* a history with holes would accuse somebody */
    }
    struct sighting *sighting = &watched->names[watched->count++];
    *sighting = (struct sighting){0};
    (void)snprintf(sighting->name, sizeof sighting->name, "%s", name);
    return sighting;
}

static void see_name(const struct observer *observer, struct watched *watched, const char *name,
                     long long ttl_ms)
{
    struct sighting *sighting = sighting_of(watched, name);

    if (sighting->to_ns == 0) {
        sighting->from_ns = observer->from_ns;
        sighting->ends_ns = ttl_ms < -1    ? 0
                            : ttl_ms == -1 ? -1
                                           : observer->to_ns + (ttl_ms + 1) * NS_PER_MS;
    }
    sighting->to_ns = observer->to_ns;
}

static void see_counter(const struct observer *observer, struct watched *watched, uint64_t fence)
{
    if (watched->counter.to_ns == 0 || watched->counter.fence != fence) {
        tell(observer, watched, &watched->counter);
        watched->counter = (struct sighting){.fence = fence, .from_ns = observer->from_ns};
    }
    watched->counter.to_ns = observer->to_ns;
}

static void see(struct observer *observer, const lk_reply *reply)
{
    for (unsigned i = 0; i < observer->key_count && i < lk_reply_count(reply); i++) {
        const lk_reply *key = lk_reply_at(reply, i);
        struct watched *watched = &observer->keys[i];
        const char *counter = lk_reply_bytes(lk_reply_at(key, 1)).data;

        see_counter(observer, watched, strtoull(counter, NULL, 10));
        for (size_t k = 2; k < lk_reply_count(key); k++)
            see_name(observer, watched, lk_reply_bytes(lk_reply_at(key, k)).data,
                     lk_reply_integer(lk_reply_at(key, 0), 0));
        tell_those_over(observer, watched, observer->to_ns);
    }
}

/* One that is not answered is none. */
static void take_look(struct observer *observer)
{
    char count[8];
    struct lk_bytes words[3 + KEYS_MAX] = {LK_BYTES("EVAL"), lk_bytes_of(look), lk_bytes_of(count)};
    struct lk_command command = {words, 3 + observer->key_count};
    lk_reply *reply = NULL;

    (void)snprintf(count, sizeof count, "%u", observer->key_count);
    words[2] = lk_bytes_of(count);
    for (unsigned i = 0; i < observer->key_count; i++)
        words[3 + i] = lk_bytes_of(observer->keys[i].key);
    observer->from_ns = torture_now_ns();
    if (lk_client_call(observer->client, &command, 1, 0, &reply, NULL) != LK_OK) return;
    observer->to_ns = torture_now_ns();
    if (lk_reply_count(reply) == observer->key_count) {
        (void)dprintf(observer->writer.fd, "%lld %ld look - - - ok took=%lld\n",
                      (long long)observer->to_ns, (long)getpid(),
                      (long long)(observer->to_ns - observer->from_ns));
        see(observer, reply);
    }
    lk_reply_free(reply);
}

int torture_observer_main(const struct torture_plan *plan, const struct torture_board *board)
{
    struct observer observer = {.key_count = plan->kind->watched};

    if (!history_open(&observer.writer, plan->history_path)) return EXIT_FAILURE;
    for (unsigned i = 0; i < observer.key_count; i++)
        torture_key_name(plan, i + 1, observer.keys[i].key);
    observer.client =
        lk_client_open(&(struct lk_client_options){.url = plan->url, .pool_size = 1}, NULL);
    while (observer.client && observer.key_count > 0 && atomic_load(&board->phase) < PHASE_SWEEP) {
        take_look(&observer);
        lks_nap(plan->look_ms);
    }
    for (unsigned i = 0; i < observer.key_count; i++) {
        tell_those_over(&observer, &observer.keys[i], 0);
        tell(&observer, &observer.keys[i], &observer.keys[i].counter);
        free(observer.keys[i].names);
    }
    lk_client_close(observer.client);
    history_close(&observer.writer);
    return observer.client ? EXIT_SUCCESS : EXIT_FAILURE;
}
