/*
 * A backend is loaded when the first URL of its kind is opened, so that a program that uses Redis alone needs
 * no other client library. It calls the lki_* functions of the lockkit that loads it. Threads: any.
 */
#include "backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* Linked in, or NULL. */
extern const struct lki_backend lki_backend_postgres __attribute__((weak));
extern const struct lki_backend lki_backend_zookeeper __attribute__((weak));

static const struct {
    const char *scheme, *library, *symbol;
    const struct lki_backend *linked;
} backends[] = {
    {"postgres://", "liblockkit-postgres.so.0", "lki_backend_postgres", &lki_backend_postgres},
    {"postgresql://", "liblockkit-postgres.so.0", "lki_backend_postgres", &lki_backend_postgres},
    {"zookeeper://", "liblockkit-zookeeper.so.0", "lki_backend_zookeeper", &lki_backend_zookeeper},
};

static lk_status load(const char *library, const char *symbol, const struct lki_backend **out,
                      struct lk_error *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_NODELETE);

    if (!handle)
        return LKI_FAIL(err, LK_INVALID, "such a URL needs %s: %s", library,
                        dlerror()); /* NOLINT(concurrency-mt-unsafe): of this thread */
    *out = dlsym(handle, symbol);
    return *out ? LK_OK : LKI_FAIL(err, LK_INVALID, "%s is of another version", library);
}

lk_status lki_backend_find(const char *url, const struct lki_backend **out, struct lk_error *err)
{
    *out = NULL;
    for (size_t i = 0; url && i < sizeof backends / sizeof backends[0]; i++) {
        if (strncmp(url, backends[i].scheme, strlen(backends[i].scheme)) != 0) continue;
        *out = backends[i].linked;
        return *out ? LK_OK : load(backends[i].library, backends[i].symbol, out, err);
    }
    return LK_OK;
}
