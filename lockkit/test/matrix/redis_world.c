/*
 * What the fault matrix does to Redis: a plain server, a Sentinel set, a cluster. By the main thread.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"
#include "test/support/lk_busy.h"

enum { DIRTY = 8 };

/* ---- servers ----------------------------------------------------------------------------------------------- */

static lk_script *script; /* what locks guard */

static void start(struct world *world)
{
    static const struct lk_script_source source = {.source = "return redis.call('INCR', KEYS[1])"};

    if (!script) script = lk_script_new(&source);
    world->options.setting = "enable-debug-command yes\nappendfsync everysec\n"
                             "user app on nopass ~* &* +@all";
    world->set = lkt_start(&world->options);
    const char *hosts = strstr(world->set->url, "://");
    (void)snprintf(world->url, sizeof world->url, "%.*s://app:x@%s", (int)(hosts - world->set->url),
                   world->set->url, hosts + 3);
}

static void stop(struct world *world)
{
    lkt_stop(world->set);
    lk_script_free(script);
    script = NULL;
}

static void find(struct world *world)
{
    const char *slot = world->options.is_cluster ? lkt_tell(world->set, "slot {m}") : "";

    (void)snprintf(world->at, sizeof world->at, "%s", lkt_tell(world->set, "primary %s", slot));
    world->server = lkt_server(world->set, world->at);
}

static void tidy(struct world *world, bool is_unsettled)
{
    LKS_DO(world->server, "FLUSHALL");
    if (is_unsettled) (void)lkt_tell(world->set, "ready");
}

/* A connection for each, so that what a fault hits is the step itself. */
static void fill_pool(lk_client *client, size_t count)
{
    lk_session *sessions[WORLD_POOL];

    for (size_t i = 0; i < count; i++)
        sessions[i] = lk_session_open(client, "{m}", 0, NULL);
    for (size_t i = 0; i < count; i++)
        lk_session_close(sessions[i]);
}

static lk_status eval(lk_lock *lock, const char *key, struct lk_error *err)
{
    static const struct lk_bytes counter = {.data = "{m}:counter", .len = 11};
    struct lk_eval guarded = {.script = script, .keys = &counter, .key_count = 1};
    lk_reply *reply = NULL;
    lk_status status = lk_guarded_eval(lock, &guarded, 0, &reply, err);

    (void)key;
    lk_reply_free(reply);
    return status;
}

static bool is_left(struct world *world, const char *key, bool is_counted)
{
    return strcmp(LKS_TEXT(world->server, "GET", key), is_counted ? "1" : "(nil)") != 0;
}

static void kill_it(struct world *world)
{
    (void)lkt_tell(world->set, "kill %s", world->at);
}

static bool takes_writes(struct world *world)
{
    find(world);
    return strcmp(LKS_TEXT(world->server, "SET", "{m}:probe", ""), "OK") == 0;
}

/* A cluster's takes no writes at first. Or, when the machine was slow, another has taken over. */
static void start_it(struct world *world, const char *how)
{
    char before[sizeof world->at];

    memcpy(before, world->at, sizeof before);
    (void)lkt_tell(world->set, "%s %s", how, world->at);
    LKS_EVENTUALLY(takes_writes(world), 20000);
    world->has_moved = strcmp(world->at, before) != 0;
}

static void restart_it(struct world *world)
{
    start_it(world, "restart");
}

static void wipe_it(struct world *world)
{
    start_it(world, "wipe");
}

static void forget_scripts(struct world *world)
{
    LKS_DO(world->server, "SCRIPT", "FLUSH");
}

static void pause_it(struct world *world)
{
    (void)lkt_tell(world->set, "pause %s", world->at);
}

static void pause_without_scripts(struct world *world)
{
    forget_scripts(world);
    pause_it(world);
}

static void resume_it(struct world *world)
{
    (void)lkt_tell(world->set, "resume %s", world->at);
}

/* Another server takes over, or it is as if one were about to. */
static void demote_it(struct world *world)
{
    int number = world->at[1] - '0';

    if (world->options.is_cluster) {
        (void)lkt_tell(world->set, "failover n%d", number > 3 ? number - 3 : number + 3);
    } else {
        LKS_DO(world->server, "REPLICAOF", "127.0.0.1", "1");
    }
}

static void promote_it(struct world *world)
{
    if (!world->options.is_cluster) LKS_DO(world->server, "REPLICAOF", "NO", "ONE");
}

/* Of the same server, in all likelihood, and without keys. */
static const char *slot_beside(struct world *world)
{
    return lks_format("%ld", strtol(lkt_tell(world->set, "slot {m}"), NULL, 10) + 1);
}

static void lose_a_slot(struct world *world)
{
    LKS_DO(world->server, "CLUSTER", "DELSLOTS", slot_beside(world));
}

static void find_the_slot(struct world *world)
{
    LKS_DO(world->server, "CLUSTER", "ADDSLOTS", slot_beside(world));
}

static void fill_it(struct world *world)
{
    LKS_DO(world->server, "CONFIG", "SET", "maxmemory", "1");
}

static void empty_it(struct world *world)
{
    LKS_DO(world->server, "CONFIG", "SET", "maxmemory", "0");
}

static void occupy_it(struct world *world)
{
    world->helper = lks_busy_begin(world->server);
}

static void let_it_go(struct world *world)
{
    lks_busy_end(world->server, world->helper);
}

/* Where it saves: no file is renamed over a folder. */
static const char *snapshot_of(struct world *world)
{
    lk_reply *dir = LKS_ASK(world->server, "CONFIG", "GET", "dir");
    const char *path = lks_format("%s/dump.rdb", lk_reply_bytes(lk_reply_at(dir, 1)).data);

    lk_reply_free(dir);
    return path;
}

static void fail_saving(struct world *world)
{
    (void)unlink(snapshot_of(world));
    assert_int_equal(mkdir(snapshot_of(world), 0700), 0);
    LKS_DO(world->server, "CONFIG", "SET", "save", "3600 1000000");
    LKS_DO(world->server, "BGSAVE");
    LKS_EVENTUALLY(strstr(LKS_TEXT(world->server, "SET", "{m}:probe", ""), "MISCONF"), 5000);
}

static void save_again(struct world *world)
{
    LKS_DO(world->server, "CONFIG", "SET", "save", "");
    assert_int_equal(rmdir(snapshot_of(world)), 0);
}

static void orphan_it(struct world *world)
{
    LKS_DO(world->server, "CONFIG", "SET", "replica-serve-stale-data", "no");
    LKS_DO(world->server, "REPLICAOF", "127.0.0.1", "1");
}

static void adopt_it(struct world *world)
{
    LKS_DO(world->server, "REPLICAOF", "NO", "ONE");
    LKS_DO(world->server, "CONFIG", "SET", "replica-serve-stale-data", "yes");
}

static void lack_replicas(struct world *world)
{
    LKS_DO(world->server, "CONFIG", "SET", "min-replicas-to-write", "9");
}

static void have_replicas(struct world *world)
{
    LKS_DO(world->server, "CONFIG", "SET", "min-replicas-to-write", "0");
}

static void suspend_it(struct world *world)
{
    LKS_DO(world->server, "CLIENT", "PAUSE", "900", "ALL");
}

static void cut_all(struct world *world)
{
    LKS_DO(world->server, "CLIENT", "KILL", "USER", "app");
}

/* Those that stand are cut, and there is no room for others. */
static void crowd_it(struct world *world)
{
    LKS_DO(world->server, "CONFIG", "SET", "maxclients", "1");
    cut_all(world);
}

static void clear_it(struct world *world)
{
    LKS_DO(world->server, "CONFIG", "SET", "maxclients", "10000");
}

static void forbid_channels(struct world *world)
{
    LKS_DO(world->server, "ACL", "SETUSER", "app", "resetchannels");
}

static void forbid_scripts(struct world *world)
{
    LKS_DO(world->server, "ACL", "SETUSER", "app", "-@scripting");
}

static void allow_all(struct world *world)
{
    LKS_DO(world->server, "ACL", "SETUSER", "app", "allchannels", "+@all");
}

/* It answers all the while: LOADING. */
static void *reload_main(void *arg)
{
    struct world *world = arg;
    lk_client *client =
        lks_client_with(world->server, (struct lk_client_options){.command_ms = 20000});
    const struct lk_bytes words[] = {LK_BYTES("DEBUG"), LK_BYTES("RELOAD")};
    lk_reply *reply = NULL;

    (void)!lk_client_call(client, &(struct lk_command){words, 2}, 1, 0, &reply, NULL);
    lk_reply_free(reply);
    lk_client_close(client);
    return NULL;
}

static void load_it(struct world *world)
{
    LKS_DO(world->server, "CONFIG", "SET", "loading-process-events-interval-bytes", "1024");
    LKS_DO(world->server, "EVAL",
           "for i = 1, 3000 do redis.call('SET', KEYS[1] .. i, 'x') end return 1", "1",
           "{m}:filler");
    LKS_DO(world->server, "CONFIG", "SET", "key-load-delay", "250");
    assert_int_equal(pthread_create(&world->helper, NULL, reload_main, world), 0);
    LKS_EVENTUALLY(strstr(LKS_TEXT(world->server, "GET", "{m}"), "LOADING"), 5000);
}

static void have_loaded(struct world *world)
{
    assert_int_equal(pthread_join(world->helper, NULL), 0);
    LKS_DO(world->server, "CONFIG", "SET", "key-load-delay", "0");
}

/* ---- clients ------------------------------------------------------------------------------------------------- */

/* In another database, or in a transaction. */
static void leave_a_mess(struct world *world)
{
    const struct lk_bytes words[2][3] = {{LK_BYTES("SELECT"), LK_BYTES("1")}, {LK_BYTES("MULTI")}};

    for (size_t i = 0; i < DIRTY; i++) {
        const struct lk_command command = {words[i % 2], 2 - i % 2};
        lk_reply *reply = NULL;

        assert_int_equal(lk_client_call(world->mine, &command, 1, 0, &reply, NULL), LK_OK);
        lk_reply_free(reply);
    }
}

#define DEEDS                                                                                      \
    [PAUSE] = {pause_it, resume_it}, [PAUSE_FORGETFUL] = {pause_without_scripts, resume_it},       \
    [RESTART] = {kill_it, restart_it}, [WIPE] = {kill_it, wipe_it},                                \
    [REPLACE] = {demote_it, promote_it}, [FORGET_SCRIPTS] = {forget_scripts, NULL},                \
    [FILL] = {fill_it, empty_it}, [LOAD] = {load_it, have_loaded}, [CROWD] = {crowd_it, clear_it}, \
    [FORBID_CHANNELS] = {forbid_channels, allow_all},                                              \
    [FORBID_STEPS] = {forbid_scripts, allow_all}, [CUT] = {cut_all, NULL},                         \
    [SOIL] = {leave_a_mess, NULL}, [OCCUPY] = {occupy_it, let_it_go},                              \
    [FAIL_SAVING] = {fail_saving, save_again}, [LACK_REPLICAS] = {lack_replicas, have_replicas},   \
    [SUSPEND] = {suspend_it, NULL}

#define OPS                                                                                        \
    .start = start, .stop = stop, .find = find, .tidy = tidy, .fill_pool = fill_pool,              \
    .eval = eval, .deciding = 1, .is_left = is_left

const struct world_ops world_redis = {OPS, .deeds = {DEEDS, [ORPHAN] = {orphan_it, adopt_it}}};
const struct world_ops world_cluster = {
    OPS, .deeds = {DEEDS, [LOSE_A_SLOT] = {lose_a_slot, find_the_slot}}};
