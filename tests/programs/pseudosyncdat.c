/* PseudoSyncDat: Pseudo with computation and a barrier between every two I/Os.
 *
 * Verifies every word that is read, and the size of the file. Options and source: see pseudo.h and --help.
 */
#include "pseudo.h"

int main(int argc, char **argv)
{
    return pseudo_main(argc, argv, (struct pseudo){.name = "pseudosyncdat", .sync = 1, .compute = 100});
}
