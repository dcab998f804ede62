/* posix_surface: the file calls of POSIX and Linux that the recorder knows, with their 64, at, __ and fortified twins.
 *
 * Each part is a family of calls and verifies every result: contents, sizes, modes, positions, and errno of what must
 * fail. Built with -D_FORTIFY_SOURCE=2 it takes libc's checked entry points where there are some. The parts work in
 * a folder of their own, which is empty again at the end of each. C streams are the matter of stdio_surface.
 *
 *   posix_surface [--dir PATH] [part ...]
 */
#include "surface.h"
#include "../parts.h"

static const struct part parts[] = {
    {"open", opening},
    {"transfers", transfers},
    {"vectors", vectors},
    {"positions", positions},
    {"sizes", sizes},
    {"sync", syncing},
    {"copies", kernel_copies},
    {"hints", hints},
    {"metadata", metadata},
    {"names", links_and_names},
    {"directories", directories},
    {"chdir", working_folder},
    {"duplicates", duplicates},
    {"flags", descriptor_flags},
    {"locks", locks},
    {"pipes", pipes},
    {"seals", seals},
    {"ioctl", ioctls},
    {"clones", clones},
    {"permissions", permissions},
    {"times", times},
    {"attributes", extended_attributes},
    {"special", special_files},
    {"file-systems", file_systems},
    {"chroot", other_root},
    {"trees", trees},
    {"temporary", temporary_files},
    {"memory", memory_files},
    {"bad-descriptors", bad_descriptors},
    {"bad-addresses", bad_addresses},
    {"long-paths", long_paths},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    umask(022);
    return parts_main(argc, argv, "posix_surface", parts);
}
