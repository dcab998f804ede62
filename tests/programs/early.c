/* early: a program that does I/O before main and after it. Eight appends of five bytes to the file `early.left`: in a
 * function that runs before all constructors, in the first and in the last constructor, in main, at exit, in two
 * destructors, and in a function behind all destructors. */
#include "processes.h"

static void before_all(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    CHECK(environment != NULL);
    append_text("early.left", "first");
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
