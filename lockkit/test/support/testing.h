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

/* Fakes and callbacks do not need all that they are given. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* What the linker's --wrap puts in a function's place: FAKE(int, name, int a) { return __real_name(a); } */
#define FAKE(type, name, ...)                                                                      \
    type __real_##name(__VA_ARGS__); /* NOLINT(bugprone-reserved-identifier) */                    \
    type __wrap_##name(__VA_ARGS__); /* NOLINT(bugprone-reserved-identifier) */                    \
    type __wrap_##name(__VA_ARGS__)

/* One that is no more than an expression: FAKE_RETURNS(int, name, (int a), a + 7); */
#define FAKE_RETURNS(type, name, parameters, ...)                                                  \
    type __wrap_##name parameters; /* NOLINT(bugprone-reserved-identifier) */                      \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }                                                                                              \
    _Static_assert(true, "")

/* TEST(what_is_true), or TEST(what_is_true, struct fixture *f) with what SET_UP made. */
#define TEST(...)                          TESTING_PICK(__VA_ARGS__, TESTING_OF, TESTING_PLAIN, )(__VA_ARGS__)
/* With a fixture of its own instead of the file's (NULL: none). */
#define TEST_WITH(name, set_up, tear_down) TESTING_ADD(name, set_up, tear_down, false)

/* Once in a file, with a body each: around every TEST, with a zeroed object or without... */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type is no value */
#define SET_UP(type, name)                                                                         \
    static void testing_fill(type *name);                                                          \
    TESTING_HOOK(set_up)                                                                           \
    {                                                                                              \
        *state = calloc(1, sizeof(type));                                                          \
        assert_non_null(*state);                                                                   \
        testing_fill(*state);                                                                      \
        return 0;                                                                                  \
    }                                                                                              \
    static void testing_fill(type *name)
#define TEAR_DOWN(type, name)                                                                      \
    static void testing_empty(type *name);                                                         \
    TESTING_HOOK(tear_down)                                                                        \
    {                                                                                              \
        testing_empty(*state);                                                                     \
        free(*state);                                                                              \
        return 0;                                                                                  \
    }                                                                                              \
    static void testing_empty(type *name)
/* NOLINTEND(bugprone-macro-parentheses) */
#define BEFORE_EACH() TESTING_STEP(set_up)
#define AFTER_EACH()  TESTING_STEP(tear_down)
/* ... and before the first and after the last. */
#define BEFORE_ALL()  TESTING_STEP(before_all)
#define AFTER_ALL()   TESTING_STEP(after_all)

/* The same by functions of cmocka's kind. */
#define FIXTURE(before, after)                                                                     \
    __attribute__((constructor)) static void testing_has_fixture(void)                             \
    {                                                                                              \
        testing_hooks.set_up = before;                                                             \
        testing_hooks.tear_down = after;                                                           \
    }                                                                                              \
    _Static_assert(true, "")
#define GROUP(before, after)                                                                       \
    __attribute__((constructor)) static void testing_has_group(void)                               \
    {                                                                                              \
        testing_hooks.before_all = before;                                                         \
        testing_hooks.after_all = after;                                                           \
    }                                                                                              \
    _Static_assert(true, "")

#define TESTING_PICK(name, of, kind, ...) kind
#define TESTING_PLAIN(name)               TESTING_ADD(name, NULL, NULL, true)
#define TESTING_OF(name, of)                                                                       \
    static void name##_of(of);                                                                     \
    TESTING_PLAIN(name)                                                                            \
    {                                                                                              \
        name##_of(*state);                                                                         \
    }                                                                                              \
    static void name##_of(of)
#define TESTING_ADD(name, set_up, tear_down, has_fixture)                                          \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        testing_add(__LINE__, (struct CMUnitTest){#name, name, set_up, tear_down, NULL},           \
                    has_fixture);                                                                  \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)
#define TESTING_HOOK(hook)                                                                         \
    static int testing_##hook(void **state);                                                       \
    __attribute__((constructor)) static void testing_has_##hook(void)                              \
    {                                                                                              \
        testing_hooks.hook = testing_##hook;                                                       \
    }                                                                                              \
    static int testing_##hook(__attribute__((unused)) void **state)
#define TESTING_STEP(hook)                                                                         \
    static void testing_step_##hook(void);                                                         \
    TESTING_HOOK(hook)                                                                             \
    {                                                                                              \
        testing_step_##hook();                                                                     \
        return 0;                                                                                  \
    }                                                                                              \
    static void testing_step_##hook(void)

void testing_add(int line, struct CMUnitTest test, bool has_fixture);

struct testing_hooks {
    CMFixtureFunction set_up, tear_down, before_all, after_all;
};
extern struct testing_hooks testing_hooks;

/* A GROUP's set-up, for programs whose servers die while they talk to them. */
int testing_ignore_sigpipe(void **state);

/* For a main of one's own, and what the one here does: run them; how many failed. */
int testing_run(int argc, char **argv);

#endif
