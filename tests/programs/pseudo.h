/* Pseudo, PseudoSync and PseudoSyncDat: one source, three sets of defaults.
 *
 * Each checkpoint: N ranks write one file with interleaved access (block b of rank r lies at (b N + r) blocks),
 * synchronize, read it back and verify every word. `--shift S` lets rank r read what rank r + S wrote.
 *
 * Source: the pseudo-applications of Los Alamos in Mesnier et al., "//TRACE: Parallel trace replay with approximate
 * causal events", FAST'07, section 5.
 */
#ifndef PSEUDO_H
#define PSEUDO_H

#include "common_mpi.h"
#include <fcntl.h>

struct pseudo {
    const char *name;
    const char *dir;
    long long bytes, block, steps, compute, shift;
    int sync, fsync, collective_sync;
    int rank, ranks, fd;
    long long work_done;
};

static void synchronize(struct pseudo *p)
{
    long long mine = 1, all = 0;
    if (p->collective_sync) {
        MPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        CHECK_EQ(all, p->ranks);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* What may lie between two I/Os: computation, then a barrier. */
static void between(struct pseudo *p)
{
    work(p->compute);
    p->work_done += p->compute;
    if (p->sync)
        synchronize(p);
}

static void write_checkpoint(struct pseudo *p, void *buffer, long long step)
{
    for (long long b = 0; b < p->bytes / p->block; b++) {
        off_t offset = (b * p->ranks + p->rank) * p->block;
        fill_pattern(buffer, p->block, offset, step);
        CHECK_EQ(pwrite(p->fd, buffer, p->block, offset), p->block);
        between(p);
    }
    if (p->fsync)
        CHECK_OK(fsync(p->fd));
}

static void read_checkpoint(struct pseudo *p, void *buffer, long long step)
{
    long long writer = (p->rank + p->shift) % p->ranks;
    for (long long b = 0; b < p->bytes / p->block; b++) {
        off_t offset = (b * p->ranks + writer) * p->block;
        CHECK_EQ(pread(p->fd, buffer, p->block, offset), p->block);
        check_pattern(buffer, p->block, offset, step);
        /* PseudoSync synchronizes after writes only; where there is computation, it lies between all I/Os. */
        if (p->compute)
            between(p);
    }
}

static int pseudo_main(int argc, char **argv, struct pseudo p)
{
    start_mpi(&argc, &argv, &p.rank, &p.ranks);
    p.dir = ".";
    p.bytes = 1 << 20;
    p.block = 64 << 10;
    p.steps = 1;
    const struct setting settings[] = {
        {"--dir", TEXT, &p.dir, "folder of the checkpoint file (.)"},
        {"--bytes", NUMBER, &p.bytes, "bytes per rank and checkpoint, a multiple of the block (1M)"},
        {"--block", NUMBER, &p.block, "bytes of one write or read, a multiple of 8 (64k)"},
        {"--steps", NUMBER, &p.steps, "checkpoints, each over the one before (1)"},
        {"--compute", NUMBER, &p.compute, "units of work between two I/Os"},
        {"--shift", NUMBER, &p.shift, "read what the rank that many further wrote (0)"},
        {"--sync", FLAG, &p.sync, "barrier after every write"},
        {"--fsync", FLAG, &p.fsync, "fsync after writing"},
        {"--collective-sync", FLAG, &p.collective_sync, "synchronize by MPI_Allreduce instead of MPI_Barrier"},
        {NULL, FLAG, NULL, NULL},
    };
    parse_options(argc, argv, settings);
    REQUIRE(p.block > 0 && p.block % 8 == 0 && p.bytes % p.block == 0);

    char *path;
    CHECK(asprintf(&path, "%s/%s.checkpoint", p.dir, p.name) > 0);
    void *buffer = allocate(p.block);
    if (p.rank == 0) {
        p.fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
        CHECK(p.fd >= 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (p.rank != 0) {
        p.fd = open(path, O_RDWR);
        CHECK(p.fd >= 0);
    }
    for (long long step = 0; step < p.steps; step++) {
        write_checkpoint(&p, buffer, step);
        synchronize(&p);
        read_checkpoint(&p, buffer, step);
        synchronize(&p); /* nobody writes the next one before all have read this one */
    }
    CHECK_EQ(lseek(p.fd, 0, SEEK_END), p.steps ? p.bytes * p.ranks : 0);
    CHECK_OK(close(p.fd));

    long long work_done = 0;
    MPI_Reduce(&p.work_done, &work_done, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (p.rank == 0)
        printf("%s: %lld checkpoints of %lld bytes verified, %lld units of work\n", p.name, p.steps,
               p.bytes * p.ranks, work_done);
    free(buffer);
    free(path);
    MPI_Finalize();
    return 0;
}

#endif
