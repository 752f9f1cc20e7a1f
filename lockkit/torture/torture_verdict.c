/*
 * See torture_verdict.h.
 */
#include "torture_verdict.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "history/judge.h"
#include "torture_faults.h"

enum {
    FINDINGS_MAX = 5, /* that are printed */
    LINE_MAX_BYTES = 512,
    TAKEN_PER_S = 5, /* a fair lock waits for its dead waiters */
    FAULTS_PER_S = 2,
    OWNERS = 3,
};

/* ---- the history ------------------------------------------------------------------------------------ */

static void print_findings(FILE *findings)
{
    char line[LINE_MAX_BYTES];
    unsigned count = 0;

    rewind(findings);
    for (; count < FINDINGS_MAX && fgets(line, sizeof line, findings); count++)
        (void)printf("  %s", line);
    if (count == FINDINGS_MAX && fgets(line, sizeof line, findings)) (void)printf("  ...\n");
}

static bool check(const struct torture_plan *plan, const struct history *history,
                  struct history_report *out)
{
    FILE *findings = tmpfile();
    struct history_check_options options = {.stuck_ms = plan->stuck_ms,
                                            .calm_ms = plan->calm_ms,
                                            .findings = findings,
                                            .drawing = stdout};
    bool is_done = findings && history_check(history, &options, out);

    if (is_done && history_found(out) > 0) print_findings(findings);
    if (findings) (void)fclose(findings);
    return is_done;
}

static bool check_file(const struct torture_plan *plan, struct history_report *out)
{
    const char *path = plan->history_path;
    struct history history = {0};
    const char *why = NULL;
    FILE *file = fopen(path, "r");
    unsigned long line = file ? history_read(&history, file, &why) : 0;
    bool is_done = file && line == 0 && check(plan, &history, out);

    if (!is_done) (void)printf("  %s: line %lu: %s\n", path, line, why ? why : "cannot be checked");
    if (file) (void)fclose(file);
    history_done(&history);
    return is_done;
}

/* ---- what has happened --------------------------------------------------------------------------------- */

/* Processes that held a key: of the key that has the fewest. */
static long fewest_owners(const struct torture_plan *plan, const struct torture_board *board)
{
    int fewest = TORTURE_PROCESSES_MAX;

    for (unsigned key = 1; key <= plan->keys; key++) {
        int owners = __builtin_popcount(atomic_load(&board->owners[key]));

        if (owners < fewest) fewest = owners;
    }
    return fewest;
}

struct gate {
    const char *what;
    long happened;
    long needed; /* 0: does not apply */
};

static bool pass_gates(const struct torture_plan *plan, const struct torture_board *board,
                       const struct history_report *report)
{
    const struct torture_kind *kind = plan->kind;
    long seconds = (long)(plan->run_ms / 1000);
    long owners = plan->processes < OWNERS ? (long)plan->processes : OWNERS;
    long unanswered =
        atomic_load(&board->acquires[LK_UNKNOWN]) + atomic_load(&board->releases[LK_UNKNOWN]);
    bool is_real = !kind->is_flawed;
    const struct gate gates[] = {
        {"taken before the first fault", atomic_load(&board->quiet_taken),
         kind->has_holds ? TORTURE_QUIET_TAKEN : 0},
        {"taken", atomic_load(&board->acquires[LK_OK]), seconds * TAKEN_PER_S},
        {"faults", torture_fault_count(board), seconds * FAULTS_PER_S},
        {"processes killed", atomic_load(&board->faults[FAULT_KILL]), !kind->is_spared},
        {"processes paused", atomic_load(&board->faults[FAULT_PAUSE]), 1},
        {"answers lost", unanswered, plan->links && kind->has_holds},
        {"waits cancelled", atomic_load(&board->acquires[LK_CANCELLED]), is_real},
        {"taken again", atomic_load(&board->reentries), kind->is_reentrant ? seconds : 0},
        {"leases lost", (long)report->lost, kind->is_leased && is_real},
        {"losses told", atomic_load(&board->losses), kind->is_leased && is_real},
        {"owners of each key", fewest_owners(plan, board), kind->has_holds ? owners : 0},
        {"looks at who is inside", atomic_load(&board->looks), kind->has_holds ? seconds : 0},
        {"holds that the observer had to see", (long)report->examined[CHECK_NAMED],
         kind->watched ? seconds : 0},
        {history_check_name(kind->shows), (long)report->examined[kind->shows], seconds},
    };
    bool is_met = true;

    for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++) {
        if (gates[i].happened >= gates[i].needed) continue;
        (void)printf("  void: %s: %ld, where %ld were needed\n", gates[i].what, gates[i].happened,
                     gates[i].needed);
        is_met = false;
    }
    return is_met;
}

static void print_faults(const struct torture_board *board)
{
    (void)printf("  faults:");
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        long count = atomic_load(&board->faults[i]);

        if (count > 0) (void)printf(" %ld %s", count, torture_fault_name((enum torture_fault)i));
    }
    (void)printf("; %ld cancels; late by up to %ld ms\n", atomic_load(&board->cancels),
                 atomic_load(&board->late_ms));
}

static void print_summary(const struct torture_plan *plan, const struct torture_board *board,
                          const struct history_report *report)
{
    double seconds = (double)plan->run_ms / 1e3;
    long taken = atomic_load(&board->acquires[LK_OK]);

    (void)printf("%s: %ld taken in %.0f s (%.0f/s, %ld in quiet) by %u x %u, %ld again, "
                 "%ld too late, %ld cancelled, %ld unknown; %zu leases lost\n",
                 plan->kind->name, taken, seconds, (double)taken / seconds,
                 atomic_load(&board->quiet_taken), plan->processes, plan->threads,
                 atomic_load(&board->reentries), atomic_load(&board->acquires[LK_BUSY]),
                 atomic_load(&board->acquires[LK_CANCELLED]),
                 atomic_load(&board->acquires[LK_UNKNOWN]), report->lost);
    print_faults(board);
    (void)printf("  board: %ld looks, %d met; history: %zu lines, %zu holds, %zu found\n",
                 atomic_load(&board->looks), atomic_load(&board->meetings), report->lines,
                 report->holds, history_found(report));
}

static void print_found(const struct history_report *report)
{
    for (int id = 0; id < CHECK_COUNT; id++) {
        if (report->found[id] > 0)
            (void)printf("  FOUND %zu in the history: %s\n", report->found[id],
                         history_check_name((enum history_check_id)id));
    }
}

enum torture_verdict torture_judge(const struct torture_plan *plan,
                                   const struct torture_board *board)
{
    struct history_report report = {0};

    if (!check_file(plan, &report)) return TORTURE_UNABLE;
    print_summary(plan, board, &report);
    if (atomic_load(&board->violations) > 0)
        (void)printf("  FOUND %d at work, the first: %s\n", atomic_load(&board->violations),
                     board->first_violation);
    print_found(&report);
    if (atomic_load(&board->violations) > 0 || history_found(&report) > 0) return TORTURE_FOUND;
    return pass_gates(plan, board, &report) ? TORTURE_CLEAN : TORTURE_VOID;
}
