// SPDX-License-Identifier: Apache-2.0
// tests/parts/old-kernel.c: old-kernel COMMAND…: runs the command under a filter that answers ENOSYS to every system call that is newer
// than Linux 4.18, whose last one on x86-64 is rseq (334; asm/unistd_64.h). Needs root, so that what changes user still can.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LAST_OF_4_18 334

int main(int argc, char** argv) {
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST_OF_4_18, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof rows / sizeof rows[0], rows};
    if (argc < 2 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) {
        perror("old-kernel");
        return 2;
    }
    if (syscall(SYS_clone3, NULL, 0) != -1 || errno != ENOSYS) {
        fputs("old-kernel: the filter does not hold\n", stderr);
        return 2;
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
