/*
 * See client_address.h. Any thread; no allocation.
 */
#include "client_address.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IPV4_AT = 12, IPV4_BITS = 96, ALL_BITS = 128, GROUP_BYTES = 8, WORD_SIZE = 64 };

static const unsigned char ipv4_prefix[IPV4_AT] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool is_ipv4(const struct client_address *address)
{
    return memcmp(address->bytes, ipv4_prefix, IPV4_AT) == 0;
}

bool client_address_read(const char *text, struct client_address *out)
{
    struct client_address address;

    memcpy(address.bytes, ipv4_prefix, IPV4_AT);
    if (inet_pton(AF_INET, text, address.bytes + IPV4_AT) != 1 &&
        inet_pton(AF_INET6, text, address.bytes) != 1)
        return false;
    *out = address;
    return true;
}

void client_address_of_socket(const struct sockaddr_storage *peer, struct client_address *out)
{
    if (peer->ss_family == AF_INET6) {
        memcpy(out->bytes, &((const struct sockaddr_in6 *)peer)->sin6_addr, sizeof out->bytes);
    } else {
        memcpy(out->bytes, ipv4_prefix, IPV4_AT);
        memcpy(out->bytes + IPV4_AT, &((const struct sockaddr_in *)peer)->sin_addr,
               sizeof out->bytes - IPV4_AT);
    }
}

/* ---- networks -------------------------------------------------------------------------------- */

static bool bits_are_equal(const unsigned char *left, const unsigned char *right, unsigned bits)
{
    unsigned whole = bits / 8;
    unsigned rest = bits % 8;

    if (memcmp(left, right, whole) != 0) return false;
    return rest == 0 || (left[whole] ^ right[whole]) >> (8 - rest) == 0;
}

static bool has_bits_behind(const struct network *network)
{
    for (unsigned bit = network->bits; bit < ALL_BITS; bit++) {
        if (network->address.bytes[bit / 8] >> (7 - bit % 8) & 1) return true;
    }
    return false;
}

/* At most 5 digits, up to max. */
static bool read_number(const char *text, size_t len, unsigned max, unsigned *out)
{
    unsigned number = 0;

    if (len == 0 || len > 5) return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        number = number * 10 + (unsigned)(text[i] - '0');
    }
    *out = number;
    return number <= max;
}

static bool read_network(const char *text, size_t len, struct network *out)
{
    char word[WORD_SIZE];
    char *slash = NULL;
    unsigned offset = 0;

    if (len >= sizeof word) return false;
    memcpy(word, text, len);
    word[len] = '\0';
    slash = strchr(word, '/');
    if (slash) *slash = '\0';
    if (!client_address_read(word, &out->address)) return false;
    out->bits = ALL_BITS;
    if (!slash) return true;
    if (!strchr(word, ':')) offset = IPV4_BITS;
    if (!read_number(slash + 1, strlen(slash + 1), ALL_BITS - offset, &out->bits)) return false;
    out->bits += offset;
    return !has_bits_behind(out);
}

bool client_address_read_networks(const char *text, struct networks *out)
{
    struct networks networks = {.count = 0};

    for (;;) {
        size_t len = strcspn(text, ",");

        if (networks.count == NETWORKS_MAX ||
            !read_network(text, len, &networks.at[networks.count]))
            return false;
        networks.count++;
        if (!text[len]) break;
        text += len + 1;
    }
    *out = networks;
    return true;
}

static bool is_among(const struct networks *networks, const struct client_address *address)
{
    for (size_t i = 0; i < networks->count; i++) {
        const struct network *network = &networks->at[i];

        if (bits_are_equal(network->address.bytes, address->bytes, network->bits)) return true;
    }
    return false;
}

/* ---- the way to the client ------------------------------------------------------------------- */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* ":8080" or nothing. */
static bool is_port(const char *text)
{
    unsigned ignored = 0;

    return !*text || (*text == ':' && read_number(text + 1, strlen(text + 1), 65535, &ignored));
}

/* An address, perhaps with a port: 1.2.3.4, 1.2.3.4:5, ::1, [::1], [::1]:5. */
static bool read_element(const char *text, size_t len, struct client_address *out)
{
    char word[WORD_SIZE];
    char *end = NULL;
    char *host = word;

    if (len == 0 || len >= sizeof word) return false;
    memcpy(word, text, len);
    word[len] = '\0';
    if (word[0] == '[') {
        host = word + 1;
        end = strchr(host, ']');
        if (!end || !is_port(end + 1)) return false;
        *end = '\0';
        return strchr(host, ':') && client_address_read(host, out);
    }
    end = strchr(word, ':');
    if (end && end == strrchr(word, ':')) { /* one alone is no IPv6 address's */
        if (!is_port(end)) return false;
        *end = '\0';
    }
    return client_address_read(host, out);
}

/* One proxy further. */
static void take_element(struct client_walk *walk, const char *text, size_t len)
{
    while (len > 0 && is_blank(text[len - 1]))
        len--;
    while (len > 0 && is_blank(*text)) {
        text++;
        len--;
    }
    if (!read_element(text, len, &walk->found)) {
        walk->found = walk->peer;
        walk->is_over = true;
    } else if (!is_among(walk->trusted, &walk->found)) {
        walk->is_over = true;
    }
}

void client_address_walk_begin(struct client_walk *walk, const struct networks *trusted,
                               const struct client_address *peer)
{
    *walk = (struct client_walk){.trusted = trusted, .peer = *peer, .found = *peer};
    walk->is_over = !is_among(trusted, &walk->peer);
}

void client_address_walk_list(struct client_walk *walk, const char *list)
{
    size_t end = strlen(list);

    while (!walk->is_over) {
        size_t begin = end;

        while (begin > 0 && list[begin - 1] != ',')
            begin--;
        take_element(walk, list + begin, end - begin);
        if (begin == 0) return;
        end = begin - 1;
    }
}

/* ---- as text --------------------------------------------------------------------------------- */

const char *client_address_show(const struct client_address *address, char out[CLIENT_TEXT_SIZE])
{
    bool is_4 = is_ipv4(address);

    (void)inet_ntop(is_4 ? AF_INET : AF_INET6, address->bytes + (is_4 ? IPV4_AT : 0), out,
                    CLIENT_TEXT_SIZE); /* it fits */
    return out;
}

uint64_t client_address_key(const struct client_address *address)
{
    uint64_t key = 0;

    memcpy(&key, address->bytes + (is_ipv4(address) ? IPV4_AT - 4 : 0), sizeof key);
    return be64toh(key);
}

const char *client_address_group(const struct client_address *address, char out[CLIENT_TEXT_SIZE])
{
    struct client_address prefix = *address;
    char text[INET6_ADDRSTRLEN] = "";

    if (is_ipv4(address)) return client_address_show(address, out);
    memset(prefix.bytes + GROUP_BYTES, 0, sizeof prefix.bytes - GROUP_BYTES);
    (void)inet_ntop(AF_INET6, prefix.bytes, text, sizeof text); /* it fits */
    (void)snprintf(out, CLIENT_TEXT_SIZE, "%s/64", text);
    return out;
}
