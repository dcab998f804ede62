/* Pseudo: N ranks write one checkpoint file with interleaved access, synchronize once, and read it back.
 *
 * Verifies every word that is read, and the size of the file. Options and source: see pseudo.h and --help.
 */
#include "pseudo.h"

int main(int argc, char **argv)
{
    return pseudo_main(argc, argv, (struct pseudo){.name = "pseudo"});
}
