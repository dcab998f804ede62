/* PseudoSync: Pseudo with a barrier after every write.
 *
 * Verifies every word that is read, and the size of the file. Options and source: see pseudo.h and --help.
 */
#include "pseudo.h"

int main(int argc, char **argv)
{
    return pseudo_main(argc, argv, (struct pseudo){.name = "pseudosync", .sync = 1});
}
