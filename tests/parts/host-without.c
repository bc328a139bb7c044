// SPDX-License-Identifier: Apache-2.0
// tests/parts/host-without.c: host-without loop|namespaces|processes COMMAND…: runs the command under a filter of system calls that makes
// this machine one without loop devices, without user namespaces, or without process namespaces: each call for one gets EPERM.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/loop.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENT(n) ((unsigned)(offsetof(struct seccomp_data, args) + 8 * (n)))
#define LOAD(where) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (where))
#define ANSWER(code) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (code))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int install(struct sock_filter* rows, size_t count) {
    struct sock_fprog filter = {(unsigned short)count, rows};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0;
}

// clone3 hands its flags over by a pointer, which no filter follows: it is as on an old kernel.
static int forbid_flag(unsigned flag) {
    struct sock_filter rows[] = {
        LOAD(offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        ANSWER(ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 3),
        LOAD(ARGUMENT(0)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flag, 0, 1),
        ANSWER(EPERM),
        ALLOW,
    };
    return install(rows, sizeof rows / sizeof rows[0]);
}

static int forbid_loop(void) {
    struct sock_filter rows[] = {
        LOAD(offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
        LOAD(ARGUMENT(1)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LOOP_CTL_GET_FREE, 0, 1),
        ANSWER(EPERM),
        ALLOW,
    };
    return install(rows, sizeof rows / sizeof rows[0]);
}

int main(int argc, char** argv) {
    int failed = 1;
    if (argc > 2 && strcmp(argv[1], "loop") == 0) {
        failed = forbid_loop();
    } else if (argc > 2 && strcmp(argv[1], "namespaces") == 0) {
        failed = forbid_flag(CLONE_NEWUSER);
    } else if (argc > 2 && strcmp(argv[1], "processes") == 0) {
        failed = forbid_flag(CLONE_NEWPID);
    }
    if (failed) {
        perror("host-without");
        return 2;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
