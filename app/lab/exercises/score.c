/*
 * score NAME DIR CTL en|zh: the judge of `make exercise`. It is linked with the learner's guard: plays it
 * on the lab's stage (lab/trial.h), then under a load (load.h), and prints a score card. NAME is the
 * learner's file, CTL the seckillctl that the card refers to; what else there is to read goes to DIR.
 *
 * Exit: 0 everything passed, 1 something failed, 2 wrong usage, 3 the lab did not start.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

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

static enum lab_language language;

static const char *in(const char *en, const char *zh)
{
    return lab_text_in((struct lab_text){en, zh}, language);
}

static void begin_line(const char *text)
{
    (void)fputs("\n  ", stdout);
    columns_print(stdout, text, strlen(text), 34);
    (void)fflush(stdout);
}

static void show_progress(enum trial_kind kind, bool is_first)
{
    if (is_first) begin_line(lab_text_in(trial_kind_text(kind), language));
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
    render_text_steps(run, language, out);
    if (fclose(out) == 0) (void)printf("%s%s%s\n", margin, in("steps: ", "步骤："), path);
}

static void print_lesson(const struct score *score, const char *lesson)
{
    const struct lab_scenario *scenario = lesson ? scenarios_named(lesson) : NULL;

    if (scenario)
        (void)printf("%s%s%s lab run %s%s   (%s; /lab?run=%s)\n", margin, in("why:   ", "原因："),
                     score->ctl, lesson, in("", " --lang zh"),
                     lab_text_in(scenario->title, language), lesson);
}

static void print_row(struct score *score, const char *name, const char *text,
                      const struct trial_finding *finding)
{
    static const struct lab_text states[] = {[TRIAL_NOT_TRIED] = {"--", "--"},
                                             [TRIAL_KEPT] = {"ok", "通过"},
                                             [TRIAL_BROKEN] = {"FAILED", "未通过"}};
    const char *state = lab_text_in(states[finding->state], language);

    score->rows++;
    if (finding->state == TRIAL_KEPT) score->passed++;
    (void)fputs("  ", stdout);
    columns_print(stdout, state, strlen(state), 8);
    (void)fputs(text, stdout);
    if (finding->state == TRIAL_NOT_TRIED)
        (void)printf("%s%s%s", in(" (not tried: ", "（没有试："), finding->words, in(")", "）"));
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
    const char *last = in("none yet", "还没有");

    for (size_t i = 0; run && i < run->step_count; i++) {
        if (run->steps[i].calls.count > 0 && run->steps[i].calls.list[0].command)
            last = run->steps[i].calls.list[0].command;
    }
    (void)puts(in("  FAILED  it comes to its end", "  未通过  能运行到结束"));
    columns_wrap(stdout, score->trial.trouble.text, margin, WIDTH);
    (void)printf("%s%s%.60s\n", margin,
                 in("the last command until then: ", "在那之前的最后一条命令："), last);
    write_timeline(score, "trouble", run, score->trial.trouble.text);
    for (enum trial_claim claim = 0; claim < TRIAL_CLAIM_COUNT; claim++) {
        if (score->trial.findings[claim].state == TRIAL_BROKEN)
            print_row(score, trial_claim_name(claim),
                      lab_text_in(trial_claim_text(claim), language),
                      &score->trial.findings[claim]);
    }
    (void)puts(in("\nNothing else was tried", "\n其余的没有试"));
    return EXIT_FAILED;
}

static int print_card(struct score *score)
{
    (void)printf("\n\n%s%s\n\n", in("Score card of ", "成绩单："), score->name);
    if (!score->is_over) return print_trouble(score);
    for (enum trial_claim claim = 0; claim < TRIAL_CLAIM_COUNT; claim++) {
        print_row(score, trial_claim_name(claim), lab_text_in(trial_claim_text(claim), language),
                  &score->trial.findings[claim]);
    }
    print_row(score, "load",
              in("two servers with pauses, and a crowd: the books are right",
                 "两台会停顿的服务器，一大群买家：账目相符"),
              &score->load);
    (void)printf("\n%u %s %u %s%s\n", score->passed, in("of", "/"), score->rows,
                 in("passed", "通过"),
                 score->passed == score->rows
                     ? in(": no fault at any point breaks it", "：任何一处的故障都打不破它")
                     : in("; begin with the first that failed", "；从第一条没通过的开始"));
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
        score->load = (struct trial_finding){.state = TRIAL_NOT_TRIED};
        (void)snprintf(score->load.words, sizeof score->load.words, "%s",
                       in("first it must sell", "要先能卖出"));
        return;
    }
    begin_line(in("two servers, pauses, a crowd", "两台服务器，停顿，一大群买家"));
    load_run(score->dir, language, &score->load);
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
    if (argc != 5) {
        (void)fputs("usage: score NAME DIR CTL en|zh (make exercise FILE=NAME starts it)\n",
                    stderr);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &action, NULL);
    language = strcmp(argv[4], "zh") == 0 ? LAB_CHINESE : LAB_ENGLISH;
    score =
        (struct score){.name = argv[1], .dir = argv[2], .ctl = argv[3], .trial.language = language};
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
