/*
 * Names and tokens may hold any byte: on a terminal they are escaped, in JSON what is no UTF-8 becomes
 * U+FFFD and "name_hex" tells. One thread.
 */
#include "show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"

enum {
    NAME_MAX_SHOWN = 4 * LK_INSPECT_KEY_MAX + 8,
    OWNER_MAX_SHOWN = 4 * LK_INSPECT_OWNER_MAX + 8
};

static size_t rows_of(size_t count)
{
    return count < LK_INSPECT_ROWS ? count : LK_INSPECT_ROWS;
}

bool show_is_held(const struct lk_inspection *found)
{
    for (size_t i = 0; i < rows_of(found->holder_count); i++)
        if (found->holders[i].left_ms != 0) return true;
    return false;
}

int show_end(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    (void)ctl_complain("standard output: %s", strerrordesc_np(errno));
    return CTL_SYSTEM;
}

/* ---- in words -------------------------------------------------------------------------------- */

static void print_left(int64_t left_ms)
{
    if (left_ms == LK_INSPECT_FOREVER) {
        (void)fputs("without end", stdout);
    } else if (left_ms == 0) {
        (void)fputs("ended", stdout);
    } else {
        (void)printf("%" PRId64 " ms left", left_ms);
    }
}

static void print_holder(const struct lk_holder *holder)
{
    char owner[OWNER_MAX_SHOWN];

    ctl_escape(holder->owner, owner, sizeof owner);
    (void)printf("holder   %s, ", owner);
    if (holder->is_writer) (void)fputs("writes, ", stdout);
    if (holder->holds > 1) (void)printf("%" PRId64 " holds, ", holder->holds);
    print_left(holder->left_ms);
    (void)fputs("\n", stdout);
}

static void print_note(const struct note *note)
{
    char text[4 * NOTE_SIZE];

    if (!note->text[0]) return;
    ctl_escape(note->text, text, sizeof text);
    (void)printf("by       %s, for %" PRId64 " s\n", text, note->age_ms / 1000);
}

static void print_waiter(const struct lk_waiter *waiter)
{
    char owner[OWNER_MAX_SHOWN];

    ctl_escape(waiter->owner, owner, sizeof owner);
    (void)printf("waiter   %s, its place: ", owner);
    print_left(waiter->left_ms);
    (void)fputs("\n", stdout);
}

static void print_rest(const char *what, size_t count)
{
    if (count > LK_INSPECT_ROWS) (void)printf("%-8s and %zu more\n", what, count - LK_INSPECT_ROWS);
}

void show_in_words(const struct lk_inspection *found, const char *server, const struct note *notes)
{
    char name[NAME_MAX_SHOWN];

    ctl_escape(found->key, name, sizeof name);
    (void)printf("name     %s\n", name);
    if (server) (void)printf("server   %s\n", server);
    (void)printf("kind     %s\n", lk_layout_name(found->layout));
    (void)printf("shape    %s\n", lk_layout_meaning(found->layout));
    for (size_t i = 0; i < rows_of(found->holder_count); i++) {
        print_holder(&found->holders[i]);
        if (notes) print_note(&notes[i]);
    }
    print_rest("holder", found->holder_count);
    for (size_t i = 0; i < rows_of(found->waiter_count); i++)
        print_waiter(&found->waiters[i]);
    print_rest("waiter", found->waiter_count);
    if (found->layout == LK_LAYOUT_PERMITS)
        (void)printf("permits  %" PRId64 " available, %zu out\n", found->number,
                     found->holder_count);
    if (found->layout == LK_LAYOUT_NUMBER) (void)printf("number   %" PRId64 "\n", found->number);
    if (found->fence > 0) (void)printf("fence    %" PRIu64 "\n", found->fence);
}

/* The longest lease of all holders; permits have no other. */
static int64_t left_of(const struct lk_inspection *found)
{
    int64_t longest = 0;

    for (size_t i = 0; i < rows_of(found->holder_count); i++) {
        int64_t left_ms = found->holders[i].left_ms;

        if (left_ms == LK_INSPECT_FOREVER) return left_ms;
        if (left_ms > longest) longest = left_ms;
    }
    return longest;
}

void show_on_a_line(const struct lk_inspection *found, const char *server)
{
    char name[NAME_MAX_SHOWN];
    int64_t left_ms = left_of(found);

    ctl_escape(found->key, name, sizeof name);
    (void)printf("%-9s  ", lk_layout_name(found->layout));
    if (left_ms > 0) {
        (void)printf("%10" PRId64 " ms", left_ms);
    } else {
        (void)printf("%10s   ", left_ms == LK_INSPECT_FOREVER ? "no end" : "-");
    }
    if (found->layout == LK_LAYOUT_NUMBER) {
        (void)printf("  %23" PRId64 "  ", found->number);
    } else {
        (void)printf("  %4zu held  %4zu waiting  ", found->holder_count, found->waiter_count);
    }
    if (server) (void)printf("%s  ", server);
    (void)printf("%s\n", name);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void print_json_text(const char *text)
{
    (void)putchar('"');
    while (*text) {
        uint32_t code = 0;
        size_t len = utf8_read(text, &code);

        if (len == 0) {
            (void)fputs("\\ufffd", stdout);
        } else if (utf8_printable(text) == 0 || code == '"' || code == '\\') {
            (void)printf("\\u%04" PRIx32, code); /* what is not printable has no more digits */
        } else {
            (void)fwrite(text, 1, len, stdout);
        }
        text += len > 0 ? len : 1;
    }
    (void)putchar('"');
}

static bool is_utf8(const char *text)
{
    uint32_t code = 0;

    for (size_t len = 0; *text; text += len) {
        len = utf8_read(text, &code);
        if (len == 0) return false;
    }
    return true;
}

static void print_json_name(const char *name)
{
    (void)fputs("{\"name\":", stdout);
    print_json_text(name);
    if (is_utf8(name)) return;
    (void)fputs(",\"name_hex\":\"", stdout);
    for (; *name; name++)
        (void)printf("%02x", (unsigned)(unsigned char)*name);
    (void)putchar('"');
}

/* null: without end */
static void print_json_left(int64_t left_ms)
{
    if (left_ms == LK_INSPECT_FOREVER) {
        (void)fputs(",\"left_ms\":null", stdout);
    } else {
        (void)printf(",\"left_ms\":%" PRId64, left_ms);
    }
}

static void print_json_rows(const struct lk_inspection *found, const struct note *notes)
{
    (void)fputs(",\"holders\":[", stdout);
    for (size_t i = 0; i < rows_of(found->holder_count); i++) {
        const struct lk_holder *holder = &found->holders[i];

        (void)fputs(i > 0 ? ",{\"owner\":" : "{\"owner\":", stdout);
        print_json_text(holder->owner);
        (void)printf(",\"holds\":%" PRId64 ",\"writes\":%s", holder->holds,
                     holder->is_writer ? "true" : "false");
        print_json_left(holder->left_ms);
        if (notes && notes[i].text[0]) {
            (void)fputs(",\"by\":", stdout);
            print_json_text(notes[i].text);
            (void)printf(",\"for_ms\":%" PRId64, notes[i].age_ms);
        }
        (void)putchar('}');
    }
    (void)fputs("],\"waiters\":[", stdout);
    for (size_t i = 0; i < rows_of(found->waiter_count); i++) {
        (void)fputs(i > 0 ? ",{\"owner\":" : "{\"owner\":", stdout);
        print_json_text(found->waiters[i].owner);
        print_json_left(found->waiters[i].left_ms);
        (void)putchar('}');
    }
    (void)putchar(']');
}

void show_as_json(const struct lk_inspection *found, const char *server, const struct note *notes)
{
    print_json_name(found->key);
    if (server) {
        (void)fputs(",\"server\":", stdout);
        print_json_text(server);
    }
    (void)printf(",\"kind\":\"%s\",\"held\":%s", lk_layout_name(found->layout),
                 show_is_held(found) ? "true" : "false");
    print_json_left(left_of(found));
    (void)printf(",\"holder_count\":%zu,\"waiter_count\":%zu", found->holder_count,
                 found->waiter_count);
    print_json_rows(found, notes);
    if (found->layout == LK_LAYOUT_PERMITS || found->layout == LK_LAYOUT_NUMBER)
        (void)printf(",\"number\":%" PRId64, found->number);
    if (found->fence > 0) (void)printf(",\"fence\":%" PRIu64, found->fence);
    (void)fputs("}\n", stdout);
}
