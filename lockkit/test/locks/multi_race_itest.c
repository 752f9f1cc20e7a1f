/*
 * Multi locks of several processes that want the same locks in different orders, or parts of each
 * other's (55 of the checklist in redisson.md): all come through, and nobody meets anybody inside.
 * Processes are forked before any client exists; this one alone asserts.
 */
#include "test/support/lk_crowd.h"

enum { SERVERS = 3, KEYS = 3, PROCESSES = 4, WAIT_MS = 30000 };

static struct lks_server *servers[SERVERS];

struct board {
    atomic_int inside[KEYS]; /* who believes to hold this one */
    atomic_int inside_any;   /* who believes to hold the lock made of them */
    atomic_int overlaps;
    atomic_int done; /* rounds */
    struct lks_blame blame;
};

/* What a process wants: some of the keys, each on its server, in this order. */
struct wish {
    size_t count;
    size_t keys[KEYS];
    size_t servers[KEYS];
    unsigned failures_allowed;
    bool is_by_tcp[SERVERS]; /* known by another name, which sorts behind those of unix sockets */
};

struct game {
    const char *name;
    int rounds; /* of each process */
    size_t process_count;
    struct wish wishes[PROCESSES];
};

static void enter(struct board *board, const struct wish *wish)
{
    for (size_t i = 0; i < wish->count && wish->failures_allowed == 0; i++) {
        if (atomic_fetch_add(&board->inside[wish->keys[i]], 1) != 0)
            atomic_fetch_add(&board->overlaps, 1);
    }
    if (wish->failures_allowed > 0 && atomic_fetch_add(&board->inside_any, 1) != 0)
        atomic_fetch_add(&board->overlaps, 1);
}

static void leave(struct board *board, const struct wish *wish)
{
    for (size_t i = 0; i < wish->count && wish->failures_allowed == 0; i++)
        atomic_fetch_sub(&board->inside[wish->keys[i]], 1);
    if (wish->failures_allowed > 0) atomic_fetch_sub(&board->inside_any, 1);
}

static bool play_round(struct board *board, const struct wish *wish, lk_lock *multi, int round)
{
    struct lk_lock_options options = {.wait_ms = WAIT_MS};
    struct lk_error err = {0};

    if (!lks_is_ok(&board->blame, "acquire", lk_lock_acquire(multi, &options, &err), &err))
        return false;
    enter(board, wish);
    if (round % 16 == 0) lks_nap(1);
    atomic_fetch_add(&board->done, 1);
    leave(board, wish);
    return lks_is_ok(&board->blame, "release", lk_lock_release(multi, &err), &err);
}

/* A process: its own clients. Does not assert. */
struct play {
    struct board *board;
    const struct game *game;
    const char *keys[KEYS];
};

static int player_main(unsigned process, void *arg)
{
    const struct play *play = arg;
    const struct wish *wish = &play->game->wishes[process];
    lk_client *clients[SERVERS];
    lk_lock *members[KEYS];
    bool goes_on = true;

    for (size_t i = 0; i < SERVERS; i++) {
        const char *url = wish->is_by_tcp[i] ? servers[i]->tcp_url : servers[i]->url;

        clients[i] =
            lk_client_open(&(struct lk_client_options){.url = url, .command_ms = 10000}, NULL);
        if (!clients[i]) return 1;
    }
    for (size_t i = 0; i < wish->count; i++)
        members[i] = lk_reentrant_new(clients[wish->servers[i]], play->keys[wish->keys[i]], NULL);
    lk_lock *multi =
        lk_multi_new(members, wish->count,
                     &(struct lk_multi_options){.failures_allowed = wish->failures_allowed}, NULL);
    for (int round = 0; round < play->game->rounds && goes_on; round++)
        goes_on = multi && play_round(play->board, wish, multi, round);
    lk_lock_free(multi);
    for (size_t i = 0; i < wish->count; i++)
        lk_lock_free(members[i]);
    for (size_t i = 0; i < SERVERS; i++)
        lk_client_close(clients[i]);
    return goes_on ? 0 : 2;
}

static void play_game(const struct game *game)
{
    static const char *const names[KEYS] = {"a", "b", "c"};
    struct board *board = lks_shared(sizeof *board);
    struct play play = {.board = board, .game = game};
    double begin = lks_now_ms();

    for (size_t i = 0; i < KEYS; i++)
        play.keys[i] = lks_key(servers[0], names[i]);
    lks_processes((unsigned)game->process_count, player_main, &play);
    print_message("# %s: %d rounds in %.0f ms\n", game->name, atomic_load(&board->done),
                  lks_now_ms() - begin);

    assert_string_equal(board->blame.first, "");
    assert_int_equal(atomic_load(&board->overlaps), 0);
    assert_int_equal(atomic_load(&board->done), game->rounds * (int)game->process_count);
}

/* 55 */
TEST(opposite_orders_do_not_lock_each_other_out)
{
    static const struct game game = {
        .name = "a, b against b, a",
        .rounds = 1000,
        .process_count = 2,
        .wishes = {{.count = 2, .keys = {0, 1}, .servers = {0, 1}},
                   {.count = 2, .keys = {1, 0}, .servers = {1, 0}}},
    };

    play_game(&game);
}

/* They do not know that it is the same server, so they cannot agree on an order. */
TEST(opposite_orders_of_taking_do_not_either)
{
    static const struct game game = {
        .name = "a, then b against b, then a",
        .rounds = 1000,
        .process_count = 2,
        .wishes = {{.count = 2, .keys = {0, 1}, .servers = {0, 1}, .is_by_tcp = {false, true}},
                   {.count = 2, .keys = {0, 1}, .servers = {0, 1}, .is_by_tcp = {true, false}}},
    };

    play_game(&game);
}

TEST(chains_of_wishes_do_not_lock_each_other_out)
{
    static const struct game game = {
        .name = "a, b and b, c and c, a and all",
        .rounds = 250,
        .process_count = 4,
        .wishes = {{.count = 2, .keys = {0, 1}, .servers = {0, 1}},
                   {.count = 2, .keys = {1, 2}, .servers = {1, 2}},
                   {.count = 2, .keys = {2, 0}, .servers = {2, 0}},
                   {.count = 3, .keys = {2, 0, 1}, .servers = {2, 0, 1}}},
    };

    play_game(&game);
}

TEST(majorities_do_not_meet)
{
    static const struct game game = {
        .name = "two of three servers",
        .rounds = 150,
        .process_count = 3,
        .wishes = {{.count = 3, .servers = {0, 1, 2}, .failures_allowed = 1},
                   {.count = 3, .servers = {1, 2, 0}, .failures_allowed = 1},
                   {.count = 3, .servers = {2, 1, 0}, .failures_allowed = 1}},
    };

    play_game(&game);
}

BEFORE_ALL()
{
    for (size_t i = 0; i < SERVERS; i++)
        servers[i] = lks_server_start(&(struct lks_server_options){.is_tcp = true});
}

AFTER_ALL()
{
    for (size_t i = 0; i < SERVERS; i++)
        lks_server_stop(servers[i]);
}
