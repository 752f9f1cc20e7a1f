/*
 * Tests that register themselves, and their one main: TEST(what_is_true) { ... }. They run in the order in which
 * they stand. An argument is a pattern: those tests alone, by cmocka's wildcards.
 */
#ifndef LK_TESTING_H
#define LK_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A test with the file's FIXTURE around it, or with one of its own (NULL: none). */
#define TEST(name)                         TESTING_ADD(name, NULL, NULL, true)
#define TEST_WITH(name, set_up, tear_down) TESTING_ADD(name, set_up, tear_down, false)

/* Once in a file: what goes before and after each TEST, and before the first and after the last. */
#define FIXTURE(set_up, tear_down)                                                                 \
    __attribute__((constructor)) static void testing_has_fixture(void)                             \
    {                                                                                              \
        testing_fixture(set_up, tear_down);                                                        \
    }                                                                                              \
    _Static_assert(true, "")
#define GROUP(set_up, tear_down)                                                                   \
    __attribute__((constructor)) static void testing_has_group(void)                               \
    {                                                                                              \
        testing_group(set_up, tear_down);                                                          \
    }                                                                                              \
    _Static_assert(true, "")

#define TESTING_ADD(name, set_up, tear_down, has_fixture)                                          \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        testing_add(__LINE__, (struct CMUnitTest){#name, name, set_up, tear_down, NULL},           \
                    has_fixture);                                                                  \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

void testing_add(int line, struct CMUnitTest test, bool has_fixture);
void testing_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down);
void testing_group(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* A GROUP's set-up, for programs whose servers die while they talk to them. */
int testing_ignore_sigpipe(void **state);

/* For a main of one's own, and what the one here does: run them; how many failed. */
int testing_run(int argc, char **argv);

#endif
