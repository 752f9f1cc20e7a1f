/*
 * Standard streams that are closed when a program begins.
 */
#ifndef COMMON_STD_STREAMS_H
#define COMMON_STD_STREAMS_H

/*
 * Open /dev/null in place of each standard stream that is closed. Otherwise the first file or socket that the
 * program opens would become its standard input, output or error: messages would go into a connection, and child
 * processes would inherit it. Call it first in main(). It ends the program (status 126) if /dev/null cannot be opened.
 */
void std_streams_open(void);

#endif
