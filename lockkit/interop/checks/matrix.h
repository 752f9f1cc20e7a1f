/*
 * The compatibility matrix of one test program: a row of Markdown for each kind.
 */
#ifndef LOCKKIT_INTEROP_MATRIX_H
#define LOCKKIT_INTEROP_MATRIX_H

#include <stdbool.h>

/* A check of a kind begins: it counts as failed until it is said to have passed. Returns whether
   the one before has failed. */
bool matrix_begin(const char *kind, const char *what);
void matrix_pass(void);

/* Of the check that is running: a figure to stand beside it; a difference that it has found, which
   is told instead of it. */
__attribute__((format(printf, 1, 2))) void matrix_note(const char *format, ...);
void matrix_differ(const char *how);

/* Write the rows: | kind | rival | what was tested | what differs |. False when that fails. */
bool matrix_write(const char *path, const char *rival);

#endif
