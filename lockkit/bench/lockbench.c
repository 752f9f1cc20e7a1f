/*
 * lockbench: how fast the locks are, in figures that can be compared: with the server's bare round
 * trips, and with other libraries doing the same work in the same run. Figures and what they must
 * reach are the tables of plan.c; how each is measured stands in pair.c, crowd.c, renewal.c
 * and quorum.c.
 *
 * One thread, always: so it can fork. lockkit itself runs in children (pair.c, renewal.c, quorum.c) and players.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "moment.h"
#include "report.h"
#include "works.h"

enum { EXIT_USAGE = 2, EXIT_VOID = 3, EXIT_INTERRUPTED = 130 };

static lk_status choose(struct plan *plan, const struct arguments *arguments, struct lk_error *err)
{
    const char *unknown = NULL;

    plan_make(plan);
    if (arguments->only.count == 0 ||
        plan_only(plan, arguments->only.list, arguments->only.count, &unknown))
        return LK_OK;
    return LKI_FAIL(err, LK_INVALID, "--only: no row's name starts with \"%s\"; see --list",
                    unknown);
}

static int print_names(const struct plan *plan)
{
    for (size_t i = 0; i < plan->row_count; i++)
        if (plan->rows[i].is_wanted)
            (void)printf("%-28s %s\n", plan->rows[i].name, plan->rows[i].figure);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_VOID;
}

static lk_status measure(struct plan *plan, struct stage *stage, struct report *report,
                         struct lk_error *err)
{
    const struct arguments *arguments = report->arguments;
    lk_status status = stage_open(stage, arguments->redis, err);

    if (status != LK_OK) return status;
    report_begin(report);
    status = works_run(plan, stage, arguments->repeat, err);
    if (status != LK_OK) return status;
    report_end(report);
    report_print(stdout, report);
    return arguments->json ? report_write(arguments->json, report, err) : LK_OK;
}

static int run(const struct arguments *arguments, struct plan *plan)
{
    struct lk_error err = {0};
    struct stage stage = {.interop = arguments->interop,
                          .duration_ms = arguments->duration_ms,
                          .seed = arguments->seed};
    struct report report = {.arguments = arguments, .plan = plan, .stage = &stage};

    if (stage.seed == 0) stage.seed = plan_chance((uint64_t)time(NULL), (uint64_t)getpid()) >> 33;
    moment_interrupt_watch();
    lk_status status = measure(plan, &stage, &report, &err);
    stage_close(&stage);
    if (status != LK_OK) (void)fprintf(stderr, "lockbench: %s\n", err.text);
    if (moment_interrupt_came()) return EXIT_INTERRUPTED;
    return status == LK_OK && !report_is_void(plan) ? EXIT_SUCCESS : EXIT_VOID;
}

int main(int argc, char **argv)
{
    static struct plan plan; /* large */
    static struct arguments arguments;
    struct lk_error err = {0};

    arguments = arguments_usual;
    int status = flags_main(&arguments_flags, argc, argv, &arguments);
    if (status >= 0) return status;
    if (choose(&plan, &arguments, &err) != LK_OK) {
        (void)fprintf(stderr, "lockbench: %s\n", err.text);
        return EXIT_USAGE;
    }
    return arguments.is_list ? print_names(&plan) : run(&arguments, &plan);
}
