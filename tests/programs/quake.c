/* Quake: waves in the ground, as the finite-element earthquake program runs them: computation interleaved with I/O.
 *
 *  1. Rank 0 writes the model (squared wave speed of n^3 points); every rank reads its own planes of it.
 *  2. Rank 0 gathers how the planes are dealt and writes the mesh through C stdio.
 *  3. Explicit time steps of the wave equation, planes dealt over the ranks, halo exchange by Isend, Irecv and
 *     Waitall. Every `--every` steps each rank writes its planes: into its own region of one file per state, or
 *     with --per-rank appended to a file of its own.
 *  4. The end state goes into one checkpoint file.
 *
 * Verifies that the energy is conserved to 1 part in 10^10, that the checkpoint, read back by rank 0, is its own
 * mirror image along all three axes to the last bit (the source lies in the centre), and that the states on disk are
 * those of the run. Prints a checksum of the checkpoint, which does not depend on the number of ranks.
 * Source: Quake (Carnegie Mellon) in Mesnier et al., "//TRACE", FAST'07, section 5.
 */
#include "quake.h"

static const char *dir = ".";
static long long n = 33, steps = 24, every = 4, compute = 0;
static int sync_files, per_rank;

static int open_in(const char *name, int flags)
{
    char *path = path_in(dir, name);
    int fd = open(path, flags, 0644);
    if (fd < 0)
        fail(__FILE__, __LINE__, "cannot open %s", path);
    free(path);
    return fd;
}

static void close_synced(int fd)
{
    if (sync_files)
        CHECK_OK(fsync(fd));
    CHECK_OK(close(fd));
}

static void share_model(struct ground *g)
{
    if (g->rank == 0) {
        int fd = open_in("quake.model", O_WRONLY | O_CREAT | O_TRUNC);
        double *plane = allocate(plane_bytes(g));
        for (long long z = 0; z < n; z++) {
            for (long long y = 0; y < n; y++)
                for (long long x = 0; x < n; x++)
                    plane[y * n + x] = speed2_at(g, x, y, z);
            CHECK_EQ(write(fd, plane, plane_bytes(g)), plane_bytes(g));
        }
        free(plane);
        close_synced(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int fd = open_in("quake.model", O_RDONLY);
    for (long long plane = 0; plane < g->planes; plane++)
        CHECK_EQ(pread(fd, g->speed2 + plane * plane_points(g), plane_bytes(g), (g->first + plane) * plane_bytes(g)),
                 plane_bytes(g));
    CHECK_OK(close(fd));
}

static void write_mesh(const struct ground *g)
{
    long long mine[2] = {g->first, g->planes};
    long long *all = g->rank == 0 ? allocate(g->ranks * sizeof mine) : NULL;
    MPI_Gather(mine, 2, MPI_LONG_LONG, all, 2, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    if (g->rank != 0)
        return;
    char *path = path_in(dir, "quake.mesh");
    FILE *mesh = fopen(path, "w");
    CHECK(mesh != NULL);
    long long expected = 0;
    for (int rank = 0; rank < g->ranks; rank++) {
        CHECK_EQ(all[2 * rank], expected);
        expected += all[2 * rank + 1];
        for (long long z = all[2 * rank]; z < expected; z++)
            for (long long y = 0; y < n; y++)
                CHECK(fprintf(mesh, "%d %lld %lld %lld\n", rank, z, y, (z * n + y) * n) > 0);
    }
    CHECK_EQ(expected, n);
    CHECK_OK(fclose(mesh));
    free(path);
    free(all);
}

/* Writes the owned planes of `field` to `fd`, at their place in the whole grid or at the end. */
static void write_planes(const struct ground *g, const double *field, int fd, int at_place)
{
    for (long long plane = 0; plane < g->planes; plane++) {
        const double *from = field + (plane + 1) * plane_points(g);
        off_t place = (g->first + plane) * plane_bytes(g);
        ssize_t written = at_place ? pwrite(fd, from, plane_bytes(g), place) : write(fd, from, plane_bytes(g));
        CHECK_EQ(written, plane_bytes(g));
    }
    /* An earlier run with more points may have left a longer file. */
    if (at_place && g->rank == g->ranks - 1)
        CHECK_OK(ftruncate(fd, n * plane_bytes(g)));
}

static void write_state(const struct ground *g, long long step)
{
    char name[64];
    snprintf(name, sizeof name, per_rank ? "quake.rank.%lld" : "quake.state.%lld", per_rank ? g->rank : step);
    int fd = open_in(name, O_WRONLY | O_CREAT | (per_rank ? O_APPEND : 0));
    write_planes(g, g->now, fd, !per_rank);
    close_synced(fd);
}

static void remove_old_state(const struct ground *g)
{
    char name[64];
    snprintf(name, sizeof name, "quake.rank.%d", g->rank);
    char *path = path_in(dir, name);
    CHECK(unlink(path) == 0 || errno == ENOENT);
    free(path);
}

static double *read_field(const char *name)
{
    size_t bytes = n * n * n * sizeof(double);
    double *field = allocate(bytes);
    int fd = open_in(name, O_RDONLY);
    CHECK_EQ(read(fd, field, bytes), bytes);
    CHECK_EQ(lseek(fd, 0, SEEK_END), bytes);
    CHECK_OK(close(fd));
    return field;
}

/* The checksum of the checkpoint; ends the program unless the field is its own mirror image along every axis. */
static uint64_t check_field(const double *field)
{
    uint64_t checksum = 0;
    for (long long z = 0; z < n; z++)
        for (long long y = 0; y < n; y++)
            for (long long x = 0; x < n; x++) {
                const double *here = &field[(z * n + y) * n + x];
                CHECK(*here == field[(z * n + y) * n + (n - 1 - x)]);
                CHECK(*here == field[(z * n + (n - 1 - y)) * n + x]);
                CHECK(*here == field[((n - 1 - z) * n + y) * n + x]);
                uint64_t bits;
                memcpy(&bits, here, sizeof bits);
                checksum = (checksum ^ bits) * 0x100000001B3u;
            }
    return checksum;
}

/* The state written last is the checkpoint when the run ends on it. */
static void check_last_state(const double *checkpoint)
{
    if (per_rank || steps == 0 || steps % every != 0)
        return;
    char name[64];
    snprintf(name, sizeof name, "quake.state.%lld", steps);
    double *state = read_field(name);
    CHECK(memcmp(state, checkpoint, n * n * n * sizeof(double)) == 0);
    free(state);
}

static void run_steps(struct ground *g)
{
    /* The quake: two equal displacements of the centre, a field at rest. */
    long long centre = n / 2;
    if (centre >= g->first && centre < g->first + g->planes) {
        size_t point = (centre - g->first + 1) * plane_points(g) + centre * n + centre;
        g->before[point] = g->now[point] = 1.0;
    }
    exchange_halo(g, g->before);
    exchange_halo(g, g->now);
    double at_start = energy(g);
    for (long long step = 1; step <= steps; step++) {
        step_wave(g);
        exchange_halo(g, g->now);
        work(compute);
        if (every > 0 && step % every == 0)
            write_state(g, step);
    }
    double change = energy(g) / at_start - 1.0;
    if (!(change < 1e-10 && change > -1e-10))
        fail(__FILE__, __LINE__, "the energy changed by %g of itself, expected less than 1e-10", change);
}

int main(int argc, char **argv)
{
    struct ground g = {0};
    start_mpi(&argc, &argv, &g.rank, &g.ranks);
    const struct setting settings[] = {
        {"--dir", TEXT, &dir, "folder of all files (.)"},
        {"--points", NUMBER, &n, "grid points along each edge, odd, at least one plane a rank (33)"},
        {"--steps", NUMBER, &steps, "time steps (24)"},
        {"--every", NUMBER, &every, "steps between two states on disk, 0 for none (4)"},
        {"--compute", NUMBER, &compute, "further units of work in each step (0)"},
        {"--per-rank", FLAG, &per_rank, "each rank appends its states to a file of its own"},
        {"--fsync", FLAG, &sync_files, "fsync every file before it is closed"},
        {NULL, FLAG, NULL, NULL},
    };
    parse_options(argc, argv, settings);
    REQUIRE(n >= 3 && n % 2 == 1 && n <= 1023 && n >= g.ranks);
    g.n = n;
    make_ground(&g);
    share_model(&g);
    write_mesh(&g);
    if (per_rank)
        remove_old_state(&g);
    run_steps(&g);
    int fd = open_in("quake.checkpoint", O_WRONLY | O_CREAT);
    write_planes(&g, g.now, fd, 1);
    close_synced(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (g.rank == 0) {
        double *checkpoint = read_field("quake.checkpoint");
        uint64_t checksum = check_field(checkpoint);
        if (every > 0)
            check_last_state(checkpoint);
        printf("quake: %lld points, %lld steps, checksum %016llx\n", n * n * n, steps, (unsigned long long)checksum);
        free(checkpoint);
    }
    free_ground(&g);
    MPI_Finalize();
    return 0;
}
