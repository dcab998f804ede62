/* mmap_surface: files mapped into memory, with pages touched that a test knows, and the calls about mappings.
 *
 * Each part works with files of 64 pages that have its name, and verifies every result. The parts work in a folder of
 * their own, which is empty again at the end of each.
 *
 *   mmap_surface [--dir PATH] [part ...]
 */
#include "surface.h"
#include "../parts.h"

static const struct part parts[] = {
    {"shared-write", shared_write},
    {"private-write", private_write},
    {"sequential-read", sequential_read},
    {"sparse-read", sparse_read},
    {"scattered-write", scattered_write},
    {"populated", populated},
    {"becomes-writable", becomes_writable},
    {"often", often},
    {"growing", growing},
    {"shrinking", shrinking},
    {"moving-over", moving_over},
    {"doubling", doubling},
    {"partly-unmapped", partly_unmapped},
    {"replaced", replaced},
    {"replaced-by-memory", replaced_by_memory},
    {"after-close", after_close},
    {"truncated", truncated},
    {"write-back", write_back},
    {"advice", advice},
    {"locking", locking},
    {"errors", errors},
    {"anonymous", anonymous},
    {"device", device},
    {"mapped-stream", mapped_stream},
    {"forked", forked},
    {"becomes-program", becomes_program},
    {"confined", confined},
    {"threads", threads},
    {"too-many", too_many},
    {"left-mapped", left_mapped},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    umask(022);
    return parts_main(argc, argv, "mmap_surface", parts);
}
