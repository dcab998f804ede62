/* What all test programs share: options, checks, data patterns, and a fixed amount of work.
 *
 * A program asserts its own results: CHECK and its kin print what did not hold and end the program with code 1.
 * Wrong usage ends it with code 2. Include this header first; it selects glibc's whole interface.
 */
#ifndef COMMON_H
#define COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- checks ---------------------------------------------------------------------------------------------- */

/* Ends the program after a failed check; MPI programs end the whole job instead. */
static void (*on_failure)(void) = NULL;
/* Printed with a failed check; -1 outside MPI. */
static int failure_rank = -1;

__attribute__((format(printf, 3, 4), noreturn, unused)) static void fail(const char *file, int line,
                                                                         const char *format, ...)
{
    int error = errno;
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "%s:%d: ", file, line);
    if (failure_rank >= 0)
        fprintf(stderr, "rank %d: ", failure_rank);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (errno %d, %s)\n", error, strerror(error));
    if (on_failure)
        on_failure();
    exit(1);
}

/* The condition holds. */
#define CHECK(condition) \
    do { \
        if (!(condition)) \
            fail(__FILE__, __LINE__, "expected: %s", #condition); \
    } while (0)

/* Both sides are the same whole number. */
#define CHECK_EQ(actual, expected) \
    do { \
        long long actual_ = (long long)(actual), expected_ = (long long)(expected); \
        if (actual_ != expected_) \
            fail(__FILE__, __LINE__, "%s is %lld, expected %lld", #actual, actual_, expected_); \
    } while (0)

/* Both sides are the same text. */
#define CHECK_TEXT(actual, expected) \
    do { \
        const char *actual_ = (actual), *expected_ = (expected); \
        if (strcmp(actual_, expected_) != 0) \
            fail(__FILE__, __LINE__, "%s is \"%s\", expected \"%s\"", #actual, actual_, expected_); \
    } while (0)

/* The call returns 0. */
#define CHECK_OK(call) CHECK_EQ(call, 0)

/* The call returns -1 and sets errno to `error`. */
#define CHECK_FAILS(call, error) \
    do { \
        errno = 0; \
        long long result_ = (long long)(call); \
        if (result_ != -1 || errno != (error)) \
            fail(__FILE__, __LINE__, "%s returned %lld, expected -1 with errno %d", #call, result_, (error)); \
    } while (0)

/* ---- values the compiler must not know -------------------------------------------------------------------- */

/* Keeps a size or a flag from being a constant, so that fortified builds take the checked entry points. */
static inline long opaque(long value)
{
    volatile long hidden = value;
    return hidden;
}

/* An address that is no object, for calls that must answer EFAULT. */
static inline void *bad_address(void)
{
    return (void *)opaque(1);
}

/* ---- options ---------------------------------------------------------------------------------------------- */

enum setting_kind { FLAG, NUMBER, TEXT };

/* One option of a program: `--name`, followed by its value unless it is a flag. */
struct setting {
    const char *name;
    enum setting_kind kind;
    void *value; /* int * for FLAG, long long * for NUMBER, const char ** for TEXT */
    const char *meaning;
};

static inline void print_settings(FILE *to, const char *program, const struct setting *settings)
{
    static const char *const values[] = {"", "N", "TEXT"};
    fprintf(to, "usage: %s [options]\n", program);
    for (; settings->name; settings++)
        fprintf(to, "  %-17s %-4s  %s\n", settings->name, values[settings->kind], settings->meaning);
}

/* A number with an optional suffix k, M or G (powers of 1024); -1 when it is none. */
static inline long long parse_number(const char *text)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    int shift = *end == 'k' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    end += shift > 0;
    if (errno || end == text || *end || number < 0 || number > INT64_MAX >> shift)
        return -1;
    return number << shift;
}

/* Reads the options in argv[*next ..] up to the first word that does not begin with `--`. */
static inline void parse_settings(int argc, char **argv, int *next, const struct setting *settings)
{
    for (; *next < argc && strncmp(argv[*next], "--", 2) == 0; ++*next) {
        const char *name = argv[*next];
        if (strcmp(name, "--help") == 0) {
            print_settings(stdout, argv[0], settings);
            exit(0);
        }
        const struct setting *setting = settings;
        while (setting->name && strcmp(setting->name, name) != 0)
            setting++;
        const char *value = NULL;
        int good = setting->name != NULL;
        if (good && setting->kind == FLAG) {
            *(int *)setting->value = 1;
        } else if (good) {
            value = argv[++*next]; /* NULL behind the last one */
            good = value != NULL;
        }
        if (good && setting->kind == TEXT)
            *(const char **)setting->value = value;
        if (good && setting->kind == NUMBER)
            good = (*(long long *)setting->value = parse_number(value)) >= 0;
        if (!good) {
            fprintf(stderr, "%s: bad option %s%s%s\n", argv[0], name, value ? " " : "", value ? value : "");
            print_settings(stderr, argv[0], settings);
            exit(2);
        }
    }
}

/* Reads the options of a program that takes nothing else. */
static inline void parse_options(int argc, char **argv, const struct setting *settings)
{
    int next = 1;
    parse_settings(argc, argv, &next, settings);
    if (next < argc) {
        fprintf(stderr, "%s: unexpected argument %s\n", argv[0], argv[next]);
        exit(2);
    }
}

/* What the options must fulfil together. */
#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "bad options: %s does not hold\n", #condition); \
            exit(2); \
        } \
    } while (0)

/* ---- work ------------------------------------------------------------------------------------------------- */

/* Multiplications and additions in a unit of work. Each waits for the one before, 6 to 8 cycles a pair on current
 * x86 processors, so that a unit takes about a microsecond however well the compiler and the processor do. */
enum { WORK_STEPS_PER_UNIT = 512 };

static volatile double work_result = 2.0;

/* Computes for `units` units: always the same operations, never a look at the clock. */
static inline void work(long long units)
{
    double x = work_result;
    for (long long step = units * WORK_STEPS_PER_UNIT; step > 0; step--)
        x = x * 0.999999 + 0.000001;
    work_result = x;
}

/* ---- data whose right value follows from where it lies ------------------------------------------------------ */

static inline uint64_t pattern_word(uint64_t seed, uint64_t index)
{
    uint64_t word = (index + seed * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
    return word ^ word >> 31;
}

/* Fills `bytes` (a multiple of 8) that will lie at `offset` of the file with this seed. */
static inline void fill_pattern(void *buffer, size_t bytes, uint64_t offset, uint64_t seed)
{
    uint64_t *words = buffer;
    for (size_t i = 0; i < bytes / 8; i++)
        words[i] = pattern_word(seed, offset / 8 + i);
}

/* Ends the program unless the bytes are those of fill_pattern. */
static inline void check_pattern(const void *buffer, size_t bytes, uint64_t offset, uint64_t seed)
{
    const uint64_t *words = buffer;
    for (size_t i = 0; i < bytes / 8; i++)
        if (words[i] != pattern_word(seed, offset / 8 + i))
            fail(__FILE__, __LINE__, "at byte %llu of the file: found %016llx, expected %016llx",
                 (unsigned long long)(offset + 8 * i), (unsigned long long)words[i],
                 (unsigned long long)pattern_word(seed, offset / 8 + i));
}

/* Memory that is known to be there. */
static inline void *allocate(size_t bytes)
{
    void *memory = calloc(bytes ? bytes : 1, 1);
    CHECK(memory != NULL);
    return memory;
}

/* "<dir>/<name>", to be freed. */
static inline char *path_in(const char *dir, const char *name)
{
    char *path = NULL;
    CHECK(asprintf(&path, "%s/%s", dir, name) > 0);
    return path;
}

#endif
