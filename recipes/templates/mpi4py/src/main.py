"""Each rank sums its share of the numbers below N; rank 0 prints the sum, which does not depend on how many ranks there are."""
from mpi4py import MPI

N = 1_000_000

world = MPI.COMM_WORLD
share = sum(range(world.rank, N, world.size))
total = world.reduce(share)
ranks = world.gather(f"rank {world.rank} of {world.size} on {MPI.Get_processor_name()}")
if world.rank == 0: # one writer: mpirun may mix the lines of several
    print(*ranks, f"sum={total}", sep="\n", flush=True)
