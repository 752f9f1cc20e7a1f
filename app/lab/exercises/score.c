/*
 * score NAME DIR CTL: the judge of `make exercise`. It is linked with the learner's guard: plays it
 * on the lab's stage (lab/trial.h), then under a load (load.h), and prints a score card. NAME is the
 * learner's file, CTL the seckillctl that the card refers to; what else there is to read goes to DIR.
 *
 * Exit: 0 everything passed, 1 something failed, 2 wrong usage, 3 the lab did not start.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include "guards/guards.h"
#include "lab/lab.h"
#include "lab/plays/scenarios.h"
#include "lab/show/columns.h"
#include "lab/show/render.h"
#include "load.h"
#include "start/private_server.h"

enum { EXIT_PASSED, EXIT_FAILED, EXIT_USAGE, EXIT_NOT_STARTED, WIDTH = 90 };

static const char margin[] = "          ";

struct score {
    const char *name; /* borrowed, as the next two */
    const char *dir;
    const char *ctl;
    struct trial trial;
    bool is_over; /* the trial came to its end */
    struct trial_finding load;
    unsigned rows, passed; /* of the card */
};

/* ---- progress ---------------------------------------------------------------------------------- */

static void begin_line(const char *text)
{
    (void)printf("%s  %-34s", text[0] ? "\n" : "", text);
    (void)fflush(stdout);
}

static void show_progress(enum trial_kind kind, bool is_first)
{
    if (is_first) begin_line(trial_kind_name(kind));
    (void)putchar('.');
    (void)fflush(stdout);
}

/* ---- the card ---------------------------------------------------------------------------------- */

/* What A and B did, as a timeline of the lab. */
static void write_timeline(const struct score *score, const char *name, const struct lab_run *run,
                           const char *words)
{
    char path[PATH_MAX];
    FILE *out = NULL;

    (void)snprintf(path, sizeof path, "%s/%s.txt", score->dir, name);
    out = run ? fopen(path, "we") : NULL;
    if (!out) return;
    (void)fprintf(out, "%s: %s\n\n", score->name, words);
    render_text_steps(run, LAB_ENGLISH, out);
    if (fclose(out) == 0) (void)printf("%ssteps: %s\n", margin, path);
}

static void print_lesson(const struct score *score, const char *lesson)
{
    const struct lab_scenario *scenario = lesson ? scenarios_named(lesson) : NULL;

    if (scenario)
        (void)printf("%swhy:   %s lab run %s   (%s)\n", margin, score->ctl, lesson,
                     scenario->title.en);
}

static void print_row(struct score *score, const char *name, const char *text,
                      const struct trial_finding *finding)
{
    static const char *const states[] = {
        [TRIAL_NOT_TRIED] = "--", [TRIAL_KEPT] = "ok", [TRIAL_BROKEN] = "FAILED"};

    score->rows++;
    if (finding->state == TRIAL_KEPT) score->passed++;
    (void)printf("  %-6s  %s", states[finding->state], text);
    if (finding->state == TRIAL_NOT_TRIED) (void)printf(" (not tried: %s)", finding->words);
    (void)putchar('\n');
    if (finding->state == TRIAL_NOT_TRIED || !finding->words[0]) return;
    columns_wrap(stdout, finding->words, margin, WIDTH);
    if (finding->state == TRIAL_KEPT) return;
    print_lesson(score, finding->lesson);
    write_timeline(score, name, finding->run, finding->words);
}

/* It crashed, or did not come to its end: what was found until then, and why there is no more. */
static int print_trouble(struct score *score)
{
    const struct lab_run *run = score->trial.trouble_run;
    const char *last = "none yet";

    for (size_t i = 0; run && i < run->step_count; i++) {
        if (run->steps[i].calls.count > 0 && run->steps[i].calls.list[0].command)
            last = run->steps[i].calls.list[0].command;
    }
    (void)printf("  FAILED  it comes to its end\n");
    columns_wrap(stdout, score->trial.trouble.text, margin, WIDTH);
    (void)printf("%sthe last command until then: %.60s\n", margin, last);
    write_timeline(score, "trouble", run, score->trial.trouble.text);
    for (enum trial_claim claim = 0; claim < TRIAL_CLAIM_COUNT; claim++) {
        if (score->trial.findings[claim].state == TRIAL_BROKEN)
            print_row(score, trial_claim_name(claim), trial_claim_text(claim),
                      &score->trial.findings[claim]);
    }
    (void)puts("\nNothing else was tried");
    return EXIT_FAILED;
}

static int print_card(struct score *score)
{
    (void)printf("\n\nScore card of %s\n\n", score->name);
    if (!score->is_over) return print_trouble(score);
    for (enum trial_claim claim = 0; claim < TRIAL_CLAIM_COUNT; claim++) {
        print_row(score, trial_claim_name(claim), trial_claim_text(claim),
                  &score->trial.findings[claim]);
    }
    print_row(score, "load", "two servers with pauses, and a crowd: the books are right",
              &score->load);
    (void)printf("\n%u of %u passed%s\n", score->passed, score->rows,
                 score->passed == score->rows ? ": no fault at any point breaks it"
                                              : "; begin with the first that failed");
    return score->passed == score->rows ? EXIT_PASSED : EXIT_FAILED;
}

/* ---- the order --------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    (void)number;
    tap_interrupt();
}

static void sell_to_a_crowd(struct score *score)
{
    static const enum trial_claim claims[] = {TRIAL_TOGETHER, TRIAL_WRITE, TRIAL_RELEASE,
                                              TRIAL_ANSWERS};
    const struct trial_finding *findings = score->trial.findings;

    if (!score->is_over) return;
    if (findings[TRIAL_SELLS].state != TRIAL_KEPT) {
        score->load = (struct trial_finding){.words = "first it must sell"};
        return;
    }
    begin_line("two servers, pauses, a crowd");
    load_run(score->dir, &score->load);
    if (!score->load.lesson) return;
    /* What the plays have found explains it better. */
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        if (findings[claims[i]].state != TRIAL_BROKEN) continue;
        score->load.lesson = findings[claims[i]].lesson;
        return;
    }
}

int main(int argc, char **argv)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    static struct score score;
    struct sigaction action = {.sa_handler = on_signal};
    struct start_error why = {0};

    if (private_server_is_this(argc, argv) || actor_is_this(argc, argv)) return EXIT_USAGE;
    if (argc != 4) {
        (void)fputs("usage: score NAME DIR CTL (make exercise FILE=NAME starts it)\n", stderr);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &action, NULL);
    score = (struct score){.name = argv[1], .dir = argv[2], .ctl = argv[3]};
    struct lab *lab = lab_open(&why);
    if (!lab) {
        (void)fprintf(stderr, "exercise: %s\n", why.text);
        return EXIT_NOT_STARTED;
    }
    score.is_over = trial_run(lab, guards_find("exercise"), show_progress, &score.trial);
    lab_close(lab);
    if (!tap_is_interrupted()) sell_to_a_crowd(&score);
    if (tap_is_interrupted()) {
        (void)fputs("\nexercise: interrupted\n", stderr);
        return EXIT_FAILED;
    }
    int status = print_card(&score);
    trial_done(&score.trial);
    return status;
}
