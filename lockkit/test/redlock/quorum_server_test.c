/*
 * The identity of a server: the parser of INFO, whose bytes come from outside.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "redlock/quorum_server.h"
#include "test/support/testing.h"

/* The text at the end of a page, behind which no byte may be read. */
static struct lk_bytes at_page_end(const char *text)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t len = strlen(text);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    (void)mempcpy(pages + page - len, text, len);
    return (struct lk_bytes){pages + page - len, len};
}

static void unmap(struct lk_bytes bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)bytes.data / page * page;

    if (bytes.len > 0)
        (void)munmap((char *)start, 2 * page); /* NOLINT(performance-no-int-to-ptr) */
}

static const struct {
    const char *server, *replication, *run_id;
    bool is_replica;
} cases[] = {
    {"# Server\r\nredis_version:7.0.15\r\nrun_id:0123456789abcdef\r\ntcp_port:1\r\n",
     "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n", "0123456789abcdef", false},
    {"run_id:a\r\n", "role:slave\r\n", "a", true},
    {"run_id:a", "role:slave", "a", true},
    {"run_id:a\r", "role:slave\r", "a", true},
    {"run_id", "role", "", false},
    {"run_id:", "role:", "", false},
    {"my_run_id:a\r\nrun_identity:b\r\n", "roles:slave\r\nslave0:role:slave\r\n", "", false},
    {"\r\n\r\n\r", "role:slaves\r\n", "", false},
    {"", "", "", false},
    {"run_id:0123456789012345678901234567890123456789012345678901234567890\r\n", "role:slave\r\n",
     "", true}, /* longer than any */
};

TEST(a_server_is_known_by_two_lines_of_its_info)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lk_bytes server = at_page_end(cases[i].server);
        struct lk_bytes replication = at_page_end(cases[i].replication);
        struct lki_identity identity;

        memset(&identity, 'x', sizeof identity);
        lki_quorum_server_read_identity(&identity, server, replication);
        assert_true(identity.is_asked);
        assert_string_equal(identity.run_id, cases[i].run_id);
        assert_int_equal(identity.is_replica, cases[i].is_replica);
        unmap(server);
        unmap(replication);
    }
}

TEST(without_an_answer_the_server_counts_as_asked)
{
    struct lki_identity identity = {.is_replica = true};

    lki_quorum_server_read_identity(&identity, (struct lk_bytes){0}, (struct lk_bytes){0});
    assert_true(identity.is_asked);
    assert_false(identity.is_replica);
    assert_string_equal(identity.run_id, "");
}
