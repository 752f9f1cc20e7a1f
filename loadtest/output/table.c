/*
 * Two passes over the text: one for the widths, one that prints. One thread.
 */
#include "table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void table_open(struct table *table, FILE *to)
{
    *table = (struct table){.to = to};
    table->rows = open_memstream(&table->text, &table->size);
    if (!table->rows) table->rows = to;
}

/* In characters: of "÷" only one of its two bytes counts. */
static int width_of(const char *cell, size_t length)
{
    int width = 0;

    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)cell[i] & 0xC0) != 0x80;
    return width;
}

static void walk(const struct table *table, int widths[TABLE_COLUMNS_MAX], bool is_printed)
{
    int column = 0;

    for (const char *cell = table->text; *cell;) {
        size_t length = strcspn(cell, "\t\n");
        int width = width_of(cell, length);
        bool is_last = cell[length] != '\t' || column + 1 == TABLE_COLUMNS_MAX;
        if (is_printed)
            (void)fprintf(table->to, "  %.*s%*s%s", (int)length, cell,
                          is_last ? 0 : widths[column] - width, "", is_last ? "\n" : "");
        else if (width > widths[column])
            widths[column] = width;
        column = is_last ? 0 : column + 1;
        cell += length + (cell[length] != '\0');
    }
}

void table_close(struct table *table)
{
    int widths[TABLE_COLUMNS_MAX] = {0};

    if (table->rows == table->to) return;
    if (fclose(table->rows) == 0) {
        walk(table, widths, false);
        walk(table, widths, true);
    }
    free(table->text);
}
