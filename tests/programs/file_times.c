/* Writes to many files, most of them within the tick of the clock in which the one before was written, and compares the times of
 * those: they are taken from that clock. Who asks for the times of a file in between gets them to the nanosecond from then on. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 200 };

int main(void) {
    char name[32];
    struct timespec before[FILES], after[FILES], times[FILES];
    int in_one_tick = 0, distinct = 0;
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "file-%d", i);
        int file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (file < 0 || write(file, "1", 1) != 1 || close(file) != 0) return 1;
        clock_gettime(CLOCK_REALTIME_COARSE, &before[i]);
        file = open(name, O_WRONLY | O_APPEND);
        if (file < 0 || write(file, "2", 1) != 1 || close(file) != 0) return 1;
        clock_gettime(CLOCK_REALTIME_COARSE, &after[i]);
    }
    for (int i = 0; i < FILES; i++) {
        struct stat status;
        snprintf(name, sizeof name, "file-%d", i);
        if (stat(name, &status) != 0) return 1;
        times[i] = status.st_mtim;
        if (i == 0 || memcmp(&before[i - 1], &after[i], sizeof after[i]) != 0) continue;
        in_one_tick++;
        distinct += memcmp(&times[i], &times[i - 1], sizeof times[i]) != 0;
    }
    puts(2 * distinct <= in_one_tick ? "times of the clock's ticks" : "times of their own");
    return 0;
}
