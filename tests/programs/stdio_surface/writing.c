/* Writing: characters, formatted, in blocks, with each kind of buffering, and at the end of the process. */
#include "surface.h"

void characters(void)
{
    FILE *out = opened("file", "w");
    CHECK_EQ(putc('a', out), 'a');
    CHECK_EQ(fputc('b', out), 'b');
    CHECK_EQ(putc_unlocked('c', out), 'c');
    CHECK_EQ(fputc_unlocked('d', out), 'd');
    CHECK(fputs("ef", out) >= 0);
    CHECK(fputs_unlocked("gh", out) >= 0);
    CHECK_OK(putw(0x6c6b6a69, out)); /* "ijkl" on a little-endian machine */
    CHECK_EQ(size_of("file"), 0);
    CHECK_OK(fclose(out));
    FILE *in = opened("file", "r");
    CHECK_EQ(getc(in), 'a');
    CHECK_EQ(fgetc(in), 'b');
    CHECK_EQ(getc_unlocked(in), 'c');
    CHECK_EQ(fgetc_unlocked(in), 'd');
    char text[8] = "";
    CHECK(fgets(text, opaque(5), in) == text);
    CHECK_TEXT(text, "efgh");
    CHECK_EQ(getw(in), 0x6c6b6a69);
    CHECK_EQ(getc(in), EOF);
    CHECK(feof(in) && !ferror(in));
    CHECK_OK(fclose(in));
    check_and_remove("file", "abcdefghijkl");

    out = opened("wide", "w");
    CHECK_EQ(fputwc(L'w', out), L'w');
    CHECK(fputws(L"ide", out) >= 0);
    CHECK_EQ(fwprintf(out, L" %d", 7), 2);
    CHECK_OK(fclose(out));
    in = opened("wide", "r");
    wchar_t wide[16];
    CHECK(fgetws(wide, 16, in) == wide);
    CHECK_OK(wcscmp(wide, L"wide 7"));
    CHECK_OK(fclose(in));
    check_and_remove("wide", "wide 7");
}

__attribute__((format(printf, 2, 3))) static int print(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = vfprintf(out, format, arguments);
    va_end(arguments);
    return written;
}

void formatted(void)
{
    FILE *out = opened("file", "w");
    CHECK_EQ(fprintf(out, "%d %s\n", 42, "text"), 8);
    CHECK_EQ(print(out, "%5.2f|%c\n", 3.14159, 'c'), 8);
    CHECK_OK(fflush(out));
    CHECK_EQ(size_of("file"), 16);
    CHECK_EQ(dprintf(fileno(out), "direct\n"), 7);
    CHECK_OK(fclose(out));
    check_and_remove("file", "42 text\n 3.14|c\ndirect\n");

    /* Many small ones: several buffers full. */
    enum { LINES = 5000 };
    out = opened("file", "w");
    for (int i = 0; i < LINES; i++)
        CHECK_EQ(fprintf(out, "%07d\n", i), 8);
    CHECK(size_of("file") > 0 && size_of("file") < 8 * LINES);
    CHECK_OK(fclose(out));
    CHECK_EQ(size_of("file"), 8 * LINES);
    FILE *in = opened("file", "r");
    for (int i = 0, found; i < LINES; i++) {
        CHECK_EQ(fscanf(in, "%d", &found), 1);
        CHECK_EQ(found, i);
    }
    CHECK_OK(fclose(in));
    CHECK_OK(unlink("file"));
}

void large_blocks(void)
{
    enum { BYTES = 3 << 20, ODD = 40 };
    uint64_t *out = allocate(BYTES), *in = allocate(BYTES);
    fill_pattern(out, BYTES, 0, 1);
    FILE *stream = opened("file", "wb");
    CHECK_EQ(fwrite(out, 8, ODD / 8, stream), ODD / 8); /* small: stays in the buffer */
    CHECK_EQ(size_of("file"), 0);
    CHECK_EQ(fwrite((char *)out + ODD, 1, BYTES - ODD, stream), BYTES - ODD); /* large: past the buffer */
    CHECK(size_of("file") > BYTES / 2);
    CHECK_EQ(fwrite_unlocked(out, 8, 100, stream), 100);
    CHECK_OK(fclose(stream));
    CHECK_EQ(size_of("file"), BYTES + 800);

    stream = opened("file", "rb");
    CHECK_EQ(fread(in, 8, ODD / 8, stream), ODD / 8);
    CHECK_EQ(fread((char *)in + ODD, 1, opaque(BYTES - ODD), stream), BYTES - ODD);
    check_pattern(in, BYTES, 0, 1);
    CHECK_EQ(fread_unlocked(in, 8, opaque(200), stream), 100); /* less than asked for */
    CHECK(feof(stream));
    check_pattern(in, 800, 0, 1);
    CHECK_OK(fclose(stream));
    CHECK_OK(unlink("file"));
    free(out);
    free(in);
}

void buffering(void)
{
    FILE *out = opened("none", "w");
    CHECK_OK(setvbuf(out, NULL, _IONBF, 0));
    CHECK_EQ(putc('a', out), 'a');
    CHECK_EQ(size_of("none"), 1);
    CHECK_EQ(fprintf(out, "bc%d", 4), 3);
    CHECK_EQ(size_of("none"), 4);
    CHECK_OK(fclose(out));
    check_and_remove("none", "abc4");

    out = opened("line", "w");
    setlinebuf(out);
    CHECK(fputs("first\nsec", out) >= 0);
    CHECK(size_of("line") >= 6);
    CHECK(fputs("ond\n", out) >= 0);
    CHECK_EQ(size_of("line"), 13);
    CHECK_OK(fclose(out));
    check_and_remove("line", "first\nsecond\n");

    char memory[64];
    out = opened("full", "w");
    CHECK_OK(setvbuf(out, memory, _IOFBF, sizeof memory));
    for (int i = 0; i < 64; i++)
        CHECK_EQ(putc('x', out), 'x');
    CHECK_EQ(size_of("full"), 0);
    CHECK_EQ(putc('y', out), 'y');
    CHECK_EQ(size_of("full"), 64);
    CHECK_OK(fflush(NULL)); /* all streams */
    CHECK_EQ(size_of("full"), 65);
    CHECK_OK(fclose(out));
    CHECK_OK(unlink("full"));

    out = opened("setbuf", "w");
    setbuf(out, NULL);
    CHECK_EQ(fwrite("now", 1, 3, out), 3);
    CHECK_EQ(size_of("setbuf"), 3);
    CHECK_OK(fclose(out));
    check_and_remove("setbuf", "now");
}

void appending(void)
{
    FILE *first = opened("file", "a"), *second = opened("file", "a");
    CHECK(fputs("one ", first) >= 0);
    CHECK(fputs("two ", second) >= 0);
    CHECK_OK(fflush(second));
    CHECK_OK(fflush(first));
    CHECK(fputs("three", second) >= 0);
    CHECK_OK(fclose(second));
    CHECK_OK(fclose(first));
    FILE *both = opened("file", "a+");
    rewind(both);
    CHECK_EQ(getc(both), 't');
    CHECK_OK(fseek(both, 0, SEEK_SET));
    CHECK(fputs("!", both) >= 0); /* at the end, wherever it stood */
    CHECK_OK(fclose(both));
    check_and_remove("file", "two one three!");
}

/* What becomes of a buffer when the process ends in each of its ways. */
void ends_of_process(void)
{
    enum end { EXIT, QUIT, ABORT, CLOSE_FIRST, ENDS };
    static const char *const left[ENDS] = {"unflushed", "", "", "unflushed"};
    for (enum end end = 0; end < ENDS; end++) {
        fflush(stdout);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            FILE *out = opened("file", "w");
            CHECK(fputs("unflushed", out) >= 0);
            if (end == QUIT)
                _exit(0);
            if (end == ABORT)
                abort();
            if (end == CLOSE_FIRST)
                fcloseall();
            exit(0);
        }
        int status;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(end == ABORT ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
        check_and_remove("file", left[end]);
    }
    /* A buffer that is not empty at fork is there twice, and written twice. */
    FILE *out = opened("file", "w");
    CHECK(fputs("twice ", out) >= 0);
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        exit(0);
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_OK(fclose(out));
    check_and_remove("file", "twice twice ");
}
