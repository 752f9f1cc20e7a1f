/*
 * hostile: attack the service with cases out of a grammar, and see that nothing happens: nobody else
 * waits, no answer is malformed or another's, nothing crashes, hangs or leaks.
 */
#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "common/flags.h"
#include "hostile_grammar.h"
#include "hostile_http.h"
#include "hostile_world.h"

enum {
    ATTACKERS = 40,
    CONTROLS = 3,
    IN_SIZE = 512 * 1024,
    STREAM_MS = 300,      /* the longest that one is read: events have no end */
    PATIENCE_MS = 120,    /* of an attacker with a connection that nothing comes on */
    ANSWER_MS = 10000,    /* within this a control has its answer */
    PROBE_MS = 1000,      /* and a probe */
    PROBE_SLOW_MS = 5000, /* of a build with sanitizers, which is several times slower */
    SETTLE_MS = 20000,
    PROGRESS_MS = 5000,
    OF_REDIS_MAX = 16,          /* connections to it that are kept */
    RSS_GROWTH_KIB = 16 * 1024, /* from a third of the time on */
    WHY_SIZE = 8192,
    EXIT_FOUND = 1,
    EXIT_FAILED = 4,
    EXIT_STOPPED = 130
};

/* One build under attack. */
struct attack {
    struct hostile_world world;
    uint64_t seed;
    int64_t probe_ms; /* may take */
    atomic_ullong next, answers, control_answers, probes;
    atomic_llong slowest_ms;
    atomic_bool is_over;
    pthread_mutex_t mutex; /* guards found */
    char found[WHY_SIZE];
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal)
{
    (void)signal;
    is_interrupted = 1;
}

/* The first finding stays, and ends the attack. */
__attribute__((format(printf, 2, 3))) static void find(struct attack *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)pthread_mutex_lock(&self->mutex);
    if (!self->found[0]) (void)vsnprintf(self->found, sizeof self->found, format, args);
    (void)pthread_mutex_unlock(&self->mutex);
    va_end(args);
    atomic_store(&self->is_over, true);
}

/* ---- attackers --------------------------------------------------------------------------------- */

static void print_bytes(FILE *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)bytes[i];

        if (byte == '\n' || (byte >= ' ' && byte <= '~')) {
            (void)fputc(byte, out);
        } else if (byte != '\r') {
            (void)fprintf(out, "\\x%02x", byte);
        }
    }
    (void)fputc('\n', out);
}

static void send_pieces(int fd, const struct hostile_case *from)
{
    size_t sent = 0;

    for (unsigned i = 0; i <= from->cuts; i++) {
        size_t end = i < from->cuts ? from->cut_at[i] : from->len;

        if (end <= sent) continue;
        if (!app_send(fd, from->bytes + sent, end - sent)) return; /* closed: see what it said */
        sent = end;
        if (i < from->cuts && from->pause_ms > 0) clock_pause_ms(from->pause_ms);
    }
}

static void end_writing(int fd, enum hostile_ending ending)
{
    const struct linger at_once = {.l_onoff = 1};

    if (ending == ENDING_HALF_CLOSE) (void)shutdown(fd, SHUT_WR);
    if (ending == ENDING_RESET)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* Read until it is closed, or nothing comes for a while; true when it was closed. */
static bool read_all(int fd, char *in, size_t *out_len)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int64_t deadline_ms = clock_mono_ms() + STREAM_MS;

    *out_len = 0;
    in[0] = '\0';
    while (*out_len + 1 < IN_SIZE && clock_mono_ms() < deadline_ms &&
           poll(&wait, 1, PATIENCE_MS) == 1) {
        ssize_t got = recv(fd, in + *out_len, IN_SIZE - 1 - *out_len, 0);

        if (got <= 0) return true;
        *out_len += (size_t)got;
        in[*out_len] = '\0';
    }
    return false;
}

static void check_answers(struct attack *self, uint64_t seed, const struct hostile_case *from,
                          const char *in, size_t len, bool is_closed)
{
    struct hostile_answer answer = {0};
    char why[HOSTILE_WHY_SIZE] = "half an answer";
    char own[32];
    size_t used = 0;

    (void)snprintf(own, sizeof own, "f-%" PRIx64 "-", seed);
    while (used < len && !from->has_head) {
        long taken = hostile_read_answer(in + used, len - used, false, &answer, why);

        if (taken == 0 && (!is_closed || from->ending == ENDING_RESET)) return;
        if (taken <= 0) {
            find(self, "case %" PRIx64 ": %s:\n%.*s", seed, why, 4000, in + used);
            return;
        }
        if (answer.request_id[0] && !from->is_mutated &&
            strncmp(answer.request_id, own, strlen(own)) != 0)
            find(self, "case %" PRIx64 ": got the answer to %s", seed, answer.request_id);
        if (answer.status == 500) find(self, "case %" PRIx64 ": answered 500", seed);
        used += (size_t)taken;
        atomic_fetch_add(&self->answers, 1);
    }
}

static void play(struct attack *self, uint64_t seed, struct hostile_case *made, char *in,
                 bool is_shown)
{
    uint16_t port = 0;
    size_t len = 0;
    bool is_closed = false;
    int fd = -1;

    hostile_make_case(seed, made);
    fd = hostile_connect(hostile_world_base(&self->world, made->door), INADDR_LOOPBACK,
                         INADDR_LOOPBACK, &port);
    if (fd < 0) return; /* the probe will tell */
    send_pieces(fd, made);
    end_writing(fd, made->ending);
    if (made->ending != ENDING_RESET) is_closed = read_all(fd, in, &len);
    (void)close(fd);
    if (is_shown) {
        (void)printf("---- sent to door %d, ending %d, %u cuts, %u ms apart:\n", made->door,
                     made->ending, made->cuts, made->pause_ms);
        print_bytes(stdout, made->bytes, made->len);
        (void)printf("---- came, %s:\n", is_closed ? "and closed" : "and stayed open");
        print_bytes(stdout, in, len);
    }
    check_answers(self, seed, made, in, len, is_closed);
}

static void *attack_it(void *arg)
{
    struct attack *self = arg;
    struct hostile_case *made = malloc(sizeof *made);
    char *in = malloc(IN_SIZE);

    if (!made || !in) abort();
    while (!atomic_load(&self->is_over))
        play(self, hostile_seed_at(self->seed, atomic_fetch_add(&self->next, 1)), made, in, false);
    free(in);
    free(made);
    return NULL;
}

/* ---- others ------------------------------------------------------------------------------------ */

/* From an address of their own, as people are. */
static int connect_other(const struct attack *self, enum hostile_door door)
{
    uint16_t port = 0;

    return hostile_connect(hostile_world_base(&self->world, door), INADDR_LOOPBACK + 8,
                           INADDR_LOOPBACK, &port);
}

/* Ask on *fd (-1: connect first), which is closed where the answer says so; false: no answer. */
static bool ask(struct attack *self, int *fd, enum hostile_door door, const char *request,
                int64_t limit_ms, struct hostile_answer *out)
{
    char in[8192];
    char why[HOSTILE_WHY_SIZE] = "nothing came";
    int64_t begin_ms = clock_mono_ms();
    size_t len = 0;
    bool good = false;

    if (*fd < 0) *fd = connect_other(self, door);
    if (*fd >= 0 && app_send(*fd, request, strlen(request))) {
        len = app_receive(*fd, in, sizeof in, "\r\n\r\n", limit_ms);
        while (hostile_read_answer(in, len, false, out, why) == 0 &&
               clock_mono_ms() - begin_ms < limit_ms) {
            size_t more = app_receive(*fd, in + len, sizeof in - len, "\n", limit_ms);

            if (more == 0) break;
            len += more;
        }
        good = hostile_read_answer(in, len, false, out, why) == (long)len;
    }
    if (!good) {
        find(self, "%.60s: no good answer after %lld ms: %s: %.*s", request,
             (long long)(clock_mono_ms() - begin_ms), why, (int)len, in);
    }
    if (*fd >= 0 && (!good || out->closes)) {
        (void)close(*fd);
        *fd = -1;
    }
    return good;
}

static void *probe(void *arg)
{
    struct attack *self = arg;
    static const char request[] =
        "GET /livez HTTP/1.1\r\nHost: here\r\nX-Request-Id: probe\r\nConnection: close\r\n\r\n";

    for (unsigned turn = 0; !atomic_load(&self->is_over); turn++) {
        struct hostile_answer answer;
        int64_t begin_ms = clock_mono_ms();
        int64_t took_ms = 0;
        int fd = -1;

        if (!ask(self, &fd, (enum hostile_door)(turn % DOOR_COUNT), request, self->probe_ms,
                 &answer))
            break;
        took_ms = clock_mono_ms() - begin_ms;
        if (took_ms > atomic_load(&self->slowest_ms)) atomic_store(&self->slowest_ms, took_ms);
        if (answer.status != 200 || strcmp(answer.request_id, "probe") != 0)
            find(self, "/livez: %d for %s", answer.status, answer.request_id);
        atomic_fetch_add(&self->probes, 1);
        clock_pause_ms(50);
    }
    return NULL;
}

/* One buyer buys, and looks; the answers are his. Where there is no order, or nobody could look (503), it is not
   held against it. */
static bool control_once(struct attack *self, int *fd, const char *name)
{
    static const char *const lines[] = {"POST /api/v1/sales/cup/orders",
                                        "GET /api/v1/sales/cup/orders/me"};
    struct hostile_answer answer;
    char order[HOSTILE_NAME_SIZE] = "";
    char request[256];

    for (int i = 0; i < 2; i++) {
        (void)snprintf(request, sizeof request,
                       "%s HTTP/1.1\r\nHost: here\r\nX-User-Id: %s\r\nX-Request-Id: %s-%d\r\n"
                       "Content-Length: 0\r\n\r\n",
                       lines[i], name, name, i);
        if (!ask(self, fd, DOOR_LAB, request, ANSWER_MS, &answer)) return false;
        if (strncmp(answer.request_id, name, strlen(name)) != 0 ||
            answer.request_id[strlen(name) + 1] != '0' + i ||
            (answer.status < 300 && strcmp(answer.buyer, name) != 0) ||
            (answer.status < 500 && order[0] && strcmp(answer.id, order) != 0))
            find(self, "%s got the answer of %s, buyer %s, order %s instead of %s", name,
                 answer.request_id, answer.buyer, answer.id, order);
        if (answer.status == 201) memcpy(order, answer.id, sizeof order);
        if (answer.status != (i == 0 ? 201 : 200) && answer.status != 503)
            find(self, "%s: %s: %d %s", name, lines[i], answer.status, answer.problem);
        if (answer.status == 503) break;
        atomic_fetch_add(&self->control_answers, 1);
    }
    return true;
}

static void *control(void *arg)
{
    static atomic_uint threads;
    struct attack *self = arg;
    unsigned thread = atomic_fetch_add(&threads, 1);
    char name[40];
    int fd = -1;

    for (unsigned turn = 0; !atomic_load(&self->is_over); turn++) {
        (void)snprintf(name, sizeof name, "control-%u-%u", thread, turn);
        if (!control_once(self, &fd, name)) break;
        clock_pause_ms(2);
    }
    if (fd >= 0) (void)close(fd);
    return NULL;
}

/* ---- what a service holds ------------------------------------------------------------------------ */

static unsigned open_files(pid_t pid)
{
    char path[64];
    unsigned count = 0;
    DIR *dir = NULL;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", pid);
    dir = opendir(path);
    while (dir && readdir(dir)) /* NOLINT(concurrency-mt-unsafe): a stream of our own */
        count++;
    if (dir) (void)closedir(dir);
    return count;
}

static long rss_kib(pid_t pid)
{
    char path[64];
    char line[128] = "";
    FILE *file = NULL;

    (void)snprintf(path, sizeof path, "/proc/%d/statm", pid);
    file = fopen(path, "re");
    if (!file) return -1;
    if (!fgets(line, sizeof line, file)) line[0] = '\0';
    (void)fclose(file);
    return strtol(strchr(line, ' ') ? strchr(line, ' ') : line, NULL, 10) *
           (sysconf(_SC_PAGESIZE) / 1024);
}

struct holding {
    const struct attack *attack;
    unsigned files[HOSTILE_SERVICES]; /* before */
};

static bool files_are_back(void *arg)
{
    const struct holding *self = arg;

    for (int i = 0; i < HOSTILE_SERVICES; i++) {
        if (open_files(self->attack->world.services[i].pid) > self->files[i] + OF_REDIS_MAX)
            return false;
    }
    return true;
}

/* ---- a run --------------------------------------------------------------------------------------- */

static void report(const struct attack *self, const char *build, int64_t begin_ms)
{
    (void)printf(
        "hostile: %s: %lld s, %llu cases, %llu answers; %llu of controls, %llu probes, the "
        "slowest %lld ms; %u and %u files, %ld and %ld MiB\n",
        build, (long long)((clock_mono_ms() - begin_ms) / 1000),
        (unsigned long long)atomic_load(&self->next),
        (unsigned long long)atomic_load(&self->answers),
        (unsigned long long)atomic_load(&self->control_answers),
        (unsigned long long)atomic_load(&self->probes), (long long)atomic_load(&self->slowest_ms),
        open_files(self->world.services[0].pid), open_files(self->world.services[1].pid),
        rss_kib(self->world.services[0].pid) / 1024, rss_kib(self->world.services[1].pid) / 1024);
    (void)fflush(stdout);
}

/* Let the attack go on until its time is over; memory grows no more from a third of it on. */
static void watch(struct attack *self, const char *build, int64_t length_ms)
{
    int64_t begin_ms = clock_mono_ms();
    int64_t report_ms = begin_ms + PROGRESS_MS;
    long warm_kib[HOSTILE_SERVICES] = {0};
    bool is_plain = self->probe_ms == PROBE_MS; /* sanitizers keep what was freed */

    while (!atomic_load(&self->is_over) && !is_interrupted &&
           clock_mono_ms() - begin_ms < length_ms) {
        clock_pause_ms(20);
        for (int i = 0; i < HOSTILE_SERVICES; i++) {
            if (warm_kib[i] == 0 && clock_mono_ms() - begin_ms > length_ms / 3)
                warm_kib[i] = rss_kib(self->world.services[i].pid);
        }
        if (clock_mono_ms() < report_ms) continue;
        report(self, build, begin_ms);
        report_ms += PROGRESS_MS;
    }
    for (int i = 0; i < HOSTILE_SERVICES && is_plain && warm_kib[i]; i++) {
        long now_kib = rss_kib(self->world.services[i].pid);

        if (now_kib > warm_kib[i] + RSS_GROWTH_KIB)
            find(self, "memory grows: %ld KiB, then %ld", warm_kib[i], now_kib);
    }
    report(self, build, begin_ms);
}

static void run_threads(struct attack *self, const char *build, int64_t length_ms)
{
    pthread_t threads[ATTACKERS + CONTROLS + 1];
    size_t count = 0;

    for (; count < sizeof threads / sizeof threads[0]; count++) {
        void *(*run)(void *) = count == 0 ? probe : count <= CONTROLS ? control : attack_it;

        if (pthread_create(&threads[count], NULL, run, self) != 0) abort();
    }
    watch(self, build, length_ms);
    atomic_store(&self->is_over, true);
    while (count > 0)
        (void)pthread_join(threads[--count], NULL);
}

/* Redis connections and the like are made when they are needed first. */
static void warm_up(struct attack *self)
{
    run_threads(self, "warm-up", 700);
    atomic_store(&self->is_over, false);
}

/* The status of the run. */
static int attack_build(const char *build, uint64_t seed, int64_t length_ms,
                        const uint64_t *one_case)
{
    struct attack *self = calloc(1, sizeof *self);
    struct holding holding = {.attack = self};
    static char why[WHY_SIZE];
    int status = EXIT_FAILED;

    if (!self || pthread_mutex_init(&self->mutex, NULL) != 0) abort();
    self->seed = seed;
    self->probe_ms = strstr(build, "san") ? PROBE_SLOW_MS : PROBE_MS;
    if (!hostile_world_open(&self->world, build, "info")) {
        (void)fprintf(stderr, "hostile: %s/seckilld did not start\n", build);
    } else if (one_case) {
        struct hostile_case *made = malloc(sizeof *made);
        char *in = malloc(IN_SIZE);

        if (!made || !in) abort();
        play(self, *one_case, made, in, true);
        free(in);
        free(made);
        status = EXIT_SUCCESS;
    } else {
        warm_up(self);
        for (int i = 0; i < HOSTILE_SERVICES; i++)
            holding.files[i] = open_files(self->world.services[i].pid);
        if (!self->found[0]) run_threads(self, build, length_ms);
        if (!self->found[0] && !app_eventually(files_are_back, &holding, SETTLE_MS))
            find(self, "files stay open: %u, %u before", holding.files[0], holding.files[1]);
        status = EXIT_SUCCESS;
    }
    if (!hostile_world_close(&self->world, why, sizeof why) && status == EXIT_SUCCESS) {
        (void)fprintf(stderr, "hostile: %s, seed %" PRIu64 ": FOUND: %s\n", build, seed, why);
        status = EXIT_FOUND;
    }
    if (self->found[0]) {
        (void)fprintf(stderr, "hostile: %s, seed %" PRIu64 ": FOUND: %s\n", build, seed,
                      self->found);
        status = EXIT_FOUND;
    }
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
    return status;
}

struct arguments {
    int64_t seconds;
    uint64_t seed, one_case;
    bool is_one_case;
    struct flag_texts builds;
};

static bool take_case(const struct flag *flag, void *to, const char *value, struct failure *failure)
{
    struct arguments *out = to;
    char *end = NULL;

    out->one_case = strtoull(value, &end, 16);
    out->is_one_case = end != value && !*end;
    return out->is_one_case ||
           failure_set(failure, "--%s: \"%s\" is no seed of a case", flag->name, value);
}

#define AT(field) offsetof(struct arguments, field)

static const struct flag flags[] = {
    {"seconds", FLAG_NUMBER, AT(seconds), 1, INT32_MAX, "N", .help = "how long in all [60]"},
    {"seed", FLAG_NUMBER, AT(seed), 0, INT64_MAX, "N",
     .help = "of the run; case N of it has the same bytes each time [random]"},
    {"case", FLAG_TAKEN, .value = "SEED", .take = take_case,
     .help = "play that one case, show it and what came back"},
    {"help", FLAG_HELP, .help = "this text"},
};

static const struct flags command_line = {
    .program = "hostile",
    .head = "usage: hostile [options] [BUILD...]\n"
            "\n"
            "Attack the seckilld in each BUILD (a folder) [build/release], one after the other, "
            "with malformed\n"
            "and half-right HTTP, JSON and tokens, and check that others are served as if nothing "
            "was.\n"
            "\n",
    .tail = "\n"
            "Exit status: 0 nothing found; 1 found something; 2 wrong usage; 4 could not run; 130 "
            "interrupted.\n",
    .list = flags,
    .count = sizeof flags / sizeof flags[0],
    .column = 13,
    .words = &(const struct flag){.kind = FLAG_TEXTS, .name = "BUILD", .offset = AT(builds)},
};

int main(int argc, char **argv)
{
    static struct arguments given = {.seconds = 60};
    struct sigaction action = {.sa_handler = interrupt};

    if (getrandom(&given.seed, sizeof given.seed, 0) != sizeof given.seed) abort();
    given.seed >>= 32; /* short enough to be typed */
    int status = flags_main(&command_line, argc, argv, &given);
    if (status >= 0) return status;
    if (given.builds.count == 0) given.builds.list[given.builds.count++] = "build/release";
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)printf("hostile: seed %" PRIu64 ", %" PRId64 " s (again: --seed %" PRIu64 ")\n",
                 given.seed, given.seconds, given.seed);
    status = EXIT_SUCCESS;
    for (size_t i = 0; i < given.builds.count && status == EXIT_SUCCESS && !is_interrupted; i++)
        status = attack_build(given.builds.list[i], given.seed,
                              given.seconds * 1000 / (int64_t)given.builds.count,
                              given.is_one_case ? &given.one_case : NULL);
    return is_interrupted ? EXIT_STOPPED : status;
}
