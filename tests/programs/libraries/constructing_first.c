/* The same, linked so that its constructor runs before those of all others, the recorder's and libc's among them: only one
 * library can, the last in the list of those that ask for it. */
#include "constructing.c"
