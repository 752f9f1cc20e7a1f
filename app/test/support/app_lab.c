/*
 * See app_lab.h. One thread: that of a test program.
 */
#include "app_lab.h"

#include <ctype.h>
#include <dirent.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/show/render.h"
#include "test/support/testing.h"

static char usual[APP_PATH_SIZE]; /* TMPDIR before */

/* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
void app_lab_folder_make(char out[APP_PATH_SIZE])
{
    const char *before = getenv("TMPDIR");

    (void)snprintf(usual, sizeof usual, "%s", before ? before : "");
    app_folder_make(out);
    if (setenv("TMPDIR", out, 1) != 0) abort();
}

void app_lab_folder_remove(const char *dir)
{
    if ((usual[0] ? setenv("TMPDIR", usual, 1) : unsetenv("TMPDIR")) != 0) abort();
    app_folder_remove(dir);
}

static bool names(const char *pid, const char *dir)
{
    char path[300];
    char arguments[4096];
    FILE *file = NULL;
    size_t len = 0;

    (void)snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    file = fopen(path, "re");
    if (!file) return false; /* it has just ended */
    len = fread(arguments, 1, sizeof arguments, file);
    (void)fclose(file);
    return memmem(arguments, len, dir, strlen(dir)) != NULL;
}

unsigned app_lab_processes(const char *dir)
{
    DIR *all = opendir("/proc");
    const struct dirent *entry = NULL;
    unsigned count = 0;

    if (!all) abort();
    while ((entry = readdir(all)))
        count += isdigit((unsigned char)entry->d_name[0]) && names(entry->d_name, dir);
    (void)closedir(all);
    return count;
}
/* NOLINTEND(concurrency-mt-unsafe) */

static size_t entries_of(const char *dir, const char *pattern)
{
    char path[APP_PATH_SIZE + 64];
    glob_t found = {0};

    (void)snprintf(path, sizeof path, "%s/%s", dir, pattern);
    (void)glob(path, 0, NULL, &found); /* NOLINT(concurrency-mt-unsafe): one thread */
    size_t count = found.gl_pathc;
    globfree(&found);
    return count;
}

bool app_lab_is_gone(void *dir)
{
    return entries_of(dir, "*") == 0 && app_lab_processes(dir) == 0;
}

bool app_lab_is_open(void *dir)
{
    return entries_of(dir, "seckill-lab-*/*.sock") >= 1 && app_lab_processes(dir) >= 1;
}

int app_lab_open(void **state)
{
    struct start_error why = {0};

    *state = lab_open(&why);
    if (!*state) print_error("%s\n", why.text);
    return *state ? 0 : -1;
}

int app_lab_close(void **state)
{
    lab_close(*state);
    return 0;
}

struct lab_run *app_lab_play(struct lab *lab, const struct lab_scenario *scenario)
{
    struct lab_run *run = lab_play(lab, scenario);

    for (int i = 1; i < APP_LAB_TRIES && run && run->failure.text[0]; i++) {
        print_message("# %s: %s\n", scenario->name, run->failure.text);
        lab_run_free(run);
        run = lab_play(lab, scenario);
    }
    assert_non_null(run);
    if (!lab_run_is_expected(run)) {
        render_text(run, LAB_ENGLISH, stderr);
        fail_msg("%s: not the expected verdict", scenario->name);
    }
    return run;
}

void app_lab_start_command(struct app_process *out, char dir[APP_PATH_SIZE])
{
    /* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
    const char *build = getenv("BUILD_DIR");
    char program[] = "seckillctl", lab[] = "lab", run[] = "run", all[] = "all";
    char *args[] = {program, lab, run, all, NULL};
    char path[APP_URL_SIZE];
    posix_spawn_file_actions_t files;

    app_folder_make(dir);
    assert_int_equal(setenv("TMPDIR", dir, 1), 0);
    /* NOLINTEND(concurrency-mt-unsafe) */
    (void)snprintf(path, sizeof path, "%s/seckillctl", build ? build : "build/release");
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", 1, 0);
    (void)posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    assert_int_equal(posix_spawn(&out->pid, path, &files, NULL, args, environ), 0);
    (void)posix_spawn_file_actions_destroy(&files);
}

bool app_lab_start(const struct app_lab *self, struct app_process *out, const char *first,
                   const char *second)
{
    const char *const plain[] = {"--redis", self->redis.redis, NULL};
    const char *const without[] = {first, "--redis", self->redis.redis, NULL};
    const char *const more[] = {first, second, "--redis", self->redis.redis, NULL};

    if (second) return app_start(out, self->dir, more);
    return app_start(out, self->dir, first ? without : plain);
}

int app_lab_prepare(void **state)
{
    struct app_lab *self = calloc(1, sizeof *self);

    if (!self) return -1;
    *state = self;
    app_folder_make(self->dir);
    app_lab_folder_make(self->labs);
    return app_start_redis(&self->redis, self->dir) ? 0 : -1;
}

int app_lab_set_up(void **state)
{
    if (app_lab_prepare(state) != 0) return -1;
    struct app_lab *self = *state;
    return app_lab_start(self, &self->service, NULL, NULL) ? 0 : -1;
}

int app_lab_tear_down(void **state)
{
    struct app_lab *self = *state;
    int status = app_stop(&self->service);
    bool is_gone = app_lab_is_gone(self->labs);

    (void)app_stop(&self->redis);
    app_lab_folder_remove(self->labs);
    app_folder_remove(self->dir);
    free(self);
    return is_gone ? status : -1;
}

void app_lab_put_up(const struct app_lab *self, const char *sale, int stock)
{
    char body[96];

    (void)snprintf(body, sizeof body, "{\"id\":\"%s\",\"stock\":%d}", sale, stock);
    assert_true(app_create_sale(&self->service, self->dir, body));
}

json_t *app_lab_body(const struct app_lab *self)
{
    json_t *root = json_loads(self->reply.body, JSON_REJECT_DUPLICATES, NULL);

    assert_non_null(root);
    return root;
}

const char *app_lab_text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));

    return value ? value : "";
}

long app_lab_ask(struct app_lab *self, const char *method, const char *path, const char *body)
{
    return app_http(&(struct app_call){.method = method,
                                       .base = self->service.buyers,
                                       .path = path,
                                       .body = body,
                                       .limit_ms = APP_LAB_RUN_MS},
                    &self->reply);
}
