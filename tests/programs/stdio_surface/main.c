/* stdio_surface: C streams in all modes, for a recorder that must see what the kernel sees of them.
 *
 * Each part verifies what it reads, and, by opening the file anew, what has reached the file and when: nothing before
 * a buffer is full or flushed. The parts work in a folder of their own, which is empty again at the end of each. At
 * the very end stdio_surface.left is written in the folder above and left open: libc writes it while the process
 * ends; its content is "written at exit\n".
 *
 *   stdio_surface [--dir PATH] [part ...]
 */
#include "surface.h"
#include "../parts.h"

static const struct part parts[] = {
    {"characters", characters},
    {"formatted", formatted},
    {"large", large_blocks},
    {"buffering", buffering},
    {"append", appending},
    {"update", updating},
    {"seek", seeking},
    {"lines", lines_and_fields},
    {"reopen", reopening},
    {"temporary", temporary_files},
    {"commands", commands},
    {"errors", errors},
    {"ends", ends_of_process},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    umask(022);
    int result = parts_main(argc, argv, "stdio_surface", parts);
    FILE *left = opened("stdio_surface.left", "w");
    CHECK(fputs("written at exit\n", left) >= 0);
    return result;
}
