/*
 * A table on the screen: lines of cells with tabs between them, each column as wide as its widest cell.
 */
#ifndef LOADTEST_TABLE_H
#define LOADTEST_TABLE_H

#include <stdio.h>

enum { TABLE_COLUMNS_MAX = 16 };

struct table {
    FILE *to;   /* borrowed */
    FILE *rows; /* written to by the caller, until it is closed */
    char *text;
    size_t size;
};

/* It cannot fail: without memory, the cells are printed as they come. */
void table_open(struct table *table, FILE *to);
/* Print it. */
void table_close(struct table *table);

#endif
