/*
 * Limits over ten seconds, through HTTP: four services side by side, each asked by four connections at
 * once for as long, far more often than its limit.
 */
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/app_support.h"
#include "test/support/testing.h"

enum { LIMITS = 5, CONNECTIONS = 4, SECONDS = 10, ANSWER_SIZE = 8192 };

/* Of an address: the time is asked; of a buyer: a sale that is sold out, which memory answers. */
static const struct {
    const char *flag, *limit;
    int64_t per_s, burst;
    int64_t asks_per_s; /* of all connections, if they can */
} limits[LIMITS] = {
    {"--rate", "1", 1, 1, 200},
    {"--rate", "20:200", 20, 200, 200},
    {"--rate", "5000", 5000, 5000, 12000},
    {"--address-rate", "3:1", 3, 1, 300},
    {"--address-rate", "500", 500, 500, 1500},
};

struct asker {
    pthread_t thread;
    size_t limit;
    int64_t until_ns;
    int64_t accepted;
    int64_t refused;
    bool is_broken;
};

static struct {
    char dirs[LIMITS][APP_PATH_SIZE];
    struct app_process services[LIMITS];
    struct asker askers[LIMITS][CONNECTIONS];
    struct app_reply reply;
} world;

static bool is_of_buyer(size_t limit)
{
    return strcmp(limits[limit].flag, "--rate") == 0;
}

BEFORE_EACH()
{
    bool is_good = true;

    for (size_t i = 0; i < LIMITS && is_good; i++) {
        app_folder_make(world.dirs[i]);
        is_good =
            app_start(&world.services[i], world.dirs[i],
                      (const char *const[]){limits[i].flag, limits[i].limit, NULL}) &&
            app_create_sale(&world.services[i], world.dirs[i], "{\"id\":\"cup\",\"stock\":1}");
        if (!is_good) break;
        app_buy(world.services[i].buyers, "cup", "anna", NULL, &world.reply);
        is_good = world.reply.status == 201;
    }
    assert_true(is_good);
}

AFTER_EACH()
{
    int status = 0;

    for (size_t i = 0; i < LIMITS; i++) {
        status += app_stop(&world.services[i]);
        app_folder_remove(world.dirs[i]);
    }
    assert_int_equal(status, 0);
}

static void *ask_on(void *arg)
{
    static const char buy[] = "POST /api/v1/sales/cup/orders HTTP/1.1\r\nHost: x\r\n"
                              "X-User-Id: bert\r\nContent-Length: 0\r\n\r\n";
    static const char list[] = "GET /api/v1/sales HTTP/1.1\r\nHost: x\r\n\r\n";
    struct asker *self = arg;
    const char *request = is_of_buyer(self->limit) ? buy : list;
    int64_t interval_ns = CONNECTIONS * 1000000000LL / limits[self->limit].asks_per_s;
    int64_t at_ns = clock_mono_ns();
    int fd = app_connect(world.services[self->limit].buyers);
    char answer[ANSWER_SIZE];

    for (; !self->is_broken && clock_mono_ns() < self->until_ns; at_ns += interval_ns) {
        if (at_ns > clock_mono_ns()) app_pause_until(at_ns);
        int status = app_send(fd, request, strlen(request))
                         ? app_receive_answer(fd, answer, sizeof answer)
                         : 0;
        self->accepted += status == (is_of_buyer(self->limit) ? 409 : 200);
        self->refused += status == 429;
        self->is_broken = status != 409 && status != 200 && status != 429;
    }
    if (fd >= 0) (void)close(fd);
    return NULL;
}

TEST(as_many_are_let_through_as_the_limit_says)
{
    int64_t began_ns = clock_mono_ns();

    for (size_t i = 0; i < LIMITS; i++) {
        for (size_t c = 0; c < CONNECTIONS; c++) {
            struct asker *asker = &world.askers[i][c];

            *asker = (struct asker){.limit = i, .until_ns = began_ns + SECONDS * 1000000000LL};
            assert_int_equal(pthread_create(&asker->thread, NULL, ask_on, asker), 0);
        }
    }
    for (size_t i = 0; i < LIMITS; i++) {
        for (size_t c = 0; c < CONNECTIONS; c++)
            (void)pthread_join(world.askers[i][c].thread, NULL);
    }
    for (size_t i = 0; i < LIMITS; i++) {
        double due = (double)(limits[i].per_s * SECONDS + limits[i].burst);
        int64_t accepted = 0;
        int64_t asked = 0;

        for (size_t c = 0; c < CONNECTIONS; c++) {
            accepted += world.askers[i][c].accepted;
            asked += world.askers[i][c].accepted + world.askers[i][c].refused;
            assert_false(world.askers[i][c].is_broken);
        }
        print_message("# %s %s: %lld of %lld, %.1f %% of what is due\n", limits[i].flag,
                      limits[i].limit, (long long)accepted, (long long)asked,
                      100 * (double)accepted / due);
        assert_true((double)accepted >= due * 0.95 - 1 && (double)accepted <= due * 1.05);
    }
}
