/*
 * How a schedule is read: one choice after the other.
 */
#include "lab/schedule/schedule.h"
#include "test/support/testing.h"

TEST(a_choice_is_a_letter_or_a_sign_and_a_letter)
{
    static const char letters[] = "ABCDabcdtuw";
    static const char signs[] = "<>+()";
    char text[] = {'\0', '\0', 'A', '\0'};

    for (int c = 1; c < 256; c++) {
        bool is_sign = strchr(signs, c) != NULL;

        text[0] = (char)c;
        text[1] = '\0';
        assert_int_equal(schedule_choice_length(text), strchr(letters, c) ? 1 : 0);
        for (int letter = 'A'; letter <= 'F'; letter++) {
            text[1] = (char)letter;
            if (is_sign) assert_int_equal(schedule_choice_length(text), letter <= 'D' ? 2 : 0);
        }
    }
    assert_int_equal(schedule_choice_length(""), 0);
}

int main(int argc, char **argv)
{
    return testing_run(argc, argv);
}
