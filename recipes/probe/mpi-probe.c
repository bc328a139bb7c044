/* SPDX-License-Identifier: Apache-2.0
 * Asks the image's own MPI how many ranks it sees; the singleton guard compares the answer with
 * what the launcher was told. One line a rank, written at once, so that lines do not mix. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    char host[256] = "unknown", library[MPI_MAX_LIBRARY_VERSION_STRING] = "", line[1024];
    int rank = 0, size = 0, one = 1, sum = 0, length = 0;
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        return 1;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\r\n")] = '\0';
    gethostname(host, sizeof host - 1);
    length = snprintf(line, sizeof line, "cybelectl-probe rank %d of %d host %s library %.600s\n",
                      rank, sum, host, library);
    if (length < 0 || write(STDOUT_FILENO, line, (size_t)length) != length) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return sum == size ? 0 : 1;
}
