/*
 * The sale's scripts and a server to run them on; what a script may be given is up to the tests.
 */
#include "script_world.h"

#include "store/app_scripts.h"
#include "test/support/testing.h"

static const struct {
    const char *name;
    size_t key_count;
    enum sale_key keys[SCRIPT_KEYS_MAX];
} scripts[SCRIPT_COUNT] = {
    [PURCHASE] = {"purchase", 6, {KEY_SALE, KEY_STOCK, KEY_ORDERS, KEY_LEDGER, KEY_VOID, KEY_DUE}},
    [RESOLVE] = {"resolve", 2, {KEY_VOID, KEY_ORDERS}},
    [CREATE] = {"create_sale", 4, {KEY_SALE, KEY_STOCK, KEY_ORDERS, KEY_LEDGER}},
    [END] = {"end_sale", 3, {KEY_SALE, KEY_STOCK, KEY_LEDGER}},
    [RESTOCK] = {"restock_sale", 3, {KEY_SALE, KEY_STOCK, KEY_LEDGER}}};

enum script_name script_named(const char *name)
{
    enum script_name at = PURCHASE;

    while (at < SCRIPT_COUNT && strcmp(scripts[at].name, name) != 0)
        at++;
    assert_true(at < SCRIPT_COUNT);
    return at;
}

struct lk_eval script_eval(const struct script_world *world, enum script_name name,
                           const struct lk_bytes *args, size_t count,
                           struct lk_bytes keys[SCRIPT_KEYS_MAX])
{
    for (size_t i = 0; i < scripts[name].key_count; i++)
        keys[i] = world->keys.key[scripts[name].keys[i]];
    return (struct lk_eval){.script = world->script[name],
                            .keys = keys,
                            .key_count = scripts[name].key_count,
                            .args = args,
                            .arg_count = count};
}

struct script_answer script_run(struct script_world *world, enum script_name name,
                                const struct lk_bytes *args, size_t count)
{
    struct lk_bytes keys[SCRIPT_KEYS_MAX];
    const struct lk_eval eval = script_eval(world, name, args, count, keys);
    struct script_answer answer = {.reply = NULL};

    answer.status = lk_client_eval(world->client, &eval, 0, &answer.reply, &answer.err);
    return answer;
}

size_t script_split(char *text, struct lk_bytes args[SCRIPT_ARGS_MAX])
{
    size_t count = 0;

    while (text && count < SCRIPT_ARGS_MAX)
        args[count++] = lk_bytes_of(strsep(&text, ","));
    return count;
}

struct script_answer script_run_text(struct script_world *world, enum script_name name,
                                     const char *text)
{
    char copy[512];
    struct lk_bytes args[SCRIPT_ARGS_MAX];

    (void)snprintf(copy, sizeof copy, "%s", text);
    return script_run(world, name, args, script_split(copy, args));
}

lk_status script_status(struct script_world *world, enum script_name name, const char *text)
{
    struct script_answer answer = script_run_text(world, name, text);

    lk_reply_free(answer.reply);
    return answer.status;
}

long long script_run_number(struct script_world *world, enum script_name name, const char *text)
{
    struct script_answer answer = script_run_text(world, name, text);
    const lk_reply *first = lk_reply_at(answer.reply, 0); /* of an operator's step */
    long long number = lk_reply_integer(first ? first : answer.reply, -1);

    lk_reply_free(answer.reply);
    return number;
}

const char *script_buy(struct script_world *world, const char *buyer, const char *id)
{
    static char text[256];
    char args[128];

    (void)snprintf(args, sizeof args, "here,p,1,1,%s,%s,", buyer, id);
    struct script_answer answer = script_run_text(world, PURCHASE, args);
    const char *letter = lk_reply_bytes(lk_reply_at(answer.reply, 3)).data;
    (void)snprintf(text, sizeof text, "%s%s", answer.status == LK_OK ? "" : "error: ",
                   answer.status == LK_OK ? (letter ? letter : "?") : answer.err.text);
    lk_reply_free(answer.reply);
    return text;
}

void script_refuses(struct script_world *world, enum script_name name, const struct lk_bytes *args,
                    size_t count, const char *words, const char *what)
{
    sale_remember(world->client);
    struct script_answer answer = script_run(world, name, args, count);
    sale_assert_same(world->client, what);
    if (answer.status != LK_SERVER || strncmp(answer.err.text, words, strlen(words)) != 0)
        fail_msg("%s: %s \"%s\"", what, lk_status_name(answer.status), answer.err.text);
    lk_reply_free(answer.reply);
}

void script_wipe(struct script_world *world)
{
    for (size_t i = 0; i < SALE_KEY_COUNT; i++)
        (void)sale_do(world->client, "DEL %s", world->keys.text[i]);
}

void script_put_up(struct script_world *world)
{
    script_wipe(world);
    assert_int_equal(script_run_number(world, CREATE, "here,title,3,0,0,mutex"), 1);
    assert_string_equal(script_buy(world, "ann", "11"), "C");
}

int script_world_open(void **state)
{
    struct script_world *world = calloc(1, sizeof *world);

    if (!world) return -1;
    *state = world;
    sale_keys_make("s", &world->keys);
    for (size_t i = 0; i < SCRIPT_COUNT; i++) {
        world->script[i] = lk_script_new(app_scripts_named(scripts[i].name));
        if (!world->script[i]) return -1;
    }
    if (!sale_server_start(&world->server)) return -1;
    world->client = sale_connect(&world->server, 4, SALE_GENEROUS_MS);
    return world->client ? 0 : -1;
}

int script_world_close(void **state)
{
    struct script_world *world = *state;

    lk_client_close(world->client);
    sale_server_remove(&world->server);
    for (size_t i = 0; i < SCRIPT_COUNT; i++)
        lk_script_free(world->script[i]);
    free(world);
    return 0;
}
