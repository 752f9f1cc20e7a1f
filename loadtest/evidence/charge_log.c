/*
 * One thread.
 */
#include "charge_log.h"

#include <string.h>

#include "base/json_file.h"

struct reader {
    struct facts *facts; /* borrowed, as the next */
    const char *sale;
};

static bool add(struct reader *reader, const json_t *about, pay_step step, struct failure *why)
{
    const char *texts[] = {"order", "buyer", "payment", "currency"};
    const char *kept[4] = {NULL};
    const char *sale = json_file_lines_text(about, "sale");

    for (size_t i = 0; i < 4; i++) {
        const char *text = json_file_lines_text(about, texts[i]);
        if (!sale || !text) return failure_set(why, "no charge: \"%s\" is missing", texts[i]);
        kept[i] = facts_text(reader->facts, text, strlen(text));
        if (!kept[i]) return failure_set(why, "out of memory");
    }
    struct pay_fact pay = {.source = PAY_BY_PROVIDER,
                           .step = step,
                           .order = kept[0],
                           .buyer = kept[1],
                           .payment = kept[2],
                           .currency = kept[3],
                           .amount = json_integer_value(json_object_get(about, "amount"))};
    return strcmp(sale, reader->sale) != 0 || facts_add_pay(reader->facts, pay) ||
           failure_set(why, "out of memory");
}

static bool take_line(void *arg, json_t *line, struct failure *why)
{
    const char *event = json_file_lines_text(line, "e");
    const char *result = json_file_lines_text(line, "result");
    const json_t *about = json_object_get(line, "event");

    if (!event) return failure_set(why, "no event \"e\"");
    if (strcmp(event, "charge") == 0) return add(arg, line, PAY_CHARGED, why);
    if (strcmp(event, "answer") != 0 || json_integer_value(json_object_get(line, "status")) != 200)
        return true;
    if (json_is_true(json_object_get(line, "damaged"))) return add(arg, about, PAY_FORGED, why);
    return !result || strcmp(result, "paid") != 0 || add(arg, about, PAY_PAID, why);
}

bool charge_log_read(struct facts *facts, const char *sale, const char *path,
                     struct failure *failure)
{
    struct reader reader = {.facts = facts, .sale = sale};

    facts->has_charges = true;
    return json_file_read_lines(path, take_line, &reader, failure);
}
