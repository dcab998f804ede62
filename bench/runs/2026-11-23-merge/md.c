/* Each rank makes, looks at, and removes many small files, as mdtest does. */
#include <mpi.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank, files = argc > 2 ? atoi(argv[2]) : 1000;
    char path[256];
    struct stat about;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/d.%d", argv[1], rank);
    mkdir(path, 0755);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < files; i++) {
        snprintf(path, sizeof path, "%s/d.%d/file.%d", argv[1], rank, i);
        int fd = open(path, O_CREAT | O_WRONLY, 0644);
        if (fd < 0) return 1;
        if (write(fd, "x", 1) != 1) return 1;
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < files; i++) {
        snprintf(path, sizeof path, "%s/d.%d/file.%d", argv[1], (rank + 1) % 4, i);
        stat(path, &about);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < files; i++) {
        snprintf(path, sizeof path, "%s/d.%d/file.%d", argv[1], rank, i);
        unlink(path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/d.%d", argv[1], rank);
    rmdir(path);
    MPI_Finalize();
    return 0;
}
