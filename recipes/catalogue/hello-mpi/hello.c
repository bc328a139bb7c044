/* SPDX-License-Identifier: Apache-2.0
 * Each rank prints where it runs and the sum of all ranks' numbers, 0 + 1 + … + (n-1). Ends with 1
 * if the sum is wrong. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int rank = 0, size = 0, sum = 0, length = 0;
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d on %s, sum %d\n", rank, size, host, sum);
    fflush(stdout);
    MPI_Finalize();
    return sum == size * (size - 1) / 2 ? 0 : 1;
}
