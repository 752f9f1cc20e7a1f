/*
 * What guards share. Any thread.
 */
#include "guard.h"

const char *guard_verdict_name(enum verdict which)
{
    static const char *const names[] = {
#define VERDICT_NAME(value, name) [value] = (name),
        VERDICT_LIST(VERDICT_NAME)
#undef VERDICT_NAME
    };

    return names[which];
}

void guard_pause(const struct guard_ctx *ctx)
{
    if (ctx->pause) ctx->pause(ctx);
}
