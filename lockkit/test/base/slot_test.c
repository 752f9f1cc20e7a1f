/*
 * Slots as `redis-cli cluster keyslot` tells them.
 */
#include "base/slot.h"
#include "test/support/testing.h"

static const struct {
    const char *key;
    int slot;
} cases[] = {
    {"", 0},          {"123456789", 0x31c3}, {"foo", 12182},
    {"{foo}", 12182}, {"a{foo}b", 12182},    {"{foo}{bar}", 12182},
    {"{}foo", 9500},  {"foo{}{bar}", 8363},  {"a{b", 13340},
    {"x}y", 8210},    {"{x}y}", 16287},
};

TEST(a_key_has_the_slot_that_redis_gives_it)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (lki_slot_of(cases[i].key, strlen(cases[i].key)) != cases[i].slot)
            fail_msg("\"%s\": %d", cases[i].key, lki_slot_of(cases[i].key, strlen(cases[i].key)));
    }
}

TEST(what_stands_between_the_first_braces_decides)
{
    assert_int_equal(lki_slot_of("{{bar}}zap", 10), lki_slot_of("{bar", 4));
    assert_int_equal(lki_slot_of("foo{bar}{zap}", 13), lki_slot_of("bar", 3));
    assert_int_not_equal(lki_slot_of("foo{}{bar}", 10), lki_slot_of("bar", 3));
}
