/*
 * loadtest: arguments, folders, start and stop in order, exit status. The runs themselves are in
 * verify.c (prove), speed.c and bench_run.c (measure). One thread.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/runs.h"
#include "common/folder.h"
#include "common/std_streams.h"
#include "measure/bench.h"
#include "measure/compare.h"
#include "output/bench_report.h"
#include "output/csv.h"
#include "output/report.h"

enum {
    EXIT_PASS = 0,
    EXIT_FAIL = 1,
    EXIT_USAGE = 2,
    EXIT_COULD_NOT_RUN = 3,
    EXIT_VOID = 4,
    EXIT_INTERRUPTED = 130,
    SPARE_FILES = 200,
};

struct folders {
    char out[RUN_PATH_MAX];    /* absolute */
    char run[RUN_PATH_MAX];    /* a new one in it */
    char result[RUN_PATH_MAX]; /* run/result.json; at the end of the run also in out */
};

static bool make_run_folder(const struct options *options, struct folders *folders,
                            struct failure *failure)
{
    char absolute[PATH_MAX];
    char stamp[32];

    if (!programs_make_folders("--out: ", options->out, failure)) return false;
    if (!realpath(options->out, absolute) || strlen(absolute) >= RUN_PATH_MAX - 128)
        return failure_set(failure, "--out: %s: %s", options->out, failure_errno_text());
    clock_file_stamp(stamp, sizeof stamp);
    (void)snprintf(folders->out, sizeof folders->out, "%.896s", absolute);
    (void)snprintf(folders->run, sizeof folders->run, "%.896s/run-%s-%ld", absolute, stamp,
                   (long)getpid());
    (void)snprintf(folders->result, sizeof folders->result, "%.980s/result.json", folders->run);
    return mkdir(folders->run, 0755) == 0 ||
           failure_set(failure, "%s: %s", folders->run, failure_errno_text());
}

/* A connection is a file here, in wrk and in the service; children inherit the limit. */
static bool raise_file_limit(const struct options *options, struct failure *failure)
{
    struct rlimit limit;
    long most = options_most_connections(options);

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return failure_set(failure, "open files: %s", failure_errno_text());
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* what counts is checked below */
    rlim_t needed = (rlim_t)(most + SPARE_FILES);
    return limit.rlim_cur >= needed ||
           failure_set(failure, "--connections: %ld need %ld open files, the limit is %ld", most,
                       most + SPARE_FILES, (long)limit.rlim_cur);
}

static void print_tally(const struct verify_run *runs, int count)
{
    int passed = 0;

    for (int i = 0; i < count; i++)
        if (verify_verdict(&runs[i]) == AUDIT_PASS) passed++;
    (void)printf("\n%d of %d sales passed\n", passed, count);
}

static int status_of(audit_verdict verdict)
{
    if (verdict == AUDIT_VOID) return EXIT_VOID;
    return verdict == AUDIT_PASS ? EXIT_PASS : EXIT_FAIL;
}

/* -1: could not run. */
static int verify_all(const struct options *options, const struct folders *folders,
                      struct service *service, struct failure *failure)
{
    struct drive_target target = {service, options, folders->run};
    struct verify_run *runs = calloc((size_t)options->repeat, sizeof *runs);
    int count = 0;
    bool is_good = runs || failure_set(failure, "out of memory");
    struct progress progress;
    char far[PROGRESS_WORDS_MAX];

    progress_begin(&progress, options->repeat);
    while (is_good && count < options->repeat) {
        is_good = verify_sale(&target, count + 1, &runs[count], failure);
        if (!is_good) break;
        count++;
        if (!options->is_quiet) report_screen(stdout, &target, &runs[count - 1]);
        if (!options->is_quiet && options->repeat > 1)
            (void)printf("\nsale %s\n", progress_step(&progress, far));
        is_good = report_json_write(folders->result, &target, runs, count, failure);
    }
    if (is_good && count > 1 && !options->is_quiet) print_tally(runs, count);
    audit_verdict verdict = is_good ? verify_verdict(report_worst(runs, count)) : AUDIT_VOID;
    bool has_trouble = is_good && report_worst(runs, count)->trouble[0];
    free(runs);
    if (!is_good) return -1;
    if (verdict == AUDIT_VOID && has_trouble) return EXIT_COULD_NOT_RUN;
    return status_of(verdict);
}

static int measure_all(const struct options *options, const struct folders *folders,
                       struct service *service, struct failure *failure)
{
    struct drive_target target = {service, options, folders->run};
    struct speed_run run;
    bool is_good = speed_measure(&target, &run, failure);

    if (is_good && !options->is_quiet) report_speed_screen(stdout, &target, &run);
    is_good = is_good && report_json_write_speed(folders->result, &target, &run, failure);
    bool is_doubtful = run.doubt[0] != '\0';
    speed_free(&run);
    if (!is_good) return -1;
    return is_doubtful ? EXIT_VOID : EXIT_PASS;
}

static int run_bench(const struct options *options, const struct folders *folders,
                     struct failure *failure)
{
    struct bench *bench = calloc(1, sizeof *bench);
    bool is_sweep = options->sweep != NULL;

    if (!bench) {
        (void)failure_set(failure, "out of memory");
        return -1;
    }
    bool is_good = (is_sweep ? bench_run_sweep : bench_run)(bench, options, folders->run, failure);
    if (is_good && !options->is_quiet) bench_report_screen(stdout, bench);
    is_good = is_good && (is_sweep ? bench_report_write_sweep
                                   : bench_report_write)(folders->result, options, bench, failure);
    int status = !is_good ? -1 : bench_run_is_void(bench) ? EXIT_COULD_NOT_RUN : EXIT_PASS;
    free(bench);
    return status;
}

static int run_compare(const struct options *options, const struct folders *folders,
                       struct failure *failure)
{
    struct compare *compare = calloc(1, sizeof *compare);

    if (!compare) {
        (void)failure_set(failure, "out of memory");
        return -1;
    }
    bool is_good = compare_run(compare, options, folders->run, failure);
    if (is_good && !options->is_quiet) compare_report_screen(stdout, options, compare);
    is_good = is_good && compare_report_write(folders->result, options, compare, failure);
    int status = is_good ? status_of(compare_run_verdict(compare)) : -1;
    compare_run_free(compare);
    free(compare);
    return status;
}

/* Of the one guard that is to be tried. */
static bool find_needs(struct options *options, const struct folders *folders,
                       struct failure *failure)
{
    struct guard_list guards, chosen;

    if (options->url_count) return true; /* they run already, and know what they have */
    if (!guard_list_ask(folders->run, &guards, failure) ||
        !guard_list_choose(&guards, options->guard, &chosen, failure))
        return false;
    guard_list_collect_needs(&chosen, options->needs);
    return true;
}

static int run_service(const struct options *given, const struct folders *folders,
                       struct failure *failure)
{
    struct options own = *given;
    const struct options *options = &own;
    struct service service;

    if (!find_needs(&own, folders, failure)) return -1;
    if (!service_start(&service, options, options_most_connections(options), folders->run, failure))
        return -1;
    int status = options->against ? measure_all(options, folders, &service, failure)
                                  : verify_all(options, folders, &service, failure);
    service_stop(&service);
    if (options->against) service_discard_data(folders->run);
    return status;
}

/* The same file under its second name, DIR/result.json: of two runs at once the last one's, each has its own. */
static bool publish(const struct folders *folders, struct failure *failure)
{
    char csv[RUN_PATH_MAX + 16], part[RUN_PATH_MAX + 32], place[RUN_PATH_MAX + 32];

    (void)snprintf(csv, sizeof csv, "%.980s/result.csv", folders->run);
    bool is_good = csv_write(csv, folders->result, failure);
    for (int i = 0; i < 2 && is_good; i++) {
        (void)snprintf(part, sizeof part, "%.900s/result.%ld.part", folders->out, (long)getpid());
        (void)snprintf(place, sizeof place, "%.900s/result.%s", folders->out, i ? "csv" : "json");
        is_good = (link(i ? csv : folders->result, part) == 0 && rename(part, place) == 0) ||
                  failure_set(failure, "%s: %s", place, failure_errno_text());
    }
    return is_good;
}

static int run_mode(const struct options *options, const struct folders *folders,
                    struct failure *failure)
{
    if (options->is_bench || options->sweep) return run_bench(options, folders, failure);
    return options->is_compare ? run_compare(options, folders, failure)
                               : run_service(options, folders, failure);
}

static int run_all(const struct options *options, struct failure *failure)
{
    struct folders folders;

    if (!raise_file_limit(options, failure)) return -1;
    if (!make_run_folder(options, &folders, failure)) return -1;
    if (!options->is_quiet) (void)printf("results in %s\n", folders.run);
    int removed = runs_drop_old(folders.out);
    if (removed > 0 && !options->is_quiet)
        (void)printf("removed there: the folders of %d older runs; the newest %d are kept\n",
                     removed, RUNS_KEPT);
    int status = run_mode(options, &folders, failure);
    if (access(folders.result, R_OK) == 0 && !publish(&folders, failure)) return -1;
    return status;
}

/* The guards that there are, as the service tells, flawed ones with the fault that they fall by; and the faults. */
static void print_guards(void)
{
    char dir[] = "/tmp/loadtest-XXXXXX";
    struct guard_list guards = {.count = 0};

    (void)fputs("\nFaults of --fault:\n", stdout);
    for (int kind = 0; kind < FAULT_COUNT; kind++)
        (void)printf("  %-5s  %s\n", fault_list[kind].name, fault_list[kind].what);
    if (!mkdtemp(dir)) return;
    if (guard_list_ask(dir, &guards, NULL))
        (void)fputs("\nGuards, the flawed ones with the fault that they fall by:\n", stdout);
    for (int i = 0; i < guards.count; i++) {
        const struct guard_entry *guard = &guards.list[i];
        bool is_sound = guard->finding == GUARD_SOUND;
        (void)printf("  %s%s%s%s", guard->name, is_sound ? "" : " (",
                     is_sound ? "" : fault_of_guard(guard->name)->name, is_sound ? "" : ")");
        if (i % 4 == 3 || i + 1 == guards.count) (void)putchar('\n');
    }
    folder_remove(dir);
}

int main(int argc, char **argv)
{
    struct failure failure = {.text = ""};
    struct options options;

    std_streams_open();
    if (!options_parse(argc, argv, &options, &failure)) {
        (void)fprintf(stderr, "loadtest: %s\n", failure.text);
        return EXIT_USAGE;
    }
    if (options.is_help || options.is_version) {
        if (options.is_version) (void)printf("loadtest %s\n", SECKILL_VERSION);
        if (options.is_help) options_help(stdout);
        if (options.is_help) print_guards();
        return fflush(stdout) == 0 ? EXIT_PASS : EXIT_COULD_NOT_RUN;
    }
    interrupt_watch();
    int status = run_all(&options, &failure);
    if (interrupt_came()) {
        (void)fputs("loadtest: interrupted\n", stderr);
        return EXIT_INTERRUPTED;
    }
    if (status < 0) (void)fprintf(stderr, "loadtest: %s\n", failure.text);
    if (status < 0) return failure.is_usage ? EXIT_USAGE : EXIT_COULD_NOT_RUN;
    return status;
}
