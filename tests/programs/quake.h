/* The parts of quake.c: the ground a rank owns, and the four things that are done with it. */
#ifndef QUAKE_H
#define QUAKE_H

#include "common_mpi.h"
#include <fcntl.h>

/* n^3 points; this rank owns the planes first .. first + planes - 1, and keeps a copy of one plane on each side. */
struct ground {
    int rank, ranks;
    long long n, first, planes;
    double *speed2;        /* squared wave speed of the owned points */
    double *before, *now;  /* displacement, planes + 2 of n^2 points: a neighbour's, the owned ones, a neighbour's */
};

static inline size_t plane_points(const struct ground *g)
{
    return (size_t)g->n * g->n;
}

static inline size_t plane_bytes(const struct ground *g)
{
    return plane_points(g) * sizeof(double);
}

/* The first plane of a rank: planes are dealt as evenly as possible. */
static inline long long first_plane(const struct ground *g, int rank)
{
    return g->n * rank / g->ranks;
}

/* Squared wave speed: a soft ball in hard rock, the same seen from all six sides. Time and grid step are 1. */
static inline double speed2_at(const struct ground *g, long long x, long long y, long long z)
{
    long long c = g->n / 2, dx = x - c, dy = y - c, dz = z - c;
    return 16 * (dx * dx + dy * dy + dz * dz) < g->n * g->n ? 0.125 : 0.25;
}

static inline void make_ground(struct ground *g)
{
    g->first = first_plane(g, g->rank);
    g->planes = first_plane(g, g->rank + 1) - g->first;
    g->speed2 = allocate(g->planes * plane_bytes(g));
    g->before = allocate((g->planes + 2) * plane_bytes(g));
    g->now = allocate((g->planes + 2) * plane_bytes(g));
}

static inline void free_ground(struct ground *g)
{
    free(g->speed2);
    free(g->before);
    free(g->now);
}

/* Exchanges the outer planes of `field` with the neighbours; nothing moves where the grid ends. */
static inline void exchange_halo(const struct ground *g, double *field)
{
    enum { UP = 1, DOWN = 2 };
    int below = g->rank > 0 ? g->rank - 1 : MPI_PROC_NULL;
    int above = g->rank + 1 < g->ranks ? g->rank + 1 : MPI_PROC_NULL;
    size_t points = plane_points(g);
    int count = (int)points;
    double *first = field + points, *last = field + g->planes * points;
    MPI_Request requests[4];
    MPI_Irecv(field, count, MPI_DOUBLE, below, UP, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(last + points, count, MPI_DOUBLE, above, DOWN, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(last, count, MPI_DOUBLE, above, UP, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(first, count, MPI_DOUBLE, below, DOWN, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* The next displacement of every inner point, explicitly from the two before; the outermost points stay at rest.
 * Opposite neighbours are added first, so that a mirrored field gives the mirrored result to the last bit. */
static inline void step_wave(struct ground *g)
{
    long long n = g->n;
    for (long long plane = 0; plane < g->planes; plane++) {
        long long z = g->first + plane;
        if (z == 0 || z == n - 1)
            continue;
        for (long long y = 1; y < n - 1; y++) {
            size_t row = (plane + 1) * plane_points(g) + y * n;
            const double *u = g->now + row, *speed2 = g->speed2 + row - plane_points(g);
            double *next = g->before + row; /* takes the place of the field before */
            for (long long x = 1; x < n - 1; x++) {
                double sum = (u[x - 1] + u[x + 1]) + (u[x - n] + u[x + n]) + (u[x - n * n] + u[x + n * n]);
                next[x] = 2.0 * u[x] - next[x] + speed2[x] * (sum - 6.0 * u[x]);
            }
        }
    }
    double *swap = g->before;
    g->before = g->now;
    g->now = swap;
}

/* The discrete energy of the two fields, which this scheme conserves: sum of (du/dt)^2 / speed^2 over the points and
 * of grad(before) grad(now) over the edges of the grid. The planes above must be the neighbours'. */
static inline double energy(const struct ground *g)
{
    long long n = g->n;
    double mine = 0.0, all = 0.0;
    for (long long plane = 0; plane < g->planes; plane++)
        for (long long y = 0; y < n; y++)
            for (long long x = 0; x < n; x++) {
                size_t i = (plane + 1) * plane_points(g) + y * n + x;
                const double *a = g->before + i, *b = g->now + i;
                mine += (*b - *a) * (*b - *a) / g->speed2[i - plane_points(g)];
                if (x + 1 < n)
                    mine += (a[1] - *a) * (b[1] - *b);
                if (y + 1 < n)
                    mine += (a[n] - *a) * (b[n] - *b);
                if (g->first + plane + 1 < n)
                    mine += (a[n * n] - *a) * (b[n * n] - *b);
            }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

#endif
