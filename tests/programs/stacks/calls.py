"""The same in Python, on two ranks: calls of every kind through mpi4py."""
import array
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, other = world.rank, 1 - world.rank
data = bytearray(8)
for number in range(50):
    if rank == 0:
        world.Send(data, other)
        world.send(number, other)
    else:
        world.Recv(data, other)
        assert world.recv(source=other) == number
    total = array.array("i", [0])
    world.Allreduce(array.array("i", [1]), total)
    assert total[0] == 2
world.Ibarrier().Wait()
half = world.Split(rank, 0)
half.Barrier()
half.Free()
window = MPI.Win.Allocate(64, comm=world)
window.Fence()
window.Put(data, other)
window.Fence()
window.Free()
file = MPI.File.Open(world, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at_all(rank * 8, data)
file.Close()
copy, request = world.Idup()
request.Wait()
copy.Free()
