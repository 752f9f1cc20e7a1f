/*
 * The way from the other end of a connection to the client: who is believed, and how far.
 */
#include "net/client_address.h"
#include "test/support/app_texts.h"
#include "test/support/testing.h"

enum { LISTS_MAX = 3, LONG = 10240 };

#define PROXIES "10.0.0.0/8,192.168.1.7,fd00::/8"

static struct networks networks_of(const char *text)
{
    struct networks networks;

    assert_true(client_address_read_networks(text, &networks));
    return networks;
}

/* Of several lists the last header comes first. */
static void assert_client(const char *trusted, const char *peer, const char *const *lists,
                          const char *client)
{
    struct networks networks = {.count = 0};
    struct client_walk walk;
    char shown[CLIENT_TEXT_SIZE];
    size_t count = 0;

    struct client_address from = {{0}};

    if (trusted) networks = networks_of(trusted);
    if (!peer || !client_address_read(peer, &from))
        assert_true(client_address_read("0.0.0.0", &from));
    client_address_walk_begin(&walk, &networks, &from);
    while (count < LISTS_MAX && lists[count])
        count++;
    while (count > 0)
        client_address_walk_list(&walk, lists[--count]);
    if (strcmp(client_address_show(&walk.found, shown), client) != 0)
        fail_msg("%s, %s: %s, not %s", peer, lists[0] ? lists[0] : "", shown, client);
}

TEST(the_client_is_the_last_who_is_no_proxy)
{
    static const struct {
        const char *peer;
        const char *lists[LISTS_MAX];
        const char *client;
    } rows[] = {
        {"10.0.0.1", {NULL}, "10.0.0.1"},
        {"10.255.255.255", {"1.2.3.4"}, "1.2.3.4"},
        {"192.168.1.7", {"1.2.3.4"}, "1.2.3.4"},
        {"192.168.1.8", {"1.2.3.4"}, "192.168.1.8"},
        {"11.0.0.1", {"1.2.3.4"}, "11.0.0.1"},
        {"fd00::1", {"1.2.3.4"}, "1.2.3.4"},
        {"::ffff:10.0.0.1", {"1.2.3.4"}, "1.2.3.4"},
        {"::1", {"1.2.3.4"}, "::1"},
        {"10.0.0.1", {"6.6.6.6", "1.2.3.4"}, "1.2.3.4"},
        {"10.0.0.1", {"6.6.6.6, 1.2.3.4", "10.0.0.2", "10.0.0.3"}, "1.2.3.4"},
        {"10.0.0.1", {"1.2.3.4", "", "10.0.0.2"}, "10.0.0.1"},
    };
    static const struct {
        const char *client, *lists; /* one header each, from 10.0.0.1 */
    } forms[] = {
        {"1.2.3.4",
         "1.2.3.4|6.6.6.6, 1.2.3.4|10.0.0.9, 1.2.3.4|6.6.6.6, 1.2.3.4, 10.0.0.2|"
         "6.6.6.6,1.2.3.4,fd00::2,192.168.1.7|<script>, 1.2.3.4|, ,,1.2.3.4| \t1.2.3.4\t |"
         "6.6.6.6 ,\t1.2.3.4 , 10.0.0.2 |1.2.3.4:65535|::ffff:1.2.3.4|"
         "1.2.3.4, [::ffff:10.0.0.2]:80"},
        {"10.1.1.1", "10.1.1.1, 10.2.2.2"},
        {"2001:db8::1", "2001:db8::1|2001:DB8:0:0::1|[2001:db8::1]|[2001:db8::1]:443"},
        {"10.0.0.1",
         "| |,|1.2.3.4,|unknown|1.2.3.4, unknown, 10.0.0.2|for=1.2.3.4|1.2.3|1.2.3.256|01.2.3.4|"
         "1.2.3.4:|1.2.3.4:65536|1.2.3.4:http|1.2.3.4 5.6.7.8|[1.2.3.4]|[2001:db8::1|"
         "[2001:db8::1]443|[]|fe80::1%eth0|1.2.3.4\n|`1.2.3.4`"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_client(PROXIES, rows[i].peer, rows[i].lists, rows[i].client);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const char *lists[2] = {NULL};

        for (size_t k = 0; (lists[0] = texts_at(forms[i].lists, k)); k++)
            assert_client(PROXIES, "10.0.0.1", lists, forms[i].client);
    }
}

TEST(without_trust_the_header_is_nothing)
{
    assert_client(NULL, "10.0.0.1", (const char *const[]){"1.2.3.4", NULL}, "10.0.0.1");
    assert_client("1.2.3.4", "10.0.0.1", (const char *const[]){"1.2.3.4", NULL}, "10.0.0.1");
    assert_client("0.0.0.0/0", NULL, (const char *const[]){NULL}, "0.0.0.0");
    assert_client("10.0.0.0/8", "here", (const char *const[]){"1.2.3.4", NULL}, "0.0.0.0");
}

TEST(a_long_header_is_walked_from_its_end)
{
    static char list[LONG + 32];
    const char *const lists[] = {list, NULL};

    memset(list, 'x', LONG);
    assert_client(PROXIES, "10.0.0.1", lists, "10.0.0.1");
    (void)stpcpy(list + LONG, ",1.2.3.4");
    assert_client(PROXIES, "10.0.0.1", lists, "1.2.3.4");
    memset(list, ',', LONG);
    assert_client(PROXIES, "10.0.0.1", lists, "1.2.3.4");
    for (size_t i = 0; i < LONG; i += 10)
        (void)stpcpy(list + i, i ? " 10.0.0.2," : "1.2.3.4  ,");
    (void)stpcpy(list + LONG, "10.0.0.3");
    assert_client(PROXIES, "10.0.0.1", lists, "1.2.3.4");
}

TEST(networks_that_are_none_are_refused)
{
    static const char rows[] =
        "|,|10.0.0.0/8,|10.0.0.0/33|10.0.0.0/|10.0.0.0/-1|10.0.0.1/8|::1/64|::/129|10.0.0.0/8 |"
        "10.0.0.0/8/8|haproxy|10/8|[::1]|10.0.0.0:80|10.0.0.0/8x|10.0.0.0/000008";
    const char *text = NULL;

    for (size_t i = 0; (text = texts_at(rows, i)); i++) {
        struct networks networks = {.count = 7};

        if (client_address_read_networks(text, &networks)) fail_msg("%s", text);
        assert_int_equal(networks.count, 7);
    }
}

TEST(networks_are_as_many_as_there_is_room_for)
{
    char text[(NETWORKS_MAX + 1) * 8 + 1] = "";
    char *end = text;
    struct networks networks;

    for (size_t i = 0; i < NETWORKS_MAX; i++)
        end = stpcpy(end, i ? ",1.2.3.4" : "1.2.3.4");
    assert_int_equal(networks_of(text).count, NETWORKS_MAX);
    (void)stpcpy(end, ",1.2.3.4");
    assert_false(client_address_read_networks(text, &networks));
}

TEST(prefixes_count_bits)
{
    static const struct {
        const char *network;
        const char *in;
        const char *out;
    } rows[] = {
        {"10.0.0.0/9", "10.127.255.255", "10.128.0.0"},
        {"172.16.0.0/12", "172.31.0.1", "172.32.0.1"},
        {"1.2.3.4", "1.2.3.4", "1.2.3.5"},
        {"1.2.3.4/32", "1.2.3.4", "1.2.3.5"},
        {"0.0.0.0/0", "255.255.255.255", "::1"},
        {"::/0", "::1", NULL},
        {"::/0", "1.2.3.4", NULL},
        {"2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"},
        {"::ffff:1.2.3.0/120", "1.2.3.9", "1.2.4.9"},
    };
    static const char *const lists[] = {"9.9.9.9", NULL};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_client(rows[i].network, rows[i].in, lists, "9.9.9.9");
        if (rows[i].out) assert_client(rows[i].network, rows[i].out, lists, rows[i].out);
    }
}

TEST(a_subscriber_is_one_client)
{
    static const struct {
        const char *address;
        const char *group;
    } rows[] = {
        {"1.2.3.4", "1.2.3.4"},
        {"::ffff:1.2.3.4", "1.2.3.4"},
        {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
        {"2001:db8:1:2::9", "2001:db8:1:2::/64"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff::/64"},
        {"::1", "::/64"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct networks nobody = {.count = 0};
        struct client_walk walk;
        char text[CLIENT_TEXT_SIZE];

        struct client_address from;

        assert_true(client_address_read(rows[i].address, &from));
        client_address_walk_begin(&walk, &nobody, &from);
        assert_string_equal(client_address_group(&walk.found, text), rows[i].group);
    }
}
