/* A library that does I/O while it is loaded and unloaded: in its constructor, in a thread that this starts, and in its
 * destructor. In every process that has it, three appends of five bytes to the file `constructed`, the first through a stream. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void append(const char *text)
{
    int fd = open("constructed", O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) != 0)
        abort();
}

static void append_by_stream(const char *text)
{
    FILE *stream = fopen("constructed", "a");
    if (stream == NULL || fputs(text, stream) < 0 || fclose(stream) != 0)
        abort();
}

static void *in_thread(void *unused)
{
    append("begun");
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    append_by_stream("begin");
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        abort();
}

__attribute__((destructor)) static void end(void)
{
    append("ended");
}
