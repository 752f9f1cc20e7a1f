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
