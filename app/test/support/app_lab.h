/*
 * A service with a lab, for the tests of its routes; and what a lab leaves on the machine: its folder,
 * and processes that name it in their arguments.
 */
#ifndef SECKILL_APP_LAB_H
#define SECKILL_APP_LAB_H

#include <stdbool.h>

#include <jansson.h>

#include "app_support.h"
#include "lab/lab.h"

/* Make a folder for labs (TMPDIR from now on); remove it, and be in the usual one again. */
void app_lab_folder_make(char out[APP_PATH_SIZE]);
void app_lab_folder_remove(const char *dir);

/* Processes whose arguments name something in this folder: the Redis of a lab, actors. */
unsigned app_lab_processes(const char *dir);

/* Whether there is neither such a process nor anything in the folder. */
bool app_lab_is_gone(void *dir);
/* Whether there is a Redis of a lab that answers. */
bool app_lab_is_open(void *dir);

/* For cmocka: a lab in this process, and its end. */
int app_lab_open(void **state);
int app_lab_close(void **state);
/* How often a run that stood still, and so did not come to its end, is tried. */
enum { APP_LAB_TRIES = 3 };
/* A run, which comes to its verdict; yours (lab_run_free). */
struct lab_run *app_lab_play(struct lab *lab, const struct lab_scenario *scenario);
/* Start the command that plays all, with its labs in this new folder (TMPDIR from now on). */
void app_lab_start_command(struct app_process *out, char dir[APP_PATH_SIZE]);

/* ---- a service with a lab ------------------------------------------------------------------------ */

enum { APP_LAB_RUN_MS = 60000 /* for one answer */ };

struct app_lab {
    char dir[APP_PATH_SIZE];
    char labs[APP_PATH_SIZE]; /* where labs have their folders */
    struct app_process redis; /* of the service, not of a lab */
    struct app_process service;
    struct app_reply reply; /* the last one */
};

/* For cmocka: folders and the Redis; the same with the service; the end, which finds nothing left. */
int app_lab_prepare(void **state);
int app_lab_set_up(void **state);
int app_lab_tear_down(void **state);

/* A service on that Redis, with two flags more; or "no-lab" and NULL; or NULL, NULL. */
bool app_lab_start(const struct app_lab *self, struct app_process *out, const char *first,
                   const char *second);
/* Put up a sale. */
void app_lab_put_up(const struct app_lab *self, const char *sale, int stock);
/* The JSON of the last answer; yours. A text in such an object, "" when it is not there. */
json_t *app_lab_body(const struct app_lab *self);
const char *app_lab_text(const json_t *object, const char *name);
/* The status of the answer, which is in self->reply. */
long app_lab_ask(struct app_lab *self, const char *method, const char *path, const char *body);

#endif
