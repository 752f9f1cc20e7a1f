/*
 * The stretch of a history that its first finding is about, as text and as a picture (SVG).
 */
#ifndef LK_HISTORY_DRAW_H
#define LK_HISTORY_DRAW_H

#include "finding.h"

/* What led to the first finding: who held, or may have held, its key then, and who did last; their steps, and what
   befell them. Into options->drawing and options->picture; nothing when nothing was found, or without a key. */
void history_draw(const struct checking *checking);

#endif
