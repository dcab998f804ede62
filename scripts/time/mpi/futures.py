"""Two workers that MPI starts at run time (MPI_Comm_spawn) get work from one that does none."""
import math

from mpi4py.futures import MPIPoolExecutor


def work(count):
    return sum(math.sin(number) for number in range(count))


if __name__ == "__main__":
    with MPIPoolExecutor(max_workers=2) as pool:
        print(sum(pool.map(work, [60_000 + 1000 * (turn % 7) for turn in range(60)])))
        with open("between.txt", "w") as file:
            file.write("x" * 100_000)
        print(sum(pool.map(work, [150_000] * 8)))
