/*
 * lockcompare: every way to a lock side by side, in one run: what a pair costs, a hand-over, a crowd,
 * what each survives, and what it needs. Each cell of the table is a test that ran. One thread, always.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "actors.h"
#include "base/error.h"
#include "bench/moment.h"
#include "bench/plan.h"
#include "bench/process.h"
#include "fates.h"
#include "site.h"

enum { EXIT_USAGE = 2, EXIT_VOID = 3, EXIT_INTERRUPTED = 130, CROWD = 8, ONLY_MAX = 16 };

static const char help[] =
    "usage: lockcompare [options]\n"
    "\n"
    "Take the same lock by every way there is, on servers of its own: how long a pair of acquire "
    "and\n"
    "release takes, a hand-over to who waits, how many pairs 8 owners make; and who has the lock, "
    "who\n"
    "is told and which writes get in when holder, server, link or clock fail. Leases of 1 s, "
    "renewed.\n"
    "\n"
    "  --repeat N     rounds of the measurements [3]\n"
    "  --duration S   seconds of one measurement [0.5]\n"
    "  --only WAY     only this way; again for more\n"
    "  --list         print the ways\n"
    "  --json FILE    write the result there too\n"
    "  --help         this text\n"
    "\n"
    "It starts redis-server, and PostgreSQL and ZooKeeper where they are installed; from the "
    "folder of\n"
    "the sources. A way whose server is not installed is said to be not measured.\n"
    "Exit status: 0 measured; 2 bad option; 3 something could not be measured; 130 interrupted.\n";

struct figure {
    const char *name, *words;
    actor_part *part; /* NULL: of the same run as the one before */
    unsigned actors;
    double quantile; /* of the samples; 0: pairs per second */
};
static const struct figure figures[] = {
    {"pair", "a pair, p50, us", actors_pairs, 1, 0.5},
    {"handover", "hand-over, p50, us", actors_hand_over, 2, 0.5},
    {"handover_p99", "hand-over, p99, us", NULL, 0, 0.99},
    {"rate", "pairs/s, 8 owners", actors_pairs, CROWD, 0},
};
enum { FIGURES = sizeof figures / sizeof figures[0] };

struct arguments {
    const char *only[ONLY_MAX], *json;
    size_t only_count;
    unsigned repeat;
    double seconds;
};

/* ---- measuring ----------------------------------------------------------------------------------------- */

static double sum_up(struct board *board, const struct figure *figure, double seconds)
{
    unsigned pairs = 0;
    unsigned samples = atomic_load(&board->sample_count);

    for (unsigned i = 0; i < figure->actors; i++)
        pairs += atomic_load(&board->actors[i].pairs);
    if (figure->quantile <= 0) return pairs / seconds;
    return samples == 0
               ? 0
               : plan_quantile(board->samples_us, samples < SAMPLES_MAX ? samples : SAMPLES_MAX,
                               figure->quantile);
}

/* What they saw is on the board. */
static lk_status run_figure(const struct figure *figure, const struct site *site, double seconds,
                            struct board **out, struct lk_error *err)
{
    struct board *board = *out = actors_board_new();
    pid_t pids[ACTORS_MAX] = {0};
    lk_status status = board ? LK_OK : LKI_FAIL(err, LK_NO_MEMORY, "a board");

    for (unsigned i = 0; i < figure->actors && status == LK_OK; i++) {
        pids[i] =
            actors_start(board, i, &(struct actor){site->way, &site->urls, figure->part}, err);
        if (pids[i] == 0) status = LK_NO_MEMORY;
    }
    if (status == LK_OK) status = actors_await(board, figure->actors, err);
    if (status == LK_OK) {
        atomic_store(&board->is_go, true);
        moment_nap_us((int64_t)(seconds * 1e6));
        atomic_store(&board->is_over, true);
    }
    for (unsigned i = 0; i < ACTORS_MAX; i++)
        actors_end(pids[i]);
    for (unsigned i = 0; i < figure->actors && status == LK_OK; i++)
        if (*board->actors[i].why) status = LKI_FAIL(err, LK_SERVER, "%s", board->actors[i].why);
    return moment_interrupt_came() ? LKI_FAIL(err, LK_CANCELLED, "interrupted") : status;
}

static void put(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value);
}

static json_t *numbers(double *values, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(array, json_real(values[i]));
    return array;
}

static lk_status measure(const struct way *way, const struct arguments *arguments, json_t *to,
                         struct lk_error *err)
{
    double values[FIGURES][ROUNDS_MAX] = {{0}};
    struct board *board = NULL;
    struct site site;
    lk_status status = site_open(&site, way, false, err);

    for (unsigned n = 0; n < arguments->repeat * FIGURES && status == LK_OK; n++) {
        const unsigned i = n % FIGURES;

        if (figures[i].part)
            status = run_figure(&figures[i], &site, arguments->seconds, &board, err);
        if (status == LK_OK)
            values[i][n / FIGURES] = sum_up(board, &figures[i], arguments->seconds);
    }
    double memory_mib = site_memory_mib(&site);
    site_close(&site);
    if (status != LK_OK) return status;
    (void)printf("%s\n", way->words);
    for (unsigned i = 0; i < FIGURES; i++) {
        put(to, figures[i].name, numbers(values[i], arguments->repeat));
        (void)printf("  %-32s %.1f\n", figures[i].words,
                     plan_spread(values[i], arguments->repeat).median);
    }
    put(to, "servers", json_integer(way->servers));
    put(to, "memory_mib", json_real(memory_mib));
    (void)printf("  %-32s %u, %.0f MiB\n", "servers", way->servers, memory_mib);
    return LK_OK;
}

/* "free after 1021 ms, told after 987 ms, 1 write refused" */
static void print_seen(const struct fate *fate, const struct fate_seen *seen)
{
    (void)printf("  %-32s ", fate->words);
    if (seen->free_ms < 0) (void)printf("nobody else has it");
    if (*seen->why) (void)printf(" (%s)", seen->why);
    if (seen->free_ms >= 0) (void)printf("free after %.0f ms", seen->free_ms);
    if (seen->told_ms >= 0) (void)printf(", holder told after %.0f ms", seen->told_ms);
    (void)printf("; stale writes: %u let in, %u refused\n", seen->stale, seen->refused);
}

static lk_status survive(const struct way *way, json_t *to, struct lk_error *err)
{
    json_t *list = json_object();

    put(to, "fates", list);
    for (unsigned i = 0; i < fate_count; i++) {
        struct fate_seen seen;

        if (!fates_can_be(i, way)) continue;
        lk_status status = fates_play(i, way, &seen, err);
        if (status != LK_OK) return status;
        print_seen(&fates[i], &seen);
        put(list, fates[i].name,
            json_pack("{s:f,s:f,s:i,s:i,s:s}", "free_ms", seen.free_ms, "told_ms", seen.told_ms,
                      "stale", (int)seen.stale, "refused", (int)seen.refused, "why", seen.why));
    }
    return LK_OK;
}

/* ---- the run --------------------------------------------------------------------------------------------- */

static bool is_wanted(const struct arguments *arguments, const struct way *way)
{
    for (size_t i = 0; i < arguments->only_count; i++)
        if (strcmp(arguments->only[i], way->name) == 0) return true;
    return arguments->only_count == 0;
}

static json_t *compare(const struct way *way, const struct arguments *arguments, lk_status *status)
{
    struct lk_error err = {0};
    json_t *row = json_pack("{s:s,s:s}", "name", way->name, "words", way->words);

    *status = measure(way, arguments, row, &err);
    if (*status == LK_OK) *status = survive(way, row, &err);
    if (*status == LK_OK) return row;
    (void)printf("%s: not measured: %s\n", way->words, err.text);
    put(row, "void", json_string(err.text));
    return row;
}

static int run(const struct arguments *arguments)
{
    json_t *rows = json_array();
    int code = EXIT_SUCCESS;
    lk_status status = LK_OK;

    for (unsigned i = 0; i < way_count && status != LK_CANCELLED; i++) {
        if (!is_wanted(arguments, &ways[i])) continue;
        (void)json_array_append_new(rows, compare(&ways[i], arguments, &status));
        (void)fflush(stdout);
        if (status != LK_OK && status != LK_INVALID) code = EXIT_VOID;
    }
    if (status == LK_CANCELLED) code = EXIT_INTERRUPTED;
    json_t *result = json_pack("{s:s,s:i,s:f,s:o}", "mode", "ways", "lease_ms", WAY_LEASE_MS,
                               "duration_s", arguments->seconds, "rows", rows);
    if (arguments->json &&
        json_dump_file(result, arguments->json, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) != 0) {
        (void)fprintf(stderr, "lockcompare: %s: cannot be written\n", arguments->json);
        code = EXIT_VOID;
    }
    json_decref(result);
    return code;
}

static bool knows(const char *name)
{
    for (unsigned i = 0; i < way_count; i++)
        if (strcmp(ways[i].name, name) == 0) return true;
    return false;
}

static double number(double least, double most)
{
    char *end = NULL;
    double value = strtod(optarg, &end);

    return end == optarg || *end || !(value >= least && value <= most) ? -1 : value;
}

static int list_ways(void)
{
    for (unsigned i = 0; i < way_count; i++)
        (void)printf("%-10s %s\n", ways[i].name, ways[i].words);
    return EXIT_SUCCESS;
}

static const struct option options[] = {{"repeat", required_argument, NULL, 'r'},
                                        {"duration", required_argument, NULL, 'd'},
                                        {"only", required_argument, NULL, 'o'},
                                        {"list", no_argument, NULL, 'l'},
                                        {"json", required_argument, NULL, 'j'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

static bool take_option(int option, struct arguments *out)
{
    double value = 0;

    switch (option) {
    case 'j':
        out->json = optarg;
        return true;
    case 'r':
        value = number(1, ROUNDS_MAX);
        out->repeat = (unsigned)value;
        return value >= 1;
    case 'd':
        out->seconds = number(0.05, 60);
        return out->seconds > 0;
    case 'o':
        if (!knows(optarg) || out->only_count == ONLY_MAX) return false;
        out->only[out->only_count++] = optarg;
        return true;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.repeat = 3, .seconds = 0.5};
    int option = 0;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'h') return fputs(help, stdout) < 0;
        if (option == 'l') return list_ways();
        if (take_option(option, &arguments)) continue;
        (void)fprintf(stderr, "lockcompare: %s: bad option or value; see --help, --list\n",
                      argv[optind - 1]);
        return EXIT_USAGE;
    }
    if (optind < argc) return EXIT_USAGE;
    moment_interrupt_watch();
    return run(&arguments);
}
