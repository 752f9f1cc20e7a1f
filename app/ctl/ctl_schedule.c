/*
 * seckillctl lab play: whoever asks is the scheduler. One thread; the actors have processes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "lab/plays/scenarios.h"
#include "lab/schedule/explore.h"
#include "lab/schedule/schedule.h"
#include "lab/show/render.h"
#include "lab/stage/program.h"

/* A number, which is `before` already when nothing was said. */
static bool read_number(const char *flag, const char *text, long long max, long long *out)
{
    char *end = NULL;

    if (text) *out = strtoll(text, &end, 10);
    if (!text || (*text && !*end && *out >= 0 && *out <= max)) return true;
    (void)ctl_complain("--%s %s: a number up to %lld", flag, text, max);
    return false;
}

/* What lab play and lab explore have in common. */
static bool read_cast(const struct ctl_request *request, struct schedule *out)
{
    long long actors = 2;

    out->units = 1;
    if (request->exercise && !request->program)
        return ctl_complain("--exercise %s: of a --program", request->exercise) == CTL_OK;
    if (!read_number("actors", request->actors, LAB_ACTORS_MAX, &actors) ||
        !read_number("units", request->units, LAB_ROWS_MAX, &out->units))
        return false;
    out->actors = (unsigned)actors;
    return true;
}

/* NULL, and why is said. */
static const struct guard *read_guard(const char *name)
{
    const struct guard *guard = scenarios_guard(name);
    const char *refusal = guard ? schedule_refusal(guard) : "is no guard";

    if (refusal) (void)ctl_complain("%s %s", name, refusal);
    return refusal ? NULL : guard;
}

/* A guard, or *out when that is a program; NULL, and why is said. */
static const struct guard *read_who(const struct ctl_request *request, struct program *out)
{
    bool is_each = !request->exercise || strcmp(request->exercise, "all") == 0;
    const struct task *task = is_each ? task_at(0) : task_named(request->exercise);

    if (!request->program) return read_guard(request->id);
    if (!task) (void)ctl_complain("--exercise %s: there is none of that name", request->exercise);
    if (!task) return NULL;
    program_init(out, task, request->program);
    return &out->guard;
}

static void print_play(const struct schedule *play, enum lab_language language)
{
    const struct lab_run *run = play->run;

    render_text_steps(run, language, stdout);
    for (size_t i = 0; i < run->break_count; i++)
        (void)printf("\n%s: %s\n", lab_promise_name(run->breaks[i].promise),
                     lab_text_in(lab_promise_text(run->breaks[i].promise), language));
    (void)putchar('\n');
    for (size_t i = 0; i < play->choice_count; i++) {
        const struct schedule_choice *choice = &play->choices[i];

        (void)printf("  %-3s %s%s%s%s%s\n", choice->text,
                     choice->actor < 0 ? "" : run->actors[choice->actor].name,
                     choice->actor < 0 ? "" : ": ", lab_text_in(choice->did, language),
                     choice->next[0] ? " - " : "", choice->next);
    }
}

/* Play it and print it; CTL_REFUSED when a choice was not enabled. */
static int play(struct lab *lab, struct schedule *play, enum lab_language language, bool is_json)
{
    bool is_played = schedule_play(play, lab);
    bool is_bad = is_played && play->text[play->len];
    char *json = is_played && is_json ? schedule_json(play, language) : NULL;

    if (json) {
        (void)puts(json);
    } else if (is_played) {
        print_play(play, language);
    }
    if (!is_played) (void)ctl_complain("%s", play->run ? play->run->failure.text : "out of memory");
    if (is_bad) (void)ctl_complain("\"%s\" is not enabled there", play->text + play->len);
    free(json);
    return is_played ? is_bad ? CTL_REFUSED : CTL_OK : CTL_UNREACHABLE;
}

/* A choice more, or one less; what is not enabled is not taken. False at the end. */
static bool read_choice(char text[SCHEDULE_SIZE], size_t len)
{
    char line[16];
    size_t last = 0;

    (void)printf("%.*s> ", (int)len, text);
    (void)fflush(stdout);
    text[len] = '\0';
    if (!fgets(line, sizeof line, stdin)) return false;
    line[strcspn(line, " \n")] = '\0';
    if (strcmp(line, "undo") == 0 || strcmp(line, "-") == 0) {
        for (size_t at = 0; at < len; at += schedule_choice_length(text + at))
            last = at;
        text[last] = '\0';
    } else if (len + strlen(line) < SCHEDULE_SIZE) {
        (void)stpcpy(text + len, line);
    }
    return true;
}

static int play_on(struct lab *lab, const struct schedule *wish, enum lab_language language,
                   bool is_json)
{
    char text[SCHEDULE_SIZE] = "";
    struct schedule one = *wish;
    int status = CTL_OK;

    do {
        one = *wish;
        one.text = text;
        status = play(lab, &one, language, is_json);
        schedule_done(&one);
    } while (status != CTL_UNREACHABLE && read_choice(text, one.len));
    (void)putchar('\n');
    return status;
}

int ctl_lab_play(const struct ctl_request *request)
{
    enum lab_language language = LAB_ENGLISH;
    struct program program = {.task = NULL};
    struct schedule wish = {.text = request->schedule, .guard = read_who(request, &program)};
    int status = CTL_OK;

    program.is_loud = true;
    if (!wish.guard || !read_cast(request, &wish) || !ctl_lab_language(request, &language))
        return CTL_USAGE;
    struct lab *lab = ctl_lab_open();
    if (!lab) return CTL_UNREACHABLE;
    if (wish.text) {
        status = play(lab, &wish, language, request->is_json);
        schedule_done(&wish);
    } else {
        status = play_on(lab, &wish, language, request->is_json);
    }
    lab_close(lab);
    return status;
}

/* ---- explore --------------------------------------------------------------------------------------- */

static void print_found(struct lab *lab, const struct explore *explore, enum lab_language language)
{
    char *url = explore_url(explore);

    for (size_t i = 0; i < explore->found_count; i++) {
        struct schedule one = {.guard = explore->guard,
                               .text = explore->found[i].text,
                               .actors = explore->actors,
                               .units = explore->units};

        (void)printf("%s: %s\n", explore->guard->name, one.text);
        if (schedule_play(&one, lab)) render_text_steps(one.run, language, stdout);
        schedule_done(&one);
    }
    if (url) (void)printf("\n%s\n", url);
    free(url);
}

/* A row of a report card: of a task, how it went, and then why. */
static void print_card(struct lab *lab, const struct explore *explore,
                       const struct program *program, enum lab_language language)
{
    static const struct lab_text verdicts[EXPLORE_VERDICT_COUNT] = {
        [EXPLORE_NONE] = {"ok", "通过"},
        [EXPLORE_BROKEN] = {"FAILED", "失败"},
        [EXPLORE_UNFINISHED] = {"--", "--"},
        [EXPLORE_TROUBLE] = {"??", "??"}};
    enum lab_promise broken = explore->found_count > 0 ? explore->found[0].promise : LAB_KEPT;

    (void)printf("  %-8s %s  %s\n", program->task->name,
                 lab_text_in(verdicts[explore->verdict], language),
                 lab_text_in(program->task->what, language));
    if (explore->verdict == EXPLORE_TROUBLE)
        (void)printf("           %s\n", explore->refusal ? lab_text_in(*explore->refusal, language)
                                                         : explore->trouble.text);
    if (broken == LAB_KEPT && explore->verdict != EXPLORE_TROUBLE)
        (void)printf("           %s: %u; %s: %zu\n",
                     lab_text_in(LAB_TEXT("nothing found, choices", "没有反例，步数"), language),
                     explore->reached, lab_text_in(LAB_TEXT("plays", "运行次数"), language),
                     explore->plays);
    if (broken == LAB_KEPT) return;
    (void)printf("           %s: %s\n\n", explore->found[0].text,
                 lab_text_in(lab_promise_text(broken), language));
    print_found(lab, explore, language);
}

/* The exit status. */
static int explore_one(struct lab *lab, struct explore *explore, enum lab_language language,
                       bool is_json)
{
    char *json = NULL;

    const struct program *program = program_of(explore->guard);

    explore_run(explore, lab);
    if (!is_json && program) print_card(lab, explore, program, language);
    if (!is_json && !program) print_found(lab, explore, language);
    json = is_json || !program ? explore_json(explore) : NULL;
    if (json) (void)puts(json);
    (void)fflush(stdout);
    free(json);
    return (int)explore->verdict;
}

static bool read_bounds(const struct ctl_request *request, struct explore *out)
{
    struct schedule cast = {.text = ""};
    long long faults = 2, depth = 40, seconds = 60;

    if (!read_cast(request, &cast) ||
        !read_number("faults", request->faults, SCHEDULE_FAULTS_MAX, &faults) ||
        !read_number("depth", request->depth, SCHEDULE_CHOICES_MAX, &depth) ||
        !read_number("seconds", request->seconds, 86400, &seconds))
        return false;
    *out = (struct explore){.actors = cast.actors,
                            .units = cast.units,
                            .faults = (unsigned)faults,
                            .depth = (unsigned)depth,
                            .kinds = request->kinds     ? request->kinds
                                     : request->program ? "t,k"
                                                        : "t,k,r",
                            .limit_ms = seconds * 1000,
                            .is_all = request->is_all};
    if (strspn(out->kinds, "tklspr,") == strlen(out->kinds)) return true;
    (void)ctl_complain("--kinds %s: of t, k, l, s, p, r", out->kinds);
    return false;
}

/* By one task, or by all that are about one and the same program; the largest status. */
static int explore_program(const struct ctl_request *request, struct lab *lab,
                           const struct explore *bounds, enum lab_language language)
{
    bool is_each = request->exercise && strcmp(request->exercise, "all") == 0;
    const char *name = request->exercise ? request->exercise : "buy";
    int status = 0;

    for (size_t i = 0; task_at(i) && !tap_is_interrupted(); i++) {
        const struct task *task = task_at(i);
        struct program program;
        struct explore one = *bounds;

        if (is_each ? !task->is_part : strcmp(task->name, name) != 0) continue;
        program_init(&program, task, request->program);
        one.guard = &program.guard;
        if (task->kinds && !request->kinds) one.kinds = task->kinds;
        if (task->kinds && !request->faults) one.faults = 1;
        int code = explore_one(lab, &one, language, request->is_json);
        if (code > status) status = code;
    }
    return status;
}

/* The status of one, or of all that can be played the largest. */
int ctl_lab_explore(const struct ctl_request *request)
{
    bool is_program = request->program != NULL;
    bool is_each = !is_program && strcmp(request->id, "all") == 0;
    struct program program = {.task = NULL};
    const struct guard *only = is_each ? NULL : read_who(request, &program);
    enum lab_language language = LAB_ENGLISH;
    struct explore bounds = {.kinds = ""};
    struct lab *lab = NULL;
    int status = 0;

    if ((!is_each && !only) || !read_bounds(request, &bounds) ||
        !ctl_lab_language(request, &language))
        return CTL_USAGE;
    lab = ctl_lab_open();
    if (!lab) return CTL_UNREACHABLE;
    if (is_program) status = explore_program(request, lab, &bounds, language);
    for (size_t i = 0; !is_program && scenarios_guard_at(i) && !tap_is_interrupted(); i++) {
        struct explore one = bounds;

        one.guard = scenarios_guard_at(i);
        if (only ? one.guard != only : schedule_refusal(one.guard) != NULL) continue;
        int code = explore_one(lab, &one, language, request->is_json);
        if (code > status) status = code;
    }
    lab_close(lab);
    return status;
}
