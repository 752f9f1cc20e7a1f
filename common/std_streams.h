/*
 * Standard streams that are closed when a program begins.
 */
#ifndef COMMON_STD_STREAMS_H
#define COMMON_STD_STREAMS_H

/*
 * Open /dev/null in place of each that is closed; else the first file or socket that the program opens becomes
 * its standard input, output or error: what it complains of goes into a server's connection, and a program
 * that it starts inherits it. First thing in main(). Ends the program (status 126) where /dev/null cannot be had.
 */
void std_streams_open(void);

#endif
