/*
 * See view.h. Threads: any.
 */
#include "view.h"

#include <stdlib.h>

void lki_view_done(struct lki_view *view)
{
    for (size_t i = 0; i < view->count; i++)
        lki_endpoint_done(&view->servers[i]);
    free(view->servers);
    free(view->owners);
    *view = (struct lki_view){0};
}
