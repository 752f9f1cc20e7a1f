/*
 * seckilld on one Redis address behind which a replica takes over, as with a managed Redis: it is told
 * nothing, its connections stay open, and it goes on selling.
 */
#include "test/support/app_support.h"
#include "test/support/lk_support.h"
#include "test/support/lk_vip.h"

enum { BEFORE = 20, AFTER = 20, BUYERS_MAX = 2000, SOON_MS = 20000, SYNCED_MS = 20000 };

static struct lks_server *old, *new;
static struct lks_vip *vip;
static char dir[APP_PATH_SIZE];
static struct app_process service;

BEFORE_EACH()
{
    char port[16];

    old = lks_server_start(&(struct lks_server_options){.is_tcp = true});
    new = lks_server_start(&(struct lks_server_options){.is_tcp = true});
    (void)snprintf(port, sizeof port, "%d", old->port);
    LKS_DO(new, "REPLICAOF", "127.0.0.1", port);
    LKS_EVENTUALLY(strstr(LKS_TEXT(new, "INFO", "replication"), "master_link_status:up"),
                   SYNCED_MS);
    vip = lks_vip_open(NULL, 0, old->port);
    app_folder_make(dir);
}

AFTER_EACH()
{
    (void)app_stop(&service);
    lks_vip_close(vip);
    lks_server_stop(old);
    lks_server_stop(new);
    app_folder_remove(dir);
}

/* The next buyer buys. */
static long buy_one(unsigned *buyers)
{
    static struct app_reply reply;
    char buyer[16];

    assert_in_range(*buyers, 0, BUYERS_MAX);
    (void)snprintf(buyer, sizeof buyer, "u%u", (*buyers)++);
    return app_buy(service.buyers, "moved", buyer, NULL, &reply);
}

TEST(purchases_go_on_behind_the_same_address)
{
    const char *const args[] = {"--redis", lks_vip_url(vip), NULL};
    char port[16];
    unsigned buyers = 0;
    long long refused = 0;

    assert_true(app_start(&service, dir, args));
    assert_true(app_create_sale(&service, dir, "{\"id\":\"moved\",\"stock\":5000}"));
    for (int i = 0; i < BEFORE; i++)
        assert_int_equal(buy_one(&buyers), 201);
    LKS_DO(old, "SET", "last", "1"); /* WAIT is for what its own connection has written */
    assert_int_equal(LKS_INTEGER(old, "WAIT", "1", "20000"), 1);

    LKS_DO(new, "REPLICAOF", "NO", "ONE");
    lks_vip_move(vip, new->port);
    (void)snprintf(port, sizeof port, "%d", new->port);
    LKS_DO(old, "REPLICAOF", "127.0.0.1", port);
    double begin = lks_now_ms();
    for (int sold = 0; sold < AFTER;) {
        long status = buy_one(&buyers);

        if (status != 201 && status != 503) fail_msg("status %ld", status);
        sold += status == 201;
        refused += status == 503;
        assert_true(lks_now_ms() - begin < SOON_MS);
    }
    print_message("# %lld were told 503; %d sold in %.0f ms\n", refused, AFTER,
                  lks_now_ms() - begin);
    assert_int_equal(LKS_INTEGER(new, "HLEN", "seckill:{moved}:orders"), BEFORE + AFTER);
    assert_string_equal(LKS_TEXT(new, "GET", "seckill:{moved}:stock"), "4960");
}
