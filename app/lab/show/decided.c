/*
 * See decided.h. Which line that is, a table knows by the script and its answer, and by words of that line; of an error
 * it is the condition above the line that has the error's first word. Any thread.
 */
#include "decided.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first row that fits: a part of the script's name, a part of its answer, a part of the line. */
static const struct {
    const char *script, *reply, *line;
} rows[] = {
    {"purchase", "\"S", "left <= cooling then"},
    {"purchase", "\"A", "if order then"},
    {"purchase", "\"R", "if order then"},
    {"owner-check", "", "~= ARGV[#ARGV] then"},
    {"owner-check", "", "ARGV[#ARGV]) == 0 then"},
    {"fence-check", "", "< seen then"},
    {"purchase", "\"C", "left = left - 1"},
    {"resolve", "", "'HSET', KEYS[1], ARGV[1], void"},
    {"pay_orders", "\"P", "then answer = 'P'"},
    {"pay_orders", "\"L", "else answer = state == 'paid'"},
    {"expire_orders", "[0", "'ZRANGEBYSCORE'"},
    {"expire_orders", "", ":held:("},
    {"reentrant_acquire", "fence", "'INCR'"},
    {"reentrant_acquire", "[0", "redis.call('EXISTS', KEYS[1]) == 1"},
    {"reentrant_acquire", "[1", "'HSET', KEYS[1], ARGV[1], ARGV[3]"},
    {"reentrant_leave", "1", "'HSET'"},
    {"fair_acquire", "", "local is_next"},
    {"fair_release", "", "if was_held == 1"},
    {"rw_read_acquire", "[0", "if wait then return wait"},
    {"rw_read_acquire", "[1", "'mode', 'read'"},
    {"rw_write_acquire", "[0", "if wait then return wait"},
    {"rw_write_acquire", "[1", "'mode', 'write'"},
    {"rw_read_release", "", "redis.call('HLEN', lock) == 1"},
    {"rw_write_release", "", "'HDEL'"},
    {"semaphore_acquire", "", "if free < wanted"},
    {"semaphore_release", "", "'INCRBY'"},
    {"latch_count_down", "[1, 0", "if left == 0"},
    {"latch_count_down", "", "left = left - ARGV[1]"},
    {".lua", "", "then return 0 end"}, /* all that give back or prolong what is theirs */
};

/* ---- lines ----------------------------------------------------------------------------------------- */

const char *decided_find_line(const char *text, unsigned line)
{
    for (unsigned at = 1; text && at < line; at++) {
        text = strchr(text, '\n');
        if (text) text++;
    }
    return text && *text ? text : NULL;
}

static bool has(const char *line, const char *words)
{
    size_t len = strcspn(line, "\n");

    return memmem(line, len, words, strlen(words)) != NULL;
}

static bool is_comment(const char *line)
{
    return strncmp(line + strspn(line, " "), "--", 2) == 0;
}

static unsigned line_with(const char *text, const char *words)
{
    const char *line = text;

    for (unsigned at = 1; line && *line; at++) {
        if (!is_comment(line) && has(line, words)) return at;
        line = strchr(line, '\n');
        if (line) line++;
    }
    return 0;
}

/* ---- what decided ---------------------------------------------------------------------------------- */

/* "ERROR NOTOWNER the lock..." was returned below a condition; Redis itself says where: "@user_script:2". */
static unsigned line_of_error(const char *text, const char *reply)
{
    static const char place[] = "@user_script:";
    const char *said = strstr(reply, place);
    char word[LABEL_SIZE];

    if (said) return (unsigned)strtoul(said + sizeof place - 1, NULL, 10);
    (void)snprintf(word, sizeof word, "'%.*s", (int)strcspn(reply, " "), reply);
    unsigned line = line_with(text, word);
    while (line > 1 && !has(decided_find_line(text, line), " then"))
        line--;
    return line;
}

const char *decided_name(const struct tap_call *call, size_t *out_len)
{
    const char *command = call->command ? call->command : "";
    const char *name = strchr(command, ' ');

    *out_len = 0;
    if (!call->script || strncmp(command, "EVAL", 4) != 0 || !name) return NULL;
    name++;
    *out_len = *name == '<' ? strcspn(name, ">") + 1 : strcspn(name, " ");
    return name;
}

unsigned decided_line(const struct tap_call *call)
{
    static const char error[] = "ERROR ";
    size_t len = 0;
    const char *name = decided_name(call, &len);
    const char *reply = call->reply;

    if (!name || !reply || reply[0] == '(') return 0; /* it did not arrive */
    if (strncmp(reply, error, sizeof error - 1) == 0)
        return line_of_error(call->script, reply + sizeof error - 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned line = memmem(name, len, rows[i].script, strlen(rows[i].script)) &&
                                strstr(reply, rows[i].reply)
                            ? line_with(call->script, rows[i].line)
                            : 0;

        if (line > 0) return line;
    }
    return decided_find_line(call->script, 2) ? 0 : 1; /* there is only one */
}

bool decided_is_worth(const struct tap_call *call, unsigned line)
{
    enum { SHORT = 10, AROUND = 3 };
    const char *text = decided_find_line(call->script, line);
    unsigned decided = decided_line(call);

    if (!text) return false;
    if (!decided_find_line(call->script, SHORT + 1)) return true;
    if (is_comment(text)) return false;
    return (line + AROUND >= decided && line <= decided + AROUND) ||
           has(text, "redis.call('SET', KEYS[2], left)");
}
