/*
 * What is parsed, and what is nested too deeply for that: strings are looked over, whatever they hold.
 */
#include "http/strict_json.h"
#include "test/support/testing.h"

#define D15    "[[[[[[[[[[[[[[["
#define D15END "]]]]]]]]]]]]]]]"

TEST(nesting_is_counted_as_jansson_reads)
{
    static const struct {
        const char *text;
        bool is_taken;
        enum json_error_code code;
    } cases[] = {
        {D15 "[]" D15END, true, 0},
        {D15 "{}" D15END, true, 0},
        {D15 "[[]]" D15END, false, json_error_stack_overflow},
        {D15 "[{}]" D15END, false, json_error_stack_overflow},
        {D15 "[\"[\"]" D15END, true, 0},
        {D15 "[\"\\\"[{[{\"]" D15END, true, 0},
        {D15 "[\"\\\\\",[]]" D15END, false, json_error_stack_overflow},
        {D15 "[\"[\\\\\"]" D15END, true, 0},
        {"[" D15 D15END "," D15 D15END "]", true, 0},
        {"{\"a\":1,\"a\":1}", false, json_error_duplicate_key},
        {"[[\"" D15, false, json_error_premature_end_of_input},
        {"]]]]", false, json_error_invalid_syntax},
        {"", false, json_error_premature_end_of_input},
        {"\"\\", false, json_error_invalid_syntax},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_error_t error = {0};
        json_t *root = strict_json_load(cases[i].text, strlen(cases[i].text), &error);

        if ((root != NULL) != cases[i].is_taken || json_error_code(&error) != cases[i].code)
            fail_msg("%s: %d", cases[i].text, json_error_code(&error));
        json_decref(root);
        root = strict_json_load(cases[i].text, strlen(cases[i].text), NULL);
        assert_int_equal(root != NULL, cases[i].is_taken);
        json_decref(root);
    }
}
