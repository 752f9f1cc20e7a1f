/*
 * Folders, servers, programs for loadtest's integration tests. One thread; everything started here
 * dies with the test program.
 */
#include "lt_sandbox.h"

#include <dirent.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "common/folder.h"
#include "evidence/ledger.h"
#include "evidence/operators_log.h"

enum { READY_MS = 10000, STOP_MS = 5000, LOOK_EVERY_MS = 10 };

bool lt_sandbox_open(struct lt_sandbox *sandbox)
{
    *sandbox = (struct lt_sandbox){.dir = "/tmp/loadtest-itest-XXXXXX"};
    if (!mkdtemp(sandbox->dir)) return false;
    (void)snprintf(sandbox->socket, sizeof sandbox->socket, "%s/test.sock", sandbox->dir);
    (void)snprintf(sandbox->url, sizeof sandbox->url, "unix://%s/test.sock", sandbox->dir);
    return true;
}

bool lt_sandbox_certify(const struct lt_sandbox *sandbox)
{
    const char *const argv[] = {"lockkit/tools/certificates", sandbox->dir, NULL};
    struct process maker;

    return process_start(&maker, argv, "/dev/null", "/dev/null", NULL) &&
           process_wait(&maker, READY_MS) && maker.wait_status == 0;
}

void lt_sandbox_close(struct lt_sandbox *sandbox)
{
    process_stop(&sandbox->redis, STOP_MS);
    if (sandbox->dir[0]) folder_remove(sandbox->dir);
    sandbox->dir[0] = '\0';
}

bool lt_eventually(bool (*holds)(void *arg), void *arg, int64_t limit_ms)
{
    int64_t deadline_ms = clock_ms() + limit_ms;

    while (!holds(arg)) {
        if (clock_ms() > deadline_ms) return false;
        clock_sleep_ms(LOOK_EVERY_MS);
    }
    return true;
}

bool lt_redis_answers(void *url)
{
    struct ledger *ledger = ledger_open(url, NULL);

    ledger_close(ledger);
    return ledger != NULL;
}

bool lt_sandbox_start_server(struct lt_sandbox *sandbox, const char *data, const char *const more[])
{
    char log[LT_PATH_MAX + 32];
    const char *argv[LT_WORDS_MAX] = {
        "redis-server", "--port", "0", "--unixsocket", sandbox->socket, "--save", "",
        "--dir",        data};

    (void)snprintf(log, sizeof log, "%s/redis.log", sandbox->dir);
    for (size_t i = 0; more[i]; i++)
        argv[9 + i] = more[i];
    (void)unlink(sandbox->socket); /* of one before */
    return process_start(&sandbox->redis, argv, log, log, NULL) &&
           lt_eventually(lt_redis_answers, sandbox->url, READY_MS);
}

bool lt_sandbox_start_redis(struct lt_sandbox *sandbox)
{
    return lt_sandbox_start_server(sandbox, sandbox->dir, (const char *[]){NULL});
}

bool lt_sandbox_write(const struct lt_sandbox *sandbox, const char *name, const char *text,
                      char out_path[LT_PATH_MAX + 64])
{
    (void)snprintf(out_path, LT_PATH_MAX + 64, "%s/%s", sandbox->dir, name);
    FILE *file = fopen(out_path, "we");
    if (!file) return false;
    bool is_written = fputs(text, file) >= 0;
    return fclose(file) == 0 && is_written;
}

void lt_sandbox_read(const struct lt_sandbox *sandbox, const char *name, char *out, size_t size)
{
    char path[LT_PATH_MAX + 64];
    size_t length = 0;

    (void)snprintf(path, sizeof path, "%s/%s", sandbox->dir, name);
    FILE *file = fopen(path, "re");
    if (file) {
        length = fread(out, 1, size - 1, file);
        (void)fclose(file); /* read only */
    }
    out[length] = '\0';
}

bool lt_sandbox_read_operators(const struct lt_sandbox *sandbox, const char *sale,
                               struct facts *facts, struct failure *failure)
{
    char pattern[LT_PATH_MAX + 64];
    bool is_read = true;
    glob_t files;

    (void)snprintf(pattern, sizeof pattern, "%s/i*/operators.ndjson", sandbox->dir);
    /* one thread: NOLINTNEXTLINE(concurrency-mt-unsafe) */
    if (glob(pattern, 0, NULL, &files) != 0) return failure_set(failure, "no %s", pattern);
    for (size_t i = 0; is_read && i < files.gl_pathc; i++)
        is_read = operators_log_read(facts, sale, files.gl_pathv[i], failure);
    globfree(&files);
    return is_read;
}

/* `where`: words for redis-cli. */
static bool tell(const struct lt_sandbox *sandbox, const char *where, const char *commands)
{
    char path[LT_PATH_MAX + 64];
    char line[5 * LT_PATH_MAX];
    char answers[LT_OUTPUT_MAX];
    struct process cli;

    if (!lt_sandbox_write(sandbox, "commands", commands, path)) return false;
    (void)snprintf(line, sizeof line, "exec redis-cli %s < %s > %s/answers 2>&1", where, path,
                   sandbox->dir);
    const char *const argv[] = {"sh", "-c", line, NULL};
    if (!process_start(&cli, argv, "/dev/null", "/dev/null", NULL)) return false;
    bool has_ended = process_wait(&cli, READY_MS);
    process_stop(&cli, 0);
    lt_sandbox_read(sandbox, "answers", answers, sizeof answers);
    return has_ended && WIFEXITED(cli.wait_status) && WEXITSTATUS(cli.wait_status) == 0 &&
           !strstr(answers, "ERR") && !strstr(answers, "WRONGTYPE");
}

bool lt_sandbox_redis_commands(const struct lt_sandbox *sandbox, const char *commands)
{
    char where[LT_PATH_MAX + 64];

    (void)snprintf(where, sizeof where, "-s %s", sandbox->socket);
    return tell(sandbox, where, commands);
}

bool lt_sandbox_port_commands(const struct lt_sandbox *sandbox, int port, const char *commands)
{
    char where[32];

    (void)snprintf(where, sizeof where, "-c -p %d", port);
    return tell(sandbox, where, commands);
}

bool lt_start(const struct lt_sandbox *sandbox, const char *const argv[], const char *output_name,
              struct process *out_process)
{
    /* one thread: NOLINTNEXTLINE(concurrency-mt-unsafe) */
    const char *build_dir = getenv("BUILD_DIR");
    char program[2 * LT_PATH_MAX];
    char output[LT_PATH_MAX + 64];
    const char *words[LT_WORDS_MAX + 1] = {program};

    (void)snprintf(program, sizeof program, "%s/%s", build_dir ? build_dir : "build/release",
                   argv[0]);
    (void)snprintf(output, sizeof output, "%s/%s", sandbox->dir, output_name);
    for (size_t i = 1; i < LT_WORDS_MAX && argv[i]; i++)
        words[i] = argv[i];
    return process_start(out_process, words, output, output, NULL);
}

bool lt_run(const struct lt_sandbox *sandbox, const char *const argv[], int64_t limit_ms,
            struct lt_outcome *out_outcome)
{
    char output[LT_PATH_MAX + 64];
    struct process process;

    (void)snprintf(output, sizeof output, "%s/output", sandbox->dir);
    (void)unlink(output); /* of the run before */
    if (!lt_start(sandbox, argv, "output", &process)) return false;
    bool has_ended = process_wait(&process, limit_ms);
    process_stop(&process, STOP_MS);
    out_outcome->status = WIFEXITED(process.wait_status) ? WEXITSTATUS(process.wait_status)
                                                         : 128 + WTERMSIG(process.wait_status);
    lt_sandbox_read(sandbox, "output", out_outcome->output, sizeof out_outcome->output);
    return has_ended;
}

static bool names_folder(const char *pid, const char *dir)
{
    char path[300];
    char words[4096];

    (void)snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    size_t length = fread(words, 1, sizeof words - 1, file);
    (void)fclose(file); /* read only */
    for (size_t i = 0; i < length; i++)
        if (words[i] == '\0') words[i] = ' ';
    words[length] = '\0';
    return strstr(words, dir) != NULL;
}

int lt_sandbox_count_processes(const struct lt_sandbox *sandbox)
{
    DIR *proc = opendir("/proc");
    int count = 0;

    if (!proc) return -1;
    for (struct dirent *entry = NULL;
         (entry = readdir(proc));) { /* NOLINT(concurrency-mt-unsafe) */
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (names_folder(entry->d_name, sandbox->dir)) count++;
    }
    (void)closedir(proc);
    return count;
}
