/*
 * What a sweep found: a table, and result.json. One thread.
 */
#include <inttypes.h>

#include <jansson.h>

#include "base/json_file.h"
#include "bench_report.h"

void sweep_report_screen(FILE *to, const struct options *options, const struct bench *sweep)
{
    (void)fprintf(to, "\n%ld rounds of %ld s; median (least .. most)\n\n", options->repeat,
                  options->duration_s);
    (void)fprintf(to, "  %-16s %11s %6s  %-32s %s\n", "guard", "connections", "batch",
                  "purchases/s", "round trips per order");
    for (int i = 0; i < sweep->point_count; i++) {
        const struct bench_point *point = &sweep->points[i];
        char rate_text[64];

        if (point->count == 0) continue;
        struct spread rate = bench_report_spread(point->per_s, point->count);
        (void)snprintf(rate_text, sizeof rate_text, "%.0f (%.0f .. %.0f)", rate.median, rate.least,
                       rate.most);
        (void)fprintf(to, "  %-16s %11ld %6ld  %-32s %.3f%s%s\n", point->guard, point->connections,
                      point->batch, rate_text,
                      bench_report_spread(point->round_trips, point->count).median,
                      point->doubt[0] ? "  VOID: " : "", point->doubt);
    }
}

/* A number of each round's histogram. */
static json_t *quantiles(const struct bench_point *point, bool is_wait, double share)
{
    json_t *array = json_array();

    for (int i = 0; i < point->count; i++) {
        const struct lock_times *times = &point->locks[i];
        const struct histogram *histogram = is_wait ? &times->wait : &times->hold;
        (void)json_array_append_new(array, json_real(lock_times_quantile_ms(histogram, share)));
    }
    return array;
}

static json_t *lock_json(const struct bench_point *point, bool is_wait)
{
    json_t *counts = json_array();
    long long sum = 0;

    for (int i = 0; i < point->count; i++) {
        const struct lock_times *times = &point->locks[i];
        long long count = is_wait ? times->wait.count : times->hold.count;
        sum += count;
        (void)json_array_append_new(counts, json_integer(count));
    }
    if (sum == 0) { /* it takes no lock */
        json_decref(counts);
        return json_null();
    }
    return json_pack("{s:o,s:o,s:o,s:o}", "count", counts, "p50_ms", quantiles(point, is_wait, 0.5),
                     "p90_ms", quantiles(point, is_wait, 0.9), "p99_ms",
                     quantiles(point, is_wait, 0.99));
}

static json_t *point_json(const struct bench_point *point)
{
    json_t *object =
        json_pack("{s:s,s:I,s:I}", "guard", point->guard, "batch", (json_int_t)point->batch,
                  "connections", (json_int_t)point->connections);

    json_file_put(object, "purchases_per_s", bench_report_repeats(point->per_s, point->count));
    json_file_put(object, "round_trips_per_order",
                  bench_report_repeats(point->round_trips, point->count));
    json_file_put(object, "lock_wait", lock_json(point, true));
    json_file_put(object, "lock_hold", lock_json(point, false));
    json_file_put(object, "accepted", json_integer(point->accepted));
    json_file_put(object, "refused", json_integer(point->refused));
    json_file_put(object, "void", point->doubt[0] ? json_string(point->doubt) : json_null());
    return object;
}

bool sweep_report_write(const char *path, const struct options *options, const struct bench *sweep,
                        struct failure *failure)
{
    json_t *object = json_object();
    json_t *points = json_array();

    for (int i = 0; i < sweep->point_count; i++)
        (void)json_array_append_new(points, point_json(&sweep->points[i]));
    json_file_put(object, "mode", json_string("sweep"));
    json_file_put(object, "void", json_boolean(bench_run_is_void(sweep)));
    json_file_put(object, "points", points);
    json_file_put(object, "machine", bench_report_machine(&sweep->machine));
    json_file_put(object, "settings",
                  json_pack("{s:s,s:I,s:I,s:I,s:I}", "guards", options->sweep, "batch",
                            (json_int_t)sweep->guards.batch, "repeat", (json_int_t)options->repeat,
                            "duration_s", (json_int_t)options->duration_s, "seed",
                            (json_int_t)sweep->seed));
    json_file_put(object, "seconds", json_real(sweep->seconds));
    return json_file_write(path, object, failure);
}
