/* Reading and writing one stream, positions, lines, and reopened, temporary and piped streams. */
#include "surface.h"

static void write_text(const char *name, const char *text)
{
    FILE *out = opened(name, "w");
    CHECK(fputs(text, out) >= 0);
    CHECK_OK(fclose(out));
}

void updating(void)
{
    char text[16] = "";
    FILE *both = opened("file", "w+");
    CHECK(fputs("0123456789", both) >= 0);
    CHECK_OK(fseek(both, 2, SEEK_SET));
    CHECK_EQ(fread(text, 1, opaque(3), both), 3);
    CHECK_TEXT(text, "234");
    CHECK_OK(fseek(both, 0, SEEK_CUR)); /* between reading and writing */
    CHECK(fputs("ABC", both) >= 0);
    CHECK_OK(fflush(both));
    CHECK_EQ(getc(both), '8');
    CHECK_OK(fclose(both));
    both = opened("file", "r+");
    CHECK_EQ(getc(both), '0');
    CHECK_OK(fseeko(both, -1, SEEK_END));
    CHECK_EQ(putc('!', both), '!');
    CHECK_OK(fclose(both));
    check_and_remove("file", "01234ABC8!");
    CHECK(fopen("missing", "r+") == NULL && errno == ENOENT);
    both = opened("file", "w+x");
    CHECK(fopen64("file", "wx") == NULL && errno == EEXIST);
    CHECK_OK(fclose(both));
    check_and_remove("file", "");
}

void seeking(void)
{
    write_text("file", "0123456789");
    fpos_t third;
    FILE *in = opened("file", "r");
    CHECK_EQ(getc(in), '0');
    CHECK_EQ(ungetc('x', in), 'x');
    CHECK_EQ(getc(in), 'x');
    CHECK_EQ(ungetc('y', in), 'y');
    CHECK_OK(fseek(in, 3, SEEK_SET)); /* forgets it */
    CHECK_EQ(getc(in), '3');
    CHECK_EQ(ftell(in), 4);
    CHECK_OK(fgetpos(in, &third));
    CHECK_OK(fseeko64(in, -2, SEEK_END));
    CHECK_EQ(ftello64(in), 8);
    CHECK_EQ(getc(in), '8');
    CHECK_OK(fsetpos(in, &third));
    CHECK_EQ(getc(in), '4');
    CHECK_OK(fseek(in, 2, SEEK_CUR));
    CHECK_EQ(getc(in), '7');
    rewind(in);
    CHECK_EQ(getc(in), '0');
    CHECK_FAILS(fseek(in, -5, SEEK_SET), EINVAL);
    CHECK_EQ(lseek(fileno(in), 0, SEEK_CUR), 10); /* the file itself has been read to its end */
    CHECK_OK(fclose(in));
    CHECK_OK(unlink("file"));
}

void lines_and_fields(void)
{
    char *line = NULL, word[16], rest[32];
    size_t room = 0;
    int number;
    write_text("file", "first line\n17 seventeen tail of it\na:b:");
    FILE *in = opened("file", "r");
    CHECK_EQ(getline(&line, &room, in), 11);
    CHECK_TEXT(line, "first line\n");
    CHECK_EQ(fscanf(in, "%d %15s", &number, word), 2);
    CHECK_EQ(number, 17);
    CHECK_TEXT(word, "seventeen");
    CHECK(fgets_unlocked(rest, opaque(sizeof rest), in) == rest);
    CHECK_TEXT(rest, " tail of it\n");
    CHECK_EQ(getdelim(&line, &room, ':', in), 2);
    CHECK_TEXT(line, "a:");
    CHECK_EQ(getdelim(&line, &room, ':', in), 2);
    CHECK_TEXT(line, "b:");
    CHECK_EQ(getline(&line, &room, in), -1);
    CHECK_OK(fclose(in));
    free(line);
    CHECK_OK(unlink("file"));
}

void reopening(void)
{
    write_text("first", "1st");
    write_text("second", "2nd");
    FILE *stream = opened("first", "r");
    int fd = fileno(stream);
    CHECK_EQ(getc(stream), '1');
    CHECK(freopen("second", "r+", stream) == stream);
    CHECK_EQ(fileno(stream), fd); /* the old descriptor is closed first */
    CHECK_EQ(getc(stream), '2');
    CHECK_OK(fseek(stream, 0, SEEK_END));
    CHECK(fputs("!", stream) >= 0);
    CHECK(freopen64("third", "w", stream) == stream); /* writes what it still held */
    CHECK(fputs("3rd", stream) >= 0);
    CHECK_OK(fclose(stream));
    check_and_remove("first", "1st");
    check_and_remove("second", "2nd!");
    check_and_remove("third", "3rd");

    fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK_EQ(write(fd, "abc", 3), 3);
    stream = fdopen(fd, "w"); /* an open descriptor; nothing is emptied */
    CHECK(stream != NULL);
    CHECK(fputs("def", stream) >= 0);
    CHECK_OK(fclose(stream));
    CHECK_FAILS(close(fd), EBADF);
    check_and_remove("file", "abcdef");
}

void temporary_files(void)
{
    char text[8] = "";
    FILE *streams[2] = {tmpfile(), tmpfile64()};
    for (int i = 0; i < 2; i++) {
        CHECK(streams[i] != NULL);
        CHECK(fputs("scratch", streams[i]) >= 0);
        rewind(streams[i]);
        CHECK_EQ(fread(text, 1, 7, streams[i]), 7);
        CHECK_TEXT(text, "scratch");
        CHECK_OK(fclose(streams[i]));
    }
    char name[] = "made.XXXXXX", with_end[] = "made.XXXXXX.txt";
    int fd = mkstemp(name), other = mkostemps(with_end, 4, O_APPEND);
    CHECK(fd >= 0 && other >= 0);
    CHECK_EQ(write(fd, "made", 4), 4);
    CHECK_OK(close(fd));
    CHECK_OK(close(other));
    CHECK_OK(rename(name, "renamed"));
    check_and_remove("renamed", "made");
    CHECK_OK(remove(with_end));
    char folder[] = "dir.XXXXXX";
    CHECK(mkdtemp(folder) == folder);
    CHECK_OK(remove(folder)); /* a folder this time */
}

void commands(void)
{
    char line[32] = "";
    FILE *from = popen("echo from the command", "r");
    CHECK(from != NULL);
    CHECK(fgets(line, opaque(sizeof line), from) == line);
    CHECK_TEXT(line, "from the command\n");
    CHECK_OK(pclose(from));
    FILE *to = popen("cat > file; exit 3", "w");
    CHECK(to != NULL);
    CHECK(fputs("to the command", to) >= 0);
    int status = pclose(to);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    check_and_remove("file", "to the command");
    from = popen("true", "re"); /* not inherited by further commands */
    CHECK_EQ(fcntl(fileno(from), F_GETFD), FD_CLOEXEC);
    CHECK_EQ(getc(from), EOF);
    CHECK_OK(pclose(from));
    CHECK(popen("true", "rw") == NULL && errno == EINVAL);
}

void errors(void)
{
    CHECK(fopen("missing", "r") == NULL && errno == ENOENT);
    CHECK(fopen("missing/below", "w") == NULL && errno == ENOENT);
    CHECK(fopen("file", "q") == NULL && errno == EINVAL);
    CHECK(fdopen(-1, "r") == NULL && errno == EBADF);
    write_text("file", "text");
    FILE *in = opened("file", "r");
    errno = 0;
    CHECK(putc('x', in) == EOF && errno == EBADF && ferror(in));
    clearerr(in);
    CHECK(!ferror(in));
    CHECK_OK(close(fileno(in))); /* behind the stream's back */
    errno = 0;
    CHECK(getc(in) == EOF && errno == EBADF);
    CHECK(fclose(in) == EOF && errno == EBADF);
    CHECK_OK(unlink("file"));

    FILE *full = opened("/dev/full", "w");
    CHECK(fputs("no room", full) >= 0); /* the buffer takes it, the device does not */
    errno = 0;
    CHECK(fflush(full) == EOF && errno == ENOSPC);
    CHECK(fputs("still no room", full) >= 0);
    errno = 0;
    CHECK(fclose(full) == EOF && errno == ENOSPC);
}
