/*
 * What guards share. Any thread.
 */
#include "guard.h"

const char *guard_verdict_name(enum verdict which)
{
    static const char *const names[] = {VERDICT_LIST(LIST_NAME)};

    return names[which];
}

void guard_pause(const struct guard_ctx *ctx)
{
    if (ctx->pause) ctx->pause(ctx);
}
