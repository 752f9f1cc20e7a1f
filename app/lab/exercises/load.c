/*
 * See load.h. One thread.
 */
#include "load.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "start/private_server.h"

enum { LIMIT_MS = 60000, GRACE_MS = 15000, LOOK_MS = 50, DOT_MS = 1000 };
enum { VERDICT_PASSED, VERDICT_FAILED }; /* exit status of loadtest */

static pid_t start(const char *program, const char *out, const char *log)
{
    const char *const argv[] = {program,   "--guard",       "exercise", "--out", out,
                                "--stock", "100",           "--buyers", "400",   "--connections",
                                "64",      "--retry-share", "0.1",      NULL};
    int file = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    pid_t pid = -1;
    const struct private_server_process process = {.program = program,
                                                   .argv = (char *const *)(const void *)argv,
                                                   .files = {-1, file, file},
                                                   .file_count = STDERR_FILENO + 1};
    int error = private_server_spawn(&process, &pid);

    if (file >= 0) (void)close(file);
    return error ? -1 : pid;
}

/* Its exit status; -1: it did not end in time, or was killed. A dot tells that a second is over. */
static int wait_for(pid_t pid)
{
    int64_t start_ms = clock_mono_ms();
    int64_t dot_ms = start_ms + DOT_MS;
    bool was_asked = false;
    int status = 0;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        int64_t now_ms = clock_mono_ms();

        if (now_ms >= dot_ms) {
            (void)putchar('.');
            (void)fflush(stdout);
            dot_ms += DOT_MS;
        }
        if ((now_ms > start_ms + LIMIT_MS || tap_is_interrupted()) && !was_asked) {
            (void)kill(pid, SIGINT); /* it ends what it has started */
            was_asked = true;
        }
        if (now_ms > start_ms + LIMIT_MS + GRACE_MS) (void)kill(pid, SIGKILL);
        clock_pause_ms(LOOK_MS);
    }
    return WIFEXITED(status) && !was_asked ? WEXITSTATUS(status) : -1;
}

/* The last line of what it has printed. */
static void last_line(const char *log, char *out, size_t size)
{
    char line[256];
    FILE *file = fopen(log, "re");

    (void)snprintf(out, size, "it did not start");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0]) (void)snprintf(out, size, "%s", line);
    }
    if (file) (void)fclose(file); /* read only */
}

/* The text that the language has; formats take the same arguments, in the same order. */
static const char *in(enum lab_language language, const char *en, const char *zh)
    __attribute__((format_arg(2), format_arg(3)));

static const char *in(enum lab_language language, const char *en, const char *zh)
{
    return language == LAB_CHINESE ? zh : en;
}

/* The auditor's words on the first check that did not pass, and the names of the others. */
static void tell_checks(const json_t *result, enum lab_language language, struct trial_finding *out)
{
    const json_t *all_words = json_object_get(result, "audit_words");
    json_t *verdicts = json_object_get(result, "audit");
    const char *name = NULL;
    json_t *verdict = NULL;
    FILE *text = fmemopen(out->words, sizeof out->words, "w");
    int count = 0;

    if (!text) return;
    json_object_foreach(verdicts, name, verdict)
    {
        const char *words = json_string_value(json_object_get(all_words, name));

        if (strcmp(json_string_value(verdict), "pass") == 0) continue;
        if (count++ == 0) {
            (void)fprintf(text, in(language, "the auditor on %s: %s", "审计对 %s 的结论：%s"), name,
                          words ? words : "");
        } else {
            (void)fprintf(text, "%s%s",
                          count == 2 ? in(language, "; it complains also of ", "；另外没通过的：")
                                     : ", ",
                          name);
        }
    }
    (void)fclose(text); /* what does not fit is cut */
    out->words[sizeof out->words - 1] = '\0';
}

/* How it ended, by its own words and the auditor's. */
static void tell_result(const json_t *result, int status, enum lab_language language,
                        struct trial_finding *out)
{
    const char *trouble = json_string_value(json_object_get(result, "trouble"));
    long long sold = json_integer_value(json_object_get(result, "sold"));
    long long replies = json_integer_value(json_object_get(result, "replies"));

    if (trouble) {
        (void)snprintf(out->words, sizeof out->words, "%s", trouble);
    } else if (status == VERDICT_PASSED) {
        out->state = TRIAL_KEPT;
        (void)snprintf(out->words, sizeof out->words,
                       in(language, "%lld orders, %lld answers; the auditor has no complaint",
                          "%lld 张订单，%lld 个应答；审计没有异议"),
                       sold, replies);
    } else if (status == VERDICT_FAILED) {
        tell_checks(result, language, out);
        out->lesson = "paused-process"; /* what the plays do not have */
    } else if (sold == 0) {
        (void)snprintf(
            out->words, sizeof out->words, "%s",
            in(language,
               "nothing was sold. The sale has another name here than on the stage: is a "
               "key written out?",
               "什么也没卖出。这里的场次和舞台上的名字不同：是不是把键名写死了？"));
    } else {
        (void)snprintf(out->words, sizeof out->words,
                       in(language,
                          "%lld orders, and then nothing is sold any more: does sell() always end?",
                          "卖出 %lld 张订单之后就再也卖不动了：sell() 总会返回吗？"),
                       sold);
    }
}

void load_run(const char *dir, enum lab_language language, struct trial_finding *out)
{
    char program[PATH_MAX];
    char folder[PATH_MAX];
    char log[PATH_MAX];
    char result[PATH_MAX + 16];

    (void)snprintf(program, sizeof program, "%s/loadtest", dir);
    (void)snprintf(folder, sizeof folder, "%s/load", dir);
    (void)snprintf(log, sizeof log, "%s/load.txt", dir);
    (void)snprintf(result, sizeof result, "%s/result.json", folder);
    *out = (struct trial_finding){.state = TRIAL_BROKEN};
    (void)unlink(result); /* of an earlier run */
    pid_t pid = start(program, folder, log);
    int status = pid > 0 ? wait_for(pid) : -1;
    json_t *results = json_load_file(result, 0, NULL);
    if (results) tell_result(results, status, language, out);
    json_decref(results);
    if (!out->words[0]) last_line(log, out->words, sizeof out->words);
}
