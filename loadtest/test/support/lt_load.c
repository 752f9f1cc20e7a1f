/*
 * One loadtest at a time.
 */
#include "lt_load.h"

#include <signal.h>

#include "lt_command.h"
#include "test/support/testing.h"

enum { READY_MS = 20000 };

int lt_load_open(void **state)
{
    static struct lt_sandbox sandbox;

    *state = &sandbox;
    return lt_sandbox_open(&sandbox) ? 0 : -1;
}

int lt_load_close(void **state)
{
    lt_sandbox_close(*state);
    return 0;
}

const struct lt_outcome *lt_load_try(const struct lt_sandbox *sandbox, const char *words)
{
    const struct lt_outcome *outcome = lt_try(sandbox, "loadtest --out @out %s", words);

    assert_int_equal(0, lt_sandbox_count_processes(sandbox));
    return outcome;
}

const char *lt_load_run(const struct lt_sandbox *sandbox, const char *words, int status)
{
    const struct lt_outcome *outcome = lt_load_try(sandbox, words);

    if (outcome->status != status) print_message("%s\n%s\n", words, outcome->output);
    assert_int_equal(status, outcome->status);
    return outcome->output;
}

struct awaited {
    const struct lt_sandbox *sandbox;
    int processes;
};

static bool are_there(void *arg)
{
    const struct awaited *awaited = arg;
    int count = lt_sandbox_count_processes(awaited->sandbox);

    return awaited->processes ? count >= awaited->processes : count == 0;
}

int lt_load_signal(struct lt_sandbox *sandbox, const char *words, int processes, int number)
{
    struct awaited awaited = {sandbox, processes};
    struct process loadtest;
    struct lt_command line;

    lt_command_make(&line, sandbox, "loadtest --out @out %s", words);
    assert_true(lt_start(sandbox, line.argv, "output", &loadtest));
    bool is_up = lt_eventually(are_there, &awaited, READY_MS);
    process_signal(&loadtest, number);
    bool has_ended = process_wait(&loadtest, READY_MS);
    process_stop(&loadtest, 0);
    assert_true(is_up);
    assert_true(has_ended);
    awaited.processes = 0;
    assert_true(lt_eventually(are_there, &awaited, number == SIGKILL ? READY_MS : 0));
    return loadtest.wait_status;
}

json_t *lt_load_result(const struct lt_sandbox *sandbox)
{
    char path[LT_PATH_MAX + 64];

    (void)snprintf(path, sizeof path, "%s/out/result.json", sandbox->dir);
    json_t *result = json_load_file(path, 0, NULL);
    assert_non_null(result);
    return result;
}

static const json_t *member(const json_t *object, const char *path)
{
    char text[128];
    char *rest = text;

    (void)snprintf(text, sizeof text, "%s", path);
    while (rest)
        object = json_object_get(object, strsep(&rest, "."));
    if (!object) fail_msg("no %s", path);
    return object;
}

const char *lt_load_text(const json_t *object, const char *path)
{
    const char *text = json_string_value(member(object, path));

    assert_non_null(text);
    return text;
}

double lt_load_number(const json_t *object, const char *path)
{
    const json_t *value = member(object, path);

    assert_true(json_is_number(value));
    return json_number_value(value);
}
