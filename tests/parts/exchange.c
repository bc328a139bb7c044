// SPDX-License-Identifier: Apache-2.0
// Ranks of MPI pass 1 MiB around a ring. Says how many bytes came by process_vm_readv or process_vm_writev, which MPI
// calls for a single copy: this program's own functions of these names stand before the C library's.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };
static long copied;

static ssize_t counted(ssize_t size) {
    copied += size > 0 ? size : 0;
    return size;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec* here, unsigned long heres, const struct iovec* there,
                         unsigned long theres, unsigned long flags) {
    return counted(syscall(SYS_process_vm_readv, pid, here, heres, there, theres, flags));
}

ssize_t process_vm_writev(pid_t pid, const struct iovec* here, unsigned long heres, const struct iovec* there,
                          unsigned long theres, unsigned long flags) {
    return counted(syscall(SYS_process_vm_writev, pid, here, heres, there, theres, flags));
}

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned char* out = malloc(SIZE);
    unsigned char* in = calloc(SIZE, 1);
    for (int i = 0; i < SIZE; ++i)
        out[i] = (unsigned char)(i * 7 + rank);
    const int left = (rank + size - 1) % size;
    MPI_Sendrecv(out, SIZE, MPI_BYTE, (rank + 1) % size, 0, in, SIZE, MPI_BYTE, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    long wrong = 0;
    for (int i = 0; i < SIZE; ++i)
        wrong += in[i] != (unsigned char)(i * 7 + left);
    long all_copied = 0, all_wrong = 0;
    MPI_Reduce(&copied, &all_copied, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    char space[64] = "";
    if (readlink("/proc/self/ns/mnt", space, sizeof space - 1) < 0)
        all_wrong = -1;
    printf("rank %d of %d in %s\n", rank, size, space);
    if (rank == 0)
        printf("%ld wrong, %ld by single copy\n", all_wrong, all_copied);
    MPI_Finalize();
    return all_wrong != 0;
}
