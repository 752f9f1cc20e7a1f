/*
 * The sale's scripts and a server to run them on; what a script may be given is up to the tests.
 */
#include "script_world.h"

#include "store/app_scripts.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

struct script_answer script_run(struct script_world *world, lk_script *script,
                                const struct lk_bytes *args, size_t count)
{
    const struct lk_bytes end_keys[] = {world->keys.key[KEY_SALE], world->keys.key[KEY_STOCK],
                                        world->keys.key[KEY_LEDGER]};
    const struct lk_bytes resolve_keys[] = {world->keys.key[KEY_VOID], world->keys.key[KEY_ORDERS]};
    struct lk_eval eval = {.script = script,
                           .keys = world->keys.key,
                           .key_count = script == world->create ? KEY_LEDGER + 1 : KEY_VOID + 1,
                           .args = args,
                           .arg_count = count};
    struct script_answer answer = {.reply = NULL};

    if (script == world->end) {
        eval.keys = end_keys;
        eval.key_count = COUNT_OF(end_keys);
    } else if (script == world->resolve) {
        eval.keys = resolve_keys;
        eval.key_count = COUNT_OF(resolve_keys);
    }
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

struct script_answer script_run_text(struct script_world *world, lk_script *script,
                                     const char *text)
{
    char copy[512];
    struct lk_bytes args[SCRIPT_ARGS_MAX];

    (void)snprintf(copy, sizeof copy, "%s", text);
    return script_run(world, script, args, script_split(copy, args));
}

long long script_run_number(struct script_world *world, lk_script *script, const char *text)
{
    struct script_answer answer = script_run_text(world, script, text);
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
    struct script_answer answer = script_run_text(world, world->purchase, args);
    const char *letter = lk_reply_bytes(lk_reply_at(answer.reply, 3)).data;
    (void)snprintf(text, sizeof text, "%s%s", answer.status == LK_OK ? "" : "error: ",
                   answer.status == LK_OK ? (letter ? letter : "?") : answer.err.text);
    lk_reply_free(answer.reply);
    return text;
}

void script_refuses(struct script_world *world, lk_script *script, const struct lk_bytes *args,
                    size_t count, const char *words, const char *what)
{
    char *before = sale_dump(world->client, "s");
    struct script_answer answer = script_run(world, script, args, count);
    char *after = sale_dump(world->client, "s");
    bool is_same = before && after && strcmp(before, after) == 0;
    bool is_refused =
        answer.status == LK_SERVER && strncmp(answer.err.text, words, strlen(words)) == 0;

    lk_reply_free(answer.reply);
    if (!is_same) print_message("before:\n%safter:\n%s", before, after);
    free(before);
    free(after);
    if (!is_refused) {
        fail_msg("%s: %s \"%s\"", what, lk_status_name(answer.status), answer.err.text);
    }
    if (!is_same) fail_msg("%s: something was written", what);
}

void script_wipe(struct script_world *world)
{
    for (size_t i = 0; i < SALE_KEY_COUNT; i++)
        (void)sale_do(world->client, "DEL %s", world->keys.text[i]);
}

void script_put_up(struct script_world *world)
{
    script_wipe(world);
    assert_int_equal(script_run_number(world, world->create, "here,title,3,0,0,mutex"), 1);
    assert_string_equal(script_buy(world, "ann", "11"), "C");
}

int script_world_open(void **state)
{
    struct script_world *world = calloc(1, sizeof *world);

    if (!world) return -1;
    *state = world;
    sale_keys_make("s", &world->keys);
    world->purchase = lk_script_new(app_scripts_named("purchase"));
    world->resolve = lk_script_new(app_scripts_named("resolve"));
    world->create = lk_script_new(app_scripts_named("create_sale"));
    world->end = lk_script_new(app_scripts_named("end_sale"));
    if (!world->purchase || !world->resolve || !world->create || !world->end) return -1;
    if (!sale_server_start(&world->server)) return -1;
    world->client = sale_connect(&world->server, 4, SALE_GENEROUS_MS);
    return world->client ? 0 : -1;
}

int script_world_close(void **state)
{
    struct script_world *world = *state;

    lk_client_close(world->client);
    sale_server_remove(&world->server);
    lk_script_free(world->purchase);
    lk_script_free(world->resolve);
    lk_script_free(world->create);
    lk_script_free(world->end);
    free(world);
    return 0;
}
