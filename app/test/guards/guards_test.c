/*
 * guards.c: the table of guards.
 */
#include "guards/guards.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const char *const sound[] = {
    "mutex",    "mutex-watchdog", "reentrant", "fair",        "spin",   "redlock", "fenced",
    "postgres", "zookeeper",      "database",  "skip-locked", "script", "watch"};
static const char *const flawed[] = {"none",
                                     "thread",
                                     "file",
                                     "setnx",
                                     "setnx-expire",
                                     "set-del",
                                     "get-del",
                                     "mutex-unchecked",
                                     "watchdog-unchecked",
                                     "select-then-update",
                                     "unlock-before-commit"};

TEST(every_guard_is_found_by_its_name)
{
    size_t count = 0;

    while (guards_at(count)) {
        const struct guard *guard = guards_at(count++);

        assert_ptr_equal(guards_find(guard->name), guard);
        assert_true(strlen(guard->name) <= SALE_GUARD_MAX);
        assert_true(strlen(guard->idea) > 0);
        assert_non_null(guard->sell);
    }
    assert_true(count >= 3);
    assert_null(guards_at(count));
    assert_null(guards_at(SIZE_MAX));
}

TEST(a_name_that_is_no_guard_finds_nothing)
{
    static const char *const names[] = {"", "Mutex", "mutex ", "mute", "mutexx", "none\n"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_null(guards_find(names[i]));
}

/* A flaw that is not declared could run without --lab. */
TEST(exactly_the_flawed_guards_are_expected_to_fail)
{
    for (size_t i = 0; guards_at(i); i++)
        assert_int_equal(guards_at(i)->flaw != NULL, guards_at(i)->expected != VERDICT_SOUND);
    for (size_t i = 0; i < COUNT_OF(sound); i++)
        assert_null(guards_find(sound[i])->flaw);
    for (size_t i = 0; i < COUNT_OF(flawed); i++)
        assert_non_null(guards_find(flawed[i])->flaw);
}

/* As --help, the dashboard and the report tell of them: first what is to be relied on. */
TEST(the_sound_ones_come_first)
{
    size_t i = 0;

    while (i < COUNT_OF(sound)) {
        assert_string_equal(guards_at(i)->name, sound[i]);
        i++;
    }
    while (i < COUNT_OF(sound) + COUNT_OF(flawed)) {
        assert_string_equal(guards_at(i)->name, flawed[i - COUNT_OF(sound)]);
        i++;
    }
}

static unsigned pauses;

static void count_pause(const struct guard_ctx *ctx)
{
    assert_int_equal(ctx->pause_ms, 7);
    pauses++;
}

TEST(a_pause_is_made_only_where_there_is_one)
{
    guard_pause(&(struct guard_ctx){.pause_ms = 7});
    assert_int_equal(pauses, 0);
    guard_pause(&(struct guard_ctx){.pause_ms = 7, .pause = count_pause});
    assert_int_equal(pauses, 1);
}
