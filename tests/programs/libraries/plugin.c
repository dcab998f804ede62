/* What a program loads while it runs: ten writes of one byte each to `<name>`, through a stream 20 bytes to `<name>.lines`, which
 * is renamed to `<name>.renamed` at the end, and an fsync in between. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int plugin_run(const char *name)
{
    char lines[256], renamed[256];
    snprintf(lines, sizeof lines, "%s.lines", name);
    snprintf(renamed, sizeof renamed, "%s.renamed", name);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        return 1;
    for (int i = 0; i < 10; i++)
        if (write(fd, "p", 1) != 1)
            return 2;
    if (fsync(fd) != 0 || close(fd) != 0)
        return 3;
    FILE *stream = fopen(lines, "w");
    if (!stream || fprintf(stream, "%19d\n", 7) != 20 || fclose(stream) != 0)
        return 4;
    return rename(lines, renamed) == 0 ? 0 : 5;
}
