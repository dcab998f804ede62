/* Reads and writes files through MPI in one of several ways, by its first argument: what a replay must do again call by call.
   The second names a folder. Ranks check what they read. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 4096
static int rank, size;
static char name[4096], out[8 * BLOCK], in[8 * BLOCK];

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static MPI_File opened(MPI_Comm comm, int mode) {
    MPI_File file;
    check(MPI_File_open(comm, name, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "open");
    return file;
}

static void filled(char with) { memset(out, with, sizeof out); }

static void explicit_offsets(void) {
    MPI_File file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Offset at = (MPI_Offset)rank * 3 * BLOCK, bytes;
    filled('a' + rank);
    MPI_File_set_size(file, 100);
    MPI_File_write_at(file, at, out, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_write_at_all(file, at + BLOCK, out, BLOCK / 8, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, at, in, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    check(in[BLOCK - 1] == 'a' + rank, "explicit");
    at = (MPI_Offset)((rank + 1) % size) * 3 * BLOCK + BLOCK;
    MPI_File_read_at_all(file, at, in, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    check(in[0] == 'a' + (rank + 1) % size, "another one's");
    MPI_File_get_size(file, &bytes);
    MPI_File_close(&file);
    if (rank == 0) MPI_File_delete(name, MPI_INFO_NULL);
}

/* As BT-IO writes: every rank has a part of each row, by a view. With hints. */
static void views(void) {
    MPI_Info hints;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "cb_buffer_size", "65536");
    MPI_Info_set(hints, "romio_ds_write", "disable");
    MPI_File file;
    check(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &file) == MPI_SUCCESS, "open");
    MPI_Datatype part, rows, gaps;
    int all[2] = {16, 64 * size}, mine[2] = {16, 64}, first[2] = {0, 64 * rank};
    MPI_Type_create_subarray(2, all, mine, first, MPI_ORDER_C, MPI_DOUBLE, &part);
    MPI_Type_commit(&part);
    MPI_File_set_view(file, 512, MPI_DOUBLE, part, "native", hints);
    filled('A' + rank);
    for (int step = 0; step < 3; step++) MPI_File_write_all(file, out, 16 * 64, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 16 * 64, MPI_SEEK_SET);
    MPI_File_read_all(file, in, 16 * 64, MPI_DOUBLE, MPI_STATUS_IGNORE);
    check(in[16 * 64 * 8 - 1] == 'A' + rank, "a part of each row");
    MPI_Type_vector(8, 2, 2 * size, MPI_INT, &rows);
    MPI_Type_create_resized(rows, 0, 8 * 2 * size * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    MPI_File_set_view(file, 2 * rank * sizeof(int), MPI_INT, gaps, "native", MPI_INFO_NULL);
    MPI_File_write(file, out, 64, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read(file, in, 64, MPI_INT, MPI_STATUS_IGNORE);
    check(in[0] == 'A' + rank, "with gaps");
    MPI_File_set_info(file, hints);
    MPI_Info_free(&hints);
    MPI_Type_free(&part);
    MPI_Type_free(&rows);
    MPI_Type_free(&gaps);
    MPI_File_close(&file);
}

static void shared_pointer(void) {
    MPI_File file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Offset at;
    filled('0' + rank);
    for (int i = 0; i < 4; i++) MPI_File_write_shared(file, out, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_position_shared(file, &at);
    check(at == (MPI_Offset)4 * BLOCK * size, "the shared pointer");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_write_ordered(file, out, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_seek_shared(file, (MPI_Offset)4 * BLOCK * size, MPI_SEEK_SET);
    MPI_File_read_ordered(file, in, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    check(in[0] == '0' + rank, "in order");
    MPI_File_close(&file);
}

static void requests(void) {
    MPI_File file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Request request[2];
    MPI_Offset at = (MPI_Offset)rank * 4 * BLOCK;
    filled('q' + rank);
    for (int i = 0; i < 2; i++) MPI_File_iwrite_at(file, at + i * BLOCK, out, BLOCK, MPI_BYTE, &request[i]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_File_iread_at(file, at + BLOCK, in, BLOCK, MPI_BYTE, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    check(in[BLOCK - 1] == 'q' + rank, "with requests");
    MPI_File_iwrite_at_all(file, at, out, BLOCK, MPI_BYTE, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void split(void) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    sprintf(name + strlen(name), "%d", rank % 2);
    MPI_File file = opened(half, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Offset at = (MPI_Offset)rank * BLOCK;
    filled('s' + rank);
    MPI_File_write_at_all_begin(file, at, out, BLOCK, MPI_BYTE);
    MPI_File_write_at_all_end(file, out, MPI_STATUS_IGNORE);
    MPI_File_read_at_all_begin(file, at, in, BLOCK, MPI_BYTE);
    MPI_File_read_at_all_end(file, in, MPI_STATUS_IGNORE);
    check(in[0] == 's' + rank, "in two halves");
    MPI_File_seek(file, at, MPI_SEEK_SET);
    MPI_File_write_all_begin(file, out, BLOCK, MPI_BYTE);
    MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(void); } ways[] = {
        {"explicit", explicit_offsets}, {"views", views}, {"shared", shared_pointer}, {"requests", requests}, {"split", split},
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(argc == 3 && size <= 8, "usage: files WAY FOLDER, on at most 8 ranks");
    snprintf(name, sizeof name - 8, "%s/data", argv[2]);
    int known = 0;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!strcmp(argv[1], ways[i].name)) {
            ways[i].run();
            known = 1;
        }
    }
    check(known, "no such way");
    MPI_Finalize();
    return 0;
}
