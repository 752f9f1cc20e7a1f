/*
 * The main of test programs that have none of their own.
 */
#include "testing.h"

int main(int argc, char **argv)
{
    return testing_run(argc, argv);
}
