/* What one call costs: makes each class of call many times and prints the time per call.
 *
 *   percall [-n CALLS] [-b BATCHES] [-t THREADS] -d DIR CLASS...
 *
 * For each class one line: class, threads, calls per batch, elapsed ns per call as the median over the batches, and
 * CPU ns per call (of the calling threads) as the mean over all of them. Every thread works on a file of its own in
 * DIR. The median over short batches leaves out those in which another program had the processor; the mean has in it
 * what happens once in many calls, such as the growth of a trace.
 *
 * gcc -O2 -pthread percall.c -o percall
 * mpicc -O2 -pthread -DWITH_MPI percall.c -o percall-mpi      (adds the classes "mpi-self" and "mpi-test")
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { MAX_THREADS = 64, MAX_BATCHES = 101, FILE_BYTES = 1 << 20 };

struct worker {
    char path[4096];
    int fd, pair[2];
    FILE *stream;
    pthread_mutex_t mutex;
    double elapsed[MAX_BATCHES], cpu;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void expect(int holds, const char *what)
{
    if (!holds)
        fail(what);
}

static void call_pread(struct worker *w, long calls)
{
    char byte;
    for (long i = 0; i < calls; i++)
        expect(pread(w->fd, &byte, 1, i & (FILE_BYTES - 1)) == 1, "pread");
}

static void call_lseek(struct worker *w, long calls)
{
    for (long i = 0; i < calls; i++)
        expect(lseek(w->fd, i & (FILE_BYTES - 1), SEEK_SET) >= 0, "lseek");
}

static void call_read(struct worker *w, long calls)
{
    char byte;
    for (long i = 0; i < calls; i++)
        expect(read(w->fd, &byte, 1) == 1, "read");
}

static void call_write(struct worker *w, long calls)
{
    for (long i = 0; i < calls; i++)
        expect(write(w->fd, "x", 1) == 1, "write");
}

static void call_open_close(struct worker *w, long calls)
{
    for (long i = 0; i < calls; i += 2) {
        int fd = open(w->path, O_RDONLY);
        expect(fd >= 0 && close(fd) == 0, "open and close");
    }
}

static void call_stat(struct worker *w, long calls)
{
    struct stat status;
    for (long i = 0; i < calls; i++)
        expect(stat(w->path, &status) == 0, "stat");
}

/* One call here is a formatted line and its flush: the C library makes one write of it. */
static void call_fprintf_fflush(struct worker *w, long calls)
{
    for (long i = 0; i < calls; i++)
        expect(fprintf(w->stream, "%ld\n", i & 1023) > 0 && fflush(w->stream) == 0, "fprintf and fflush");
}

/* Computation of some 100 us before each call: longer than what is taken to have kept its processor where nothing tells. */
static void call_compute_lseek(struct worker *w, long calls)
{
    unsigned long long sum = 1;
    for (long i = 0; i < calls; i++) {
        for (long step = 0; step < 105000; step++) {
            sum = sum * 6364136223846793005ull + step;
            __asm__ volatile("" : "+r"(sum));
        }
        expect(lseek(w->fd, i & (FILE_BYTES - 1), SEEK_SET) >= 0, "lseek");
    }
    expect(sum != 1, "computation");
}

/* A byte through a pair of sockets: two calls. */
static void call_send_recv(struct worker *w, long calls)
{
    char byte;
    for (long i = 0; i < calls; i += 2)
        expect(send(w->pair[0], "x", 1, 0) == 1 && recv(w->pair[1], &byte, 1, 0) == 1, "send and recv");
}

/* Is there anything to read? Never. */
static void call_poll(struct worker *w, long calls)
{
    struct pollfd waiting = {w->pair[1], POLLIN, 0};
    for (long i = 0; i < calls; i++)
        expect(poll(&waiting, 1, 0) == 0, "poll");
}

/* A lock that is free: two calls, of which the shim records none. */
static void call_lock_unlock(struct worker *w, long calls)
{
    for (long i = 0; i < calls; i += 2)
        expect(pthread_mutex_lock(&w->mutex) == 0 && pthread_mutex_unlock(&w->mutex) == 0, "lock and unlock");
}

/* Memory, which is no I/O: two calls, of which the shim records none. */
static void call_mmap_munmap(struct worker *w, long calls)
{
    (void)w;
    for (long i = 0; i < calls; i += 2) {
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        expect(page != MAP_FAILED && munmap(page, 4096) == 0, "mmap and munmap");
    }
}

/* Two clock reads and nothing else: what any recorder that times calls pays at least. */
static void call_two_clock_reads(struct worker *w, long calls)
{
    unsigned long long sum = 0;
    (void)w;
    for (long i = 0; i < calls; i++) {
#ifdef __x86_64__
        unsigned long long start = __builtin_ia32_rdtsc();
        sum += __builtin_ia32_rdtsc() - start;
#else
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        clock_gettime(CLOCK_MONOTONIC, &end);
        sum += end.tv_nsec - start.tv_nsec;
#endif
    }
    expect(sum != 1, "clock");
}

#ifdef WITH_MPI
/* A message of 8 bytes to ourselves: three calls. */
static void call_mpi_self(struct worker *w, long calls)
{
    double out = 1, in = 0;
    MPI_Request request;
    (void)w;
    for (long i = 0; i < calls; i += 3) {
        MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF, &request);
        MPI_Send(&out, 1, MPI_DOUBLE, 0, 7, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    expect(in == 1, "message to self");
}

/* A message that does not come is asked for, with a little of a program's own work in between. */
static void call_mpi_test(struct worker *w, long calls)
{
    double in = 0;
    MPI_Request request;
    (void)w;
    MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 8, MPI_COMM_SELF, &request);
    for (long i = 0; i < calls; i++) {
        int flag = 1;
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        expect(!flag, "no message");
    }
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
#endif

static const struct class {
    const char *name;
    void (*call)(struct worker *, long calls);
} classes[] = {
    {"pread", call_pread},           {"lseek", call_lseek},
    {"read", call_read},             {"write", call_write},
    {"open+close", call_open_close}, {"stat", call_stat},
    {"fprintf+fflush", call_fprintf_fflush}, {"compute+lseek", call_compute_lseek},
    {"send+recv", call_send_recv}, {"poll", call_poll},
    {"lock+unlock", call_lock_unlock}, {"mmap+munmap", call_mmap_munmap},
    {"two-clock-reads", call_two_clock_reads},
#ifdef WITH_MPI
    {"mpi-self", call_mpi_self},       {"mpi-test", call_mpi_test},
#endif
};

static struct worker workers[MAX_THREADS];
static pthread_barrier_t barrier;
static const struct class *current;
static long calls = 2000;
static int batches = 101, threads = 1;

static double ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static void prepare(struct worker *w, const char *dir, int index)
{
    static const char zeros[FILE_BYTES];
    snprintf(w->path, sizeof w->path, "%s/percall-%ld-%d", dir, (long)getpid(), index);
    w->fd = open(w->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    expect(w->fd >= 0 && write(w->fd, zeros, FILE_BYTES) == FILE_BYTES, w->path);
    char name[sizeof w->path + 8];
    snprintf(name, sizeof name, "%s.stream", w->path);
    w->stream = fopen(name, "w");
    expect(w->stream != NULL && unlink(name) == 0, name);
    expect(socketpair(AF_UNIX, SOCK_STREAM, 0, w->pair) == 0, "socketpair");
    expect(pthread_mutex_init(&w->mutex, NULL) == 0, "mutex");
}

/* The first batch is not counted: caches, page tables and lazily bound symbols settle in it. */
static void *run_batches(void *argument)
{
    struct worker *w = argument;
    w->cpu = 0;
    for (int batch = -1; batch < batches; batch++) {
        expect(lseek(w->fd, 0, SEEK_SET) == 0, "lseek");
        rewind(w->stream);
        pthread_barrier_wait(&barrier);
        double elapsed = ns(CLOCK_MONOTONIC), cpu = ns(CLOCK_THREAD_CPUTIME_ID);
        current->call(w, calls);
        cpu = ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
        elapsed = ns(CLOCK_MONOTONIC) - elapsed;
        if (batch >= 0) {
            w->elapsed[batch] = elapsed / calls;
            w->cpu += cpu / calls / batches;
        }
    }
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, batches, sizeof *values, ascending);
    return values[batches / 2];
}

static void run_class(const struct class *class)
{
    pthread_t handles[MAX_THREADS];
    current = class;
    for (int i = 1; i < threads; i++)
        expect(pthread_create(&handles[i], NULL, run_batches, &workers[i]) == 0, "pthread_create");
    run_batches(&workers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(handles[i], NULL);
    double elapsed = 0, cpu = 0;
    for (int i = 0; i < threads; i++) {
        elapsed += median(workers[i].elapsed) / threads;
        cpu += workers[i].cpu / threads;
    }
    printf("%s,%d,%ld,%.2f,%.2f\n", class->name, threads, calls, elapsed, cpu);
}

static const struct class *class_named(const char *name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(name, classes[i].name) == 0)
            return &classes[i];
    fprintf(stderr, "percall: no class \"%s\"\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    const char *dir = NULL;
    int option;
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
#endif
    while ((option = getopt(argc, argv, "n:b:t:d:")) != -1) {
        switch (option) {
        case 'n': calls = atol(optarg); break;
        case 'b': batches = atoi(optarg); break;
        case 't': threads = atoi(optarg); break;
        case 'd': dir = optarg; break;
        default: dir = NULL; optind = argc;
        }
    }
    if (dir == NULL || calls < 1 || batches < 1 || batches > MAX_BATCHES || threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: percall [-n CALLS] [-b BATCHES] [-t THREADS] -d DIR CLASS...\n");
        return 2;
    }
    pthread_barrier_init(&barrier, NULL, threads);
    for (int i = 0; i < threads; i++)
        prepare(&workers[i], dir, i);
    for (int i = optind; i < argc; i++)
        run_class(class_named(argv[i]));
    for (int i = 0; i < threads; i++)
        unlink(workers[i].path);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return 0;
}
