/*
 * What most tests of the whole service have: a data folder, a service in it, and an answer.
 */
#ifndef SECKILL_APP_FIXTURE_H
#define SECKILL_APP_FIXTURE_H

#include "app_support.h"
#include "test/support/testing.h"

enum { APP_OUT_SIZE = 65536 };

struct app_fixture {
    char dir[APP_PATH_SIZE];
    char token[APP_PATH_SIZE + 16]; /* the operator's, a file */
    struct app_process service;
    struct app_process redis; /* of our own, when a test needs one */
    struct app_process other; /* a second service */
    struct app_reply reply;
    char out[APP_OUT_SIZE];
};

void app_fixture_begin(struct app_fixture *fixture); /* its folder */
/* Start its service with these flags, NULL at their end, and put up `sale` (NULL: none), which has five units. */
void app_fixture_start(struct app_fixture *fixture, const char *const *args, const char *sale);
/* Put up so many sales, "s-0", "s-1"..., of a million units each. */
void app_put_up_many(struct app_fixture *fixture, int count);
/* Its own Redis, and its service on that with these flags more. */
void app_fixture_start_on_redis(struct app_fixture *fixture, const char *const *args);
/* Ask: GET; what a buyer orders (key NULL: none); an operator (method NULL: as app_http). The status. */
long app_get(struct app_fixture *fixture, const char *base, const char *path);
long app_order(struct app_fixture *fixture, const char *sale, const char *user, const char *key);
long app_operate(struct app_fixture *fixture, const char *method, const char *path,
                 const char *body);
/* A sample of its metrics; -1: none. */
double app_metric(struct app_fixture *fixture, const char *sample);
/* Whether its service comes to answer so many requests at once, besides ours for that number. */
bool app_serves(struct app_fixture *fixture, int requests);
/* Fail unless it has that status and a body with these members, JSON ("`" is a quotation mark). */
void app_assert_answer(const struct app_reply *reply, long status, const char *members);
/* Stop all, remove the folder. The status of its service. */
int app_fixture_end(struct app_fixture *fixture);

/* A file's fixture: a service with these flags, NULL at their end, that sells `sale` and must end well... */
#define APP_SELLS(sale, ...)                                                                       \
    SET_UP(struct app_fixture, fixture)                                                            \
    {                                                                                              \
        app_fixture_begin(fixture);                                                                \
        app_fixture_start(fixture, (const char *const[]){__VA_ARGS__}, sale);                      \
    }                                                                                              \
    TEAR_DOWN(struct app_fixture, fixture)                                                         \
    {                                                                                              \
        assert_int_equal(app_fixture_end(fixture), 0);                                             \
    }                                                                                              \
    _Static_assert(true, "")
/* ... or a folder alone: tests that care have looked at how their services ended. */
#define APP_FOLDER()                                                                               \
    SET_UP(struct app_fixture, fixture)                                                            \
    {                                                                                              \
        app_fixture_begin(fixture);                                                                \
    }                                                                                              \
    TEAR_DOWN(struct app_fixture, fixture)                                                         \
    {                                                                                              \
        (void)app_fixture_end(fixture);                                                            \
    }                                                                                              \
    _Static_assert(true, "")

#endif
