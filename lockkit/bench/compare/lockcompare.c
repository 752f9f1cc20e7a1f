/*
 * lockcompare: every way to a lock side by side, in one run: what a pair costs, a hand-over, a crowd,
 * what each survives, and what it needs. Each cell of the table is a test that ran. One thread, always.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "actors.h"
#include "base/error.h"
#include "bench/moment.h"
#include "bench/plan.h"
#include "bench/process.h"
#include "common/flags.h"
#include "fates.h"
#include "site.h"

enum { EXIT_USAGE = 2, EXIT_VOID = 3, EXIT_INTERRUPTED = 130, CROWD = 8 };

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
    struct flag_texts only; /* ways; none: all */
    const char *json;
    uint64_t repeat;
    int64_t duration_ms;
    bool is_list;
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
            status =
                run_figure(&figures[i], &site, (double)arguments->duration_ms / 1000, &board, err);
        if (status == LK_OK)
            values[i][n / FIGURES] =
                sum_up(board, &figures[i], (double)arguments->duration_ms / 1000);
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
    for (size_t i = 0; i < arguments->only.count; i++)
        if (strcmp(arguments->only.list[i], way->name) == 0) return true;
    return arguments->only.count == 0;
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
                               "duration_s", (double)arguments->duration_ms / 1000, "rows", rows);
    if (arguments->json &&
        json_dump_file(result, arguments->json, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) != 0) {
        (void)fprintf(stderr, "lockcompare: %s: cannot be written\n", arguments->json);
        code = EXIT_VOID;
    }
    json_decref(result);
    return code;
}

static bool take_way(const struct flag *flag, void *to, const char *value, struct failure *failure)
{
    struct arguments *out = to;

    for (unsigned i = 0; i < way_count && out->only.count < FLAG_TEXTS_MAX; i++) {
        if (strcmp(ways[i].name, value) != 0) continue;
        out->only.list[out->only.count++] = value;
        return true;
    }
    return failure_set(failure, "--%s: there is no \"%s\"; see --list", flag->name, value);
}

static int list_ways(void)
{
    for (unsigned i = 0; i < way_count; i++)
        (void)printf("%-10s %s\n", ways[i].name, ways[i].words);
    return EXIT_SUCCESS;
}

#define AT(field) offsetof(struct arguments, field)

static const struct flag flags[] = {
    {"repeat", FLAG_NUMBER, AT(repeat), 1, ROUNDS_MAX, "N",
     .help = "rounds of the measurements [3]"},
    {"duration", FLAG_SECONDS, AT(duration_ms), 50, 60000, "S",
     .help = "seconds of one measurement [0.5]"},
    {"only", FLAG_TAKEN, .value = "WAY", .take = take_way, .help = "only this way; again for more"},
    {"list", FLAG_SWITCH, AT(is_list), .help = "print the ways"},
    {"json", FLAG_TEXT, AT(json), .value = "FILE", .help = "write the result there too"},
    {"help", FLAG_HELP, .help = "this text"},
};

static const struct flags command_line = {
    .program = "lockcompare",
    .head =
        "usage: lockcompare [options]\n"
        "\n"
        "Take the same lock by every way there is, on servers of its own: how long a pair of "
        "acquire and\n"
        "release takes, a hand-over to who waits, how many pairs 8 owners make; and who has the "
        "lock, who\n"
        "is told and which writes get in when holder, server, link or clock fail. Leases of 1 s, "
        "renewed.\n"
        "\n",
    .tail =
        "\n"
        "It starts redis-server, and PostgreSQL and ZooKeeper where they are installed; from the "
        "folder of\n"
        "the sources. A way whose server is not installed is said to be not measured.\n"
        "Exit status: 0 measured; 2 bad option; 3 something could not be measured; 130 "
        "interrupted.\n",
    .list = flags,
    .count = sizeof flags / sizeof flags[0],
    .column = 14,
};

int main(int argc, char **argv)
{
    static struct arguments arguments = {.repeat = 3, .duration_ms = 500};

    int status = flags_main(&command_line, argc, argv, &arguments);
    if (status >= 0) return status;
    if (arguments.is_list) return list_ways();
    moment_interrupt_watch();
    return run(&arguments);
}
