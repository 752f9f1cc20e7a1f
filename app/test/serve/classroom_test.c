/*
 * Seats of a class: taken, known by their cookie, left; and whose sale is whose.
 */
#include "serve/lab/classroom.h"
#include "test/support/testing.h"

struct fixture {
    struct classroom *classroom;
    char token[CLASS_TOKEN_SIZE];
    struct class_seat seat;
};

SET_UP(struct fixture, fixture)
{
    fixture->classroom = classroom_new(2);
    assert_true(classroom_take(fixture->classroom, "Li Lei", fixture->token, &fixture->seat));
}

TEAR_DOWN(struct fixture, fixture)
{
    classroom_free(fixture->classroom);
}

TEST(a_seat_is_known_by_its_cookie_alone, struct fixture *self)
{
    static const struct {
        const char *before, *behind;
        unsigned found;
    } cookies[] = {
        {"seat=", "", 1},  {"a=b; seat=", "", 1}, {"seat=", "; a=b", 1}, {"seat=", "0", 0},
        {"xseat=", "", 0}, {"", "", 0},           {"seat=0", "", 0},     {"seat=x; seat=", "", 0},
    };
    char cookie[128];

    assert_int_equal(classroom_find(self->classroom, NULL), 0);
    for (size_t i = 0; i < sizeof cookies / sizeof cookies[0]; i++) {
        (void)snprintf(cookie, sizeof cookie, "%s%s%s", cookies[i].before, self->token,
                       cookies[i].behind);
        assert_int_equal(classroom_find(self->classroom, cookie), cookies[i].found);
    }
    self->token[5] ^= 1;
    (void)snprintf(cookie, sizeof cookie, "seat=%s", self->token);
    assert_int_equal(classroom_find(self->classroom, cookie), 0);
}

TEST(a_seat_that_was_left_is_the_next_ones, struct fixture *self)
{
    char cookie[64];
    char token[CLASS_TOKEN_SIZE];
    struct class_seat other;

    assert_true(classroom_take(self->classroom, "Han", token, &other));
    assert_int_equal(other.number, 2);
    assert_false(classroom_take(self->classroom, "Lucy", token, &other));
    assert_true(classroom_leave(self->classroom, 1));
    assert_false(classroom_leave(self->classroom, 1));
    assert_false(classroom_leave(self->classroom, 3));
    (void)snprintf(cookie, sizeof cookie, "seat=%s", self->token);
    assert_int_equal(classroom_find(self->classroom, cookie), 0);
    assert_true(classroom_take(self->classroom, "Lucy", token, &other));
    assert_int_equal(other.number, 1);
    assert_int_equal(classroom_find(self->classroom, cookie), 0);
}

TEST(a_learners_sale_is_his_last_one_and_his_alone, struct fixture *self)
{
    struct sale_id first, second;

    assert_true(classroom_next_sale(self->classroom, 1, &first));
    assert_true(classroom_may_see(self->classroom, 1, first.text));
    assert_false(classroom_may_see(self->classroom, 2, first.text));
    assert_false(classroom_may_see(self->classroom, 0, first.text));
    assert_true(classroom_may_see(self->classroom, 0, "demo"));
    assert_true(classroom_next_sale(self->classroom, 1, &second));
    assert_false(classroom_may_see(self->classroom, 1, first.text));
    for (int i = 2; i < CLASS_SALES_MAX; i++)
        assert_true(classroom_next_sale(self->classroom, 1, &second));
    assert_false(classroom_next_sale(self->classroom, 1, &second));
}

TEST(one_play_at_a_time_and_what_it_was, struct fixture *self)
{
    assert_true(classroom_begin_play(self->classroom, 1, "none", "ABAB"));
    assert_false(classroom_begin_play(self->classroom, 1, "none", "A"));
    assert_true(classroom_begin_play(self->classroom, 0, "none", "A"));
    classroom_end_play(self->classroom, 1, true);
    assert_true(classroom_begin_play(self->classroom, 1, "stale-write", ""));
    classroom_end_play(self->classroom, 1, false);
    assert_true(classroom_look(self->classroom, 1, &self->seat));
    assert_string_equal(self->seat.run, "stale-write");
    assert_int_equal(self->seat.plays, 2);
    assert_int_equal(self->seat.broken, 1);
}
