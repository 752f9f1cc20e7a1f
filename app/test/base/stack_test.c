/*
 * A thread on a stack that the test owns, and so can read; and how large a stack has to be.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "base/stack.h"
#include "test/support/testing.h"

enum {
    BELOW = 64 * 1024, /* not of the stack */
    STACK = 2 * 1024 * 1024,
    SMALL = 100 * 1024,
    UNUSED = STACK / 4, /* of it; below every frame, though sanitizers keep much at the top */
    USED = 0xA5,
};

/* From low to high: what is below the stack, then the stack. */
struct place {
    char *bytes;
    bool are_given_back[2]; /* the unused ones, after each call */
    bool is_frame_whole;
};

static bool are_all(const char *bytes, size_t count, uint8_t value)
{
    for (size_t i = 0; i < count; i++)
        if ((uint8_t)bytes[i] != value) return false;
    return true;
}

static void *trim_twice(void *arg)
{
    struct place *place = arg;
    char *unused = place->bytes + BELOW;
    volatile char mine[1024];

    for (size_t i = 0; i < sizeof mine; i++)
        mine[i] = (char)USED;
    for (int i = 0; i < 2; i++) {
        memset(unused, USED, UNUSED);
        stack_trim();
        place->are_given_back[i] = are_all(unused, UNUSED, 0);
    }
    place->is_frame_whole = true;
    for (size_t i = 0; i < sizeof mine; i++)
        if (mine[i] != (char)USED) place->is_frame_whole = false;
    return NULL;
}

TEST(what_no_frame_needs_is_given_back_and_nothing_else)
{
    struct place place = {.bytes = mmap(NULL, BELOW + STACK, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    pthread_attr_t attributes;
    pthread_t thread;

    assert_true(place.bytes != MAP_FAILED);
    memset(place.bytes, USED, BELOW + STACK);
    assert_int_equal(0, pthread_attr_init(&attributes));
    assert_int_equal(0, pthread_attr_setstack(&attributes, place.bytes + BELOW, STACK));
    assert_int_equal(0, pthread_create(&thread, &attributes, trim_twice, &place));
    assert_int_equal(0, pthread_join(thread, NULL));
    (void)pthread_attr_destroy(&attributes);

    assert_true(place.are_given_back[0]);
    assert_true(place.are_given_back[1]);
    assert_true(place.is_frame_whole);
    assert_int_equal(stack_deepest(), STACK); /* all of it was painted before the first call */
    assert_true(are_all(place.bytes, BELOW, USED));
    (void)munmap(place.bytes, BELOW + STACK);
}

TEST(nobody_gets_a_smaller_stack)
{
    pthread_attr_t attributes;
    size_t size = 0;

    assert_int_equal(0, pthread_attr_init(&attributes));
    assert_int_equal(0, pthread_attr_setstacksize(&attributes, SMALL)); /* as civetweb does */
    assert_int_equal(0, pthread_attr_getstacksize(&attributes, &size));
    assert_int_equal(size, STACK_BYTES);
    assert_int_equal(0, pthread_attr_setstacksize(&attributes, STACK));
    assert_int_equal(0, pthread_attr_getstacksize(&attributes, &size));
    assert_int_equal(size, STACK);
    (void)pthread_attr_destroy(&attributes);
}
