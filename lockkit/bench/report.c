/*
 * See report.h. A file is written beside its place and then moved there. One thread.
 */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <jansson.h>

#include "base/error.h"
#include "moment.h"

bool report_is_void(const struct plan *plan)
{
    static struct result result;

    for (size_t i = 0; i < plan->row_count; i++) {
        if (!plan->rows[i].is_wanted) continue;
        plan_result(&plan->rows[i], &result);
        if (result.doubt && !result.is_absent) return true;
    }
    return false;
}

/* ---- the machine: /proc, uname, git ------------------------------------------------------------ */

/* What stands between `label` and the end of the word, in the first line that has it. */
static void find_line(FILE *file, const char *label, const char *until, char *out)
{
    char line[512];
    const char *found = NULL;

    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, label);
    if (found) found += strlen(label);
    size_t len = found ? strcspn(found, until) : 0;
    (void)snprintf(out, MACHINE_TEXT_MAX, "%.*s", len ? (int)len : 1, len ? found : "?");
}

static void read_file(const char *path, const char *label, const char *until, char *out)
{
    FILE *file = fopen(path, "re");

    find_line(file, label, until, out);
    if (file) (void)fclose(file); /* read only */
}

/* Of the repository we are in; git may not be there. */
static void read_commit(char *out)
{
    FILE *pipe = popen("git --no-optional-locks describe --always --abbrev=40 --dirty "
                       "--exclude='*' 2>/dev/null",
                       "re");

    find_line(pipe, "", "\n", out);
    if (pipe) (void)pclose(pipe);
}

static void read_machine(struct machine *out, const struct bare *bare)
{
    struct utsname system;

    out->cores = sysconf(_SC_NPROCESSORS_ONLN);
    out->memory_mib = sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024);
    (void)snprintf(out->kernel, sizeof out->kernel, "?");
    if (uname(&system) == 0)
        (void)snprintf(out->kernel, sizeof out->kernel, "%.30s %.90s", system.sysname,
                       system.release);
    read_file("/proc/cpuinfo", "model name\t: ", "\n", out->cpu);
    read_file("/proc/self/maps", "/libhiredis.so.", " \n", out->hiredis);
    bare_info(bare, "redis_version", out->redis, sizeof out->redis);
    read_commit(out->commit);
}

static double load_now(void)
{
    double load = -1;

    return getloadavg(&load, 1) == 1 ? load : -1;
}

void report_begin(struct report *report)
{
    report->begin_ns = moment_ns();
    report->machine.load_before = load_now();
    read_machine(&report->machine, &report->stage->bare);
}

void report_end(struct report *report)
{
    report->machine.load_after = load_now();
    report->seconds = (double)(moment_ns() - report->begin_ns) / 1e9;
}

/* ---- screen --------------------------------------------------------------------------------- */

/* printf counts bytes, and "÷" has two. */
static int padding(const char *text, int width)
{
    for (const char *at = text; *at; at++)
        if (((unsigned char)*at & 0xC0) == 0x80) width++;
    return width;
}

static int digits_of(const struct row *row, double value)
{
    if (!*row->unit) return 2;
    return value < 10 ? 3 : value < 1000 ? 1 : 0;
}

static void print_bound(FILE *to, const struct row *row, double bound)
{
    if (bound > 0)
        (void)fprintf(to, " %s%-6g", row->is_higher_better ? ">= " : "<= ", bound);
    else
        (void)fprintf(to, " %-9s", "");
}

static void print_row(FILE *to, const struct row *row, const struct result *result)
{
    int digits = digits_of(row, result->spread.median);
    char value[80];

    (void)fprintf(to, "  %-*s", padding(row->figure, 62), row->figure);
    if (result->doubt) {
        (void)fprintf(to, " %s\n", result->doubt);
        return;
    }
    (void)snprintf(value, sizeof value, "%.*f (%.*f .. %.*f) %s", digits, result->spread.median,
                   digits, result->spread.least, digits, result->spread.most, row->unit);
    (void)fprintf(to, " %-30s", value);
    print_bound(to, row, row->must);
    print_bound(to, row, row->aim);
    if (row->must > 0) (void)fprintf(to, " %s", result->is_ok ? "ok" : "NOT REACHED");
    if (row->under.task)
        (void)fprintf(to, " (%.1f ÷ %.1f)", result->over_spread.median,
                      result->under_spread.median);
    (void)fputc('\n', to);
}

void report_print(FILE *to, const struct report *report)
{
    static struct result result; /* large */
    const struct machine *machine = &report->machine;

    (void)fprintf(to, "\n%s, %ld cores, %s; Redis %s, hiredis %s\n", machine->cpu, machine->cores,
                  machine->kernel, machine->redis, machine->hiredis);
    (void)fprintf(to,
                  "commit %s; seed %" PRIu64 "; load %.2f before, %.2f after; %.0f s in all\n\n",
                  machine->commit, report->stage->seed, machine->load_before, machine->load_after,
                  report->seconds);
    (void)fprintf(to, "  %-62s %-30s %-9s %-9s\n", "figure", "median (least .. most)", "must",
                  "aim");
    for (size_t i = 0; i < report->plan->row_count; i++) {
        if (!report->plan->rows[i].is_wanted) continue;
        plan_result(&report->plan->rows[i], &result);
        print_row(to, &report->plan->rows[i], &result);
    }
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value); /* NULL is refused: the member is missing */
}

static json_t *numbers(const double *values, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(array, json_real(values[i]));
    return array;
}

static json_t *real_or_null(bool is_there, double value)
{
    return is_there ? json_real(value) : json_null();
}

static json_t *row_json(const struct row *row, const struct result *result)
{
    bool is_there = !result->doubt;
    json_t *object = json_pack("{s:s,s:s,s:s}", "name", row->name, "figure", row->figure, "unit",
                               *row->unit ? row->unit : "ratio");

    put(object, "value", real_or_null(is_there, result->spread.median));
    put(object, "must", real_or_null(row->must > 0, row->must));
    put(object, "aim", real_or_null(row->aim > 0, row->aim));
    put(object, "better", json_string(row->is_higher_better ? "higher" : "lower"));
    put(object, "ok", json_boolean(result->is_ok));
    put(object, "least", real_or_null(is_there, result->spread.least));
    put(object, "most", real_or_null(is_there, result->spread.most));
    put(object, "repeats", numbers(result->repeats, is_there ? result->count : 0));
    if (row->under.task && is_there) {
        put(object, "over", numbers(result->over, result->count));
        put(object, "under", numbers(result->under, result->count));
    }
    put(object, "void", result->doubt ? json_string(result->doubt) : json_null());
    return object;
}

static json_t *rows_json(const struct plan *plan)
{
    static struct result result;
    json_t *rows = json_array();

    for (size_t i = 0; i < plan->row_count; i++) {
        if (!plan->rows[i].is_wanted) continue;
        plan_result(&plan->rows[i], &result);
        (void)json_array_append_new(rows, row_json(&plan->rows[i], &result));
    }
    return rows;
}

static json_t *machine_json(const struct report *report)
{
    const struct machine *machine = &report->machine;
    json_t *versions = json_pack("{s:s,s:s,s:s}", "lockkit", SECKILL_VERSION, "redis",
                                 machine->redis, "hiredis", machine->hiredis);

    for (int i = LOCKKIT + 1; i < LIBRARY_COUNT; i++)
        put(versions, plan_library_name((library_id)i),
            *report->stage->versions[i] ? json_string(report->stage->versions[i]) : json_null());
    return json_pack("{s:s,s:I,s:I,s:s,s:f,s:f,s:o,s:s}", "cpu", machine->cpu, "cores",
                     (json_int_t)machine->cores, "memory_mib", (json_int_t)machine->memory_mib,
                     "kernel", machine->kernel, "load_before", machine->load_before, "load_after",
                     machine->load_after, "versions", versions, "commit", machine->commit);
}

lk_status report_write(const char *path, const struct report *report, struct lk_error *err)
{
    const struct arguments *arguments = report->arguments;
    char part[1024];
    json_t *object =
        json_pack("{s:s,s:b,s:o,s:o}", "mode", "locks", "void", report_is_void(report->plan),
                  "rows", rows_json(report->plan), "machine", machine_json(report));

    put(object, "settings",
        json_pack("{s:I,s:I,s:f,s:s}", "seed", (json_int_t)report->stage->seed, "repeat",
                  (json_int_t)arguments->repeat, "duration_s",
                  (double)arguments->duration_ms / 1000, "server",
                  arguments->redis ? arguments->redis
                                   : "private, unix socket and 127.0.0.1, no persistence"));
    put(object, "seconds", json_real(report->seconds));
    (void)snprintf(part, sizeof part, "%.1000s.part", path);
    int failed = json_dump_file(object, part, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(object);
    if (failed || rename(part, path) != 0) return LKI_FAIL_ERRNO(err, LK_INVALID, "%s", path);
    return LK_OK;
}
