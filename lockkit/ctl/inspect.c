/*
 * lockctl inspect and lockctl list: what is held. Changes nothing.
 */
#include "lockkit/inspect.h"

#include "look.h"
#include "show.h"

static int inspect_one(const struct look *look)
{
    struct lk_inspection found;
    struct lk_error err = {0};
    struct note notes[LK_INSPECT_ROWS];

    if (lk_inspect(look->client, look->request->name, &found, &err) != LK_OK)
        return ctl_complain_of("", &err);
    note_read(look->client, &found, notes);
    if (look->request->is_json) {
        show_as_json(&found, look->server, notes);
    } else {
        show_in_words(&found, look->server, notes);
    }
    if (found.layout == LK_LAYOUT_OTHER) return CTL_NO_LOCK;
    return found.layout == LK_LAYOUT_NUMBER || show_is_held(&found) ? CTL_OK : CTL_NOTHING;
}

int ctl_inspect(const struct ctl_request *request)
{
    return show_end(look_everywhere(request, inspect_one));
}

static int list_one(const struct look *look)
{
    struct lk_walk_options options = {.match = look->request->match,
                                      .has_numbers = look->request->has_numbers};
    const struct lk_inspection *found = NULL;
    struct lk_error err = {0};
    lk_walk *walk = lk_walk_new(look->client, &options, &err);
    lk_status status = walk ? LK_OK : err.code;

    while (status == LK_OK && (status = lk_walk_next(walk, &found, &err)) == LK_OK && found) {
        if (look->request->is_json) {
            show_as_json(found, look->server, NULL);
        } else {
            show_on_a_line(found, look->server);
        }
    }
    lk_walk_free(walk);
    return status == LK_OK ? CTL_OK : ctl_complain_of("", &err);
}

int ctl_list(const struct ctl_request *request)
{
    return show_end(look_everywhere(request, list_one));
}
