/* aio_surface: asynchronous I/O through POSIX aio, libaio and io_uring.
 *
 * Each part verifies the data it moved and every result. The parts work in a folder of their own, which is empty again at
 * the end of each. Where the kernel has no io_uring for us, the parts that need it say so and do nothing.
 *
 *   aio_surface [--dir PATH] [part ...]
 */
#include "surface.h"
#include "../parts.h"

static const struct part parts[] = {
    {"posix", posix_transfers},
    {"posix-lists", posix_lists},
    {"posix-idle", posix_idle},
    {"libaio", libaio_transfers},
    {"libaio-refusals", libaio_refusals},
    {"libaio-queue", libaio_queue},
    {"libaio-by-number", libaio_by_number},
    {"ring", ring_transfers},
    {"ring-registered", ring_registered},
    {"ring-descriptors", ring_descriptors},
    {"ring-multishot", ring_multishot},
    {"ring-wide", ring_wide},
    {"ring-polled", ring_polled},
    {"ring-by-number", ring_by_number},
    {"ring-left", ring_left},
    {"ring-closed", ring_closed},
    {"ring-later", ring_later},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    umask(022);
    return parts_main(argc, argv, "aio_surface", parts);
}
