/* A relaxation on a square grid with OpenMP: the first thread logs the change of each round, and writes the grid at times.
 *
 *   stencil ROUNDS
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 700 };

static double grid[2][SIDE][SIDE];

static double relax(double (*from)[SIDE], double (*to)[SIDE])
{
    double change = 0;
#pragma omp parallel for reduction(+ : change)
    for (int y = 1; y < SIDE - 1; y++)
        for (int x = 1; x < SIDE - 1; x++) {
            to[y][x] = 0.25 * (from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1]);
            change += fabs(to[y][x] - from[y][x]);
        }
    return change;
}

int main(int argc, char **argv)
{
    int rounds = argc == 2 ? atoi(argv[1]) : 0;
    FILE *log = fopen("stencil.log", "w");
    if (rounds <= 0 || !log)
        return 2;
    for (int x = 0; x < SIDE; x++)
        grid[0][0][x] = grid[1][0][x] = 100;
    for (int round = 0; round < rounds; round++) {
        fprintf(log, "%d %g\n", round, relax(grid[round % 2], grid[1 - round % 2]));
        fflush(log);
        if (round % 100 != 99)
            continue;
        FILE *out = fopen("stencil.grid", "wb");
        if (!out || fwrite(grid[1 - round % 2], sizeof grid[0], 1, out) != 1 || fclose(out) != 0)
            return 1;
    }
    return fclose(log) != 0;
}
