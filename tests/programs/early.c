/* early: a program that does I/O before main and after it. Nine appends of five bytes to the file `early.left`: two in a
 * function that runs before all constructors, the first of them through a stream, in the first and in the last constructor,
 * in main, at exit, in two destructors, and in a function behind all destructors. */
#include "processes.h"

static void append_by_stream(const char *name, const char *text)
{
    FILE *stream = fopen(name, "a");
    CHECK(stream != NULL);
    CHECK(fputs(text, stream) >= 0);
    CHECK_OK(fclose(stream));
}

static void before_all(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    CHECK(environment != NULL);
    append_by_stream("early.left", "first");
    append_text("early.left", "early");
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char **, char **) = before_all;

__attribute__((constructor(101))) static void construct_first(void) { append_text("early.left", "begin"); }
__attribute__((constructor)) static void construct_last(void) { append_text("early.left", "began"); }
__attribute__((destructor)) static void destroy_first(void) { append_text("early.left", "ended"); }
__attribute__((destructor(101))) static void destroy_last(void) { append_text("early.left", "final"); }

static void behind_all(void) { append_text("early.left", "last!"); }
__attribute__((section(".fini_array"), used)) static void (*fini)(void) = behind_all;

static void at_end(void) { append_text("early.left", "exit!"); }

int main(void)
{
    CHECK_OK(atexit(at_end));
    append_text("early.left", "main!");
    return 0;
}
