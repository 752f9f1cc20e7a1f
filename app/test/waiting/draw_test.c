/*
 * draw.c: each place once, the same for whoever draws again, and no place likelier than another. The known
 * places are of a program of ten lines in another language, from what draw.h says.
 */
#include "test/support/testing.h"
#include "waiting/draw.h"

static struct token_key seed_of(unsigned first)
{
    struct token_key seed = {.len = DRAW_SEED_SIZE};

    for (unsigned i = 0; i < DRAW_SEED_SIZE; i++)
        seed.bytes[i] = (unsigned char)(first >> (8 * (i % 4))) ^ (unsigned char)i;
    return seed;
}

TEST(whoever_draws_again_draws_the_same)
{
    static const int few[] = {4, 1, 2, 5, 9, 8, 7, 3, 10, 6};
    struct token_key seed = seed_of(0);
    unsigned char commitment[TOKEN_MAC_SIZE];

    for (int i = 0; i < 10; i++)
        assert_int_equal(draw_place(&seed, i + 1, 10), few[i]);
    assert_int_equal(draw_place(&seed, 1, 1000000), 744706);
    assert_int_equal(draw_place(&seed, 999999, 1000000), 221929);
    assert_int_equal(draw_place(&seed, 123456789011, 200000000000), 145258668454);
    assert_true(draw_commit(&seed, commitment));
    assert_memory_equal(commitment, "\x35\xd4\xc6\xed", 4);
}

TEST(each_place_is_drawn_once)
{
    static const int counts[] = {1, 2, 3, 4, 5, 16, 17, 100, 1000};
    bool is_taken[1001];

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct token_key seed = seed_of((unsigned)i);

        memset(is_taken, 0, sizeof is_taken);
        for (int number = 1; number <= counts[i]; number++) {
            int64_t place = draw_place(&seed, number, counts[i]);

            assert_in_range(place, 1, counts[i]);
            assert_false(is_taken[place]);
            is_taken[place] = true;
        }
    }
}

/* Pearson's chi-squared over cells that are equally likely. */
static double chi_squared(const unsigned *cells, size_t count, unsigned draws)
{
    double expected = (double)draws / (double)count;
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += ((double)cells[i] - expected) * ((double)cells[i] - expected) / expected;
    return sum;
}

/* The limits are what chance exceeds once in a thousand times; the seeds are fixed, so it is no matter of luck. */
TEST(no_place_is_likelier_than_another)
{
    enum { DRAWS = 4000 };
    unsigned first[16] = {0};
    unsigned last[7] = {0};
    unsigned two[5 * 5] = {0};

    for (unsigned i = 0; i < DRAWS; i++) {
        struct token_key seed = seed_of(i);

        first[draw_place(&seed, 1, 16) - 1]++;
        last[draw_place(&seed, 7, 7) - 1]++;
        two[5 * (draw_place(&seed, 1, 5) - 1) + draw_place(&seed, 2, 5) - 1]++;
    }
    assert_true(chi_squared(first, 16, DRAWS) < 37.7); /* 15 degrees of freedom */
    assert_true(chi_squared(last, 7, DRAWS) < 22.5);   /* 6 */
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(two[5 * i + i], 0);
        two[5 * i + i] = DRAWS / 20; /* as expected, of the 20 pairs that there are */
    }
    assert_true(chi_squared(two, 25, DRAWS + DRAWS / 4) < 43.8); /* 19 */
}
