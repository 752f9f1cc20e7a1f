/*
 * See aside.h. They are what every purchase by hand asks and notes besides the stock; where one answers something
 * else than usual, the step is about it. Any thread.
 */
#include "aside.h"

#include <string.h>

static const struct {
    const char *command, *reply; /* how they begin */
    struct lab_text about;
} rows[] = {
    {"HMGET " STAGE_KEY("sale"), "[\"open\"", {"sale", "场次状态"}},
    {"HMGET " STAGE_KEY("orders"), "[nil]", {"earlier order", "买家已有的订单"}},
    {"HGET " STAGE_KEY("void"), "nil", {"given-up attempts", "已放弃的请求"}},
    {"XLEN " STAGE_KEY("ledger"), "", {"ledger", "账本"}},
    {"XADD " STAGE_KEY("ledger"), "", {"ledger entry", "账本记一笔"}},
    {"TIME", "", {"clock", "时钟"}},
};

static bool begins(const char *text, const char *with)
{
    return text && strncmp(text, with, strlen(with)) == 0;
}

/* A lesson of orders is about whether the buyer has one. */
static bool is_of_orders(const struct lab_run *run, const char *command)
{
    return run->scenario && run->scenario->expected[0].promise == LAB_TWO_ORDERS &&
           strcmp(command, "HMGET " STAGE_KEY("orders")) == 0;
}

static struct lab_text about_of(const struct lab_run *run, const struct tap_call *call)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (begins(call->command, rows[i].command) && begins(call->reply, rows[i].reply) &&
            !is_of_orders(run, rows[i].command))
            return rows[i].about;
    }
    return (struct lab_text){0};
}

struct lab_text aside_of(const struct lab_run *run, const struct lab_step *step,
                         const struct tap_call *call)
{
    bool has_more = false;

    for (size_t i = 0; i < step->calls.count; i++)
        has_more |= !about_of(run, &step->calls.list[i]).en;
    return has_more ? about_of(run, call) : (struct lab_text){0};
}
