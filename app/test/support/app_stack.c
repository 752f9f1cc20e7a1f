/*
 * See app_stack.h. Any thread.
 */
#include "app_stack.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "app_promtext.h"

enum { ENDED_MS = 10000, PAINTED = 2 * 1024 * 1024, PAINT = 0xA5 };

struct look {
    const struct app_process *service;
    int percent;
};

static bool is_told(void *arg)
{
    struct look *look = arg;
    struct app_reply *reply = calloc(1, sizeof *reply);

    if (!reply) return false;
    app_http(&(struct app_call){.base = look->service->admin, .path = "/metrics"}, reply);
    double open = app_promtext_value(reply->body, "seckill_http_connections{port=\"buyers\"}") +
                  app_promtext_value(reply->body, "seckill_http_connections{port=\"operators\"}");
    double deepest = app_promtext_value(reply->body, "seckill_thread_stack_deepest_bytes");
    double all = app_promtext_value(reply->body, "seckill_thread_stack_bytes");
    free(reply);
    if (open != 1 || all <= 0) return false;
    look->percent = (int)(100 * deepest / all);
    return true;
}

int app_stack_percent(const struct app_process *service)
{
    struct look look = {.service = service, .percent = -1};

    for (int i = 0; i < 2; i++) /* the first look is a connection, too */
        if (!app_eventually(is_told, &look, ENDED_MS)) return -1;
    return look.percent;
}

struct call {
    void (*run)(void *arg);
    void *arg;
};

static void *make_call(void *arg)
{
    const struct call *call = arg;

    call->run(call->arg);
    return NULL;
}

size_t app_stack_use(void (*run)(void *arg), void *arg)
{
    struct call call = {run, arg};
    size_t untouched = 0;
    pthread_attr_t attributes;
    pthread_t thread;
    char *stack = mmap(NULL, PAINTED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (stack == MAP_FAILED || pthread_attr_init(&attributes) != 0) abort();
    memset(stack, PAINT, PAINTED);
    if (pthread_attr_setstack(&attributes, stack, PAINTED) != 0 ||
        pthread_create(&thread, &attributes, make_call, &call) != 0 ||
        pthread_join(thread, NULL) != 0)
        abort();
    (void)pthread_attr_destroy(&attributes);
    while (untouched < PAINTED && (unsigned char)stack[untouched] == PAINT)
        untouched++;
    (void)munmap(stack, PAINTED);
    return PAINTED - untouched;
}
