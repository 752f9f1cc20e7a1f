/*
 * ticket.c: a ticket is of one sale, one buyer, one number and one key. The MAC was made by
 * `printf lamp:anna:7 | openssl dgst -sha256 -hmac KEY`.
 */
#include "test/support/testing.h"
#include "waiting/ticket.h"

#define KEY    "0123456789abcdef0123456789abcdef"
#define OF_KEY "fdb76d61828a766b6057adb999b0ed85f8e9df78c0c142c1516bb8e313395283"

static struct token_key key_of(const char *text)
{
    struct token_key key = {.len = strlen(text)};

    memcpy(key.bytes, text, key.len);
    return key;
}

TEST(a_ticket_is_its_buyers_alone)
{
    static const struct {
        const char *key, *sale, *buyer, *text;
        int64_t number; /* 0: not good */
    } rows[] = {
        {KEY, "lamp", "anna", "7." OF_KEY, 7},
        {KEY, "lamp", "bert", "7." OF_KEY, 0},
        {KEY, "lamp2", "anna", "7." OF_KEY, 0},
        {KEY, "lamp", "anna", "8." OF_KEY, 0},
        {KEY, "lamp", "anna", "07." OF_KEY, 0},
        {KEY, "lamp", "anna", "+7." OF_KEY, 0},
        {KEY, "lamp", "anna", "7 " OF_KEY, 0},
        {KEY, "lamp", "anna", "7." OF_KEY "0", 0},
        {KEY, "lamp", "anna", "7.", 0},
        {KEY, "lamp", "anna", "7", 0},
        {KEY, "lamp", "anna", "", 0},
        {KEY, "lamp", "anna", "." OF_KEY, 0},
        {KEY, "lamp", "anna", "99999999999999999999999." OF_KEY, 0},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", "lamp", "anna", "7." OF_KEY, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct token_key key = key_of(rows[i].key);
        struct ticket ticket = {.sale_id = rows[i].sale, .buyer = rows[i].buyer};

        assert_int_equal(ticket_check(&key, rows[i].text, &ticket), rows[i].number > 0);
        if (rows[i].number > 0) assert_int_equal(ticket.number, rows[i].number);
    }
}

/* Each of its characters counts. */
TEST(no_other_text_is_the_ticket)
{
    struct token_key key = key_of(KEY);
    struct ticket ticket = {.sale_id = "lamp", .buyer = "anna", .number = 7};
    char text[TICKET_SIZE];

    assert_true(ticket_make(&key, &ticket, text));
    assert_string_equal(text, "7." OF_KEY);
    for (size_t i = 0; text[i]; i++) {
        text[i] ^= 1;
        assert_false(ticket_check(&key, text, &ticket));
        text[i] ^= 1;
    }
}
