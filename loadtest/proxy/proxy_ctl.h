/*
 * `proxy ctl PATH VERB...`: the client of the control socket.
 */
#ifndef LOADTEST_PROXY_CTL_H
#define LOADTEST_PROXY_CTL_H

/*
 * Send the words as one command, print the answer.
 *
 * Returns  0   ok
 *          1   the proxy answered with an error (printed on stderr), or does not answer
 *          2   bad words; nothing was sent
 */
int proxy_ctl(int argc, char **argv);

#endif
