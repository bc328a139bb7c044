// SPDX-License-Identifier: Apache-2.0
// What the kernel alone takes for a start, in the fewest calls, by a small static program:
//   floor directory ROOT PROGRAM…     a directory as root file system, with the mounts of
//                                     `cybelectl exec`
//   floor squashfuse IMAGE PROGRAM…   the same of a squashfs, which squashfuse_ll serves
//   floor join PROGRAM…               enters the namespaces of the process MEASURE_BEFORE,
//                                     of measure.c
// It asks nothing, checks nothing, sets no variable and changes no account file.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CLONE_FLAGS = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE };

static int must(int result, const char* what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
    return result;
}

static void put(int proc, const char* file, const char* text) {
    const int fd = must(openat(proc, file, O_WRONLY | O_CLOEXEC), file);
    must((int)write(fd, text, strlen(text)), file);
    close(fd);
}

// One id, of the outer namespace, as `inside`.
static void map(int proc, unsigned inside, unsigned uid, unsigned gid) {
    char text[64];
    put(proc, "self/setgroups", "deny");
    snprintf(text, sizeof text, "%u %u 1\n", inside, uid);
    put(proc, "self/uid_map", text);
    snprintf(text, sizeof text, "%u %u 1\n", inside, gid);
    put(proc, "self/gid_map", text);
}

static int path(int folder, const char* name) {
    return must(openat(folder, name, O_PATH | O_CLOEXEC), name);
}

static int lay(int source, int target, unsigned long long flags) {
    const int tree = must(open_tree(source, "", CLONE_FLAGS), "open_tree");
    must(move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH),
         "move_mount");
    struct mount_attr attributes = {.attr_set = flags};
    if (flags) {
        must(mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes),
             "mount_setattr");
    }
    return tree;
}

// squashfuse_ll, of the PATH, as the server of what `at` shall show; it ends with the program.
static int serve(const char* image, const char* at) {
    char options[128], device[32];
    const int fuse = must(open("/dev/fuse", O_RDWR), "/dev/fuse");
    const char* form = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other";
    snprintf(options, sizeof options, form, fuse);
    snprintf(device, sizeof device, "/dev/fd/%d", fuse);
    must(mount("squashfuse", at, "fuse", MS_RDONLY | MS_NOSUID | MS_NODEV, options), "mount");
    if (must(fork(), "fork") == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        execlp("squashfuse_ll", "squashfuse_ll", "-f", image, device, (char*)NULL);
        perror("squashfuse_ll");
        _exit(1);
    }
    close(fuse);
    return path(AT_FDCWD, at);
}

static void start(const char* image, int is_served) {
    static const char* const binds[] = {
        "dev", "etc/localtime", "etc/hosts", "proc", "sys", "tmp", "var/tmp"};
    static const char* const own[] = {"etc/resolv.conf", "etc/passwd", "etc/group"};
    const char* home = getenv("HOME");
    const unsigned uid = getuid(), gid = getgid();
    char folder[4096], target[4096];
    must(getcwd(folder, sizeof folder) ? 0 : -1, "getcwd");
    const int proc = path(AT_FDCWD, "/proc");
    must(unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare");
    map(proc, 0, uid, gid);
    must(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL), "slave");
    // A folder of another mount namespace cannot be bound: opened here, before the stage covers it.
    const int old = path(AT_FDCWD, "/"), homes = path(AT_FDCWD, home);
    int from = is_served ? -1 : path(AT_FDCWD, image);
    must(mount("tmpfs", "/mnt", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64m"), "tmpfs");
    const int stage = path(AT_FDCWD, "/mnt");
    must(mkdirat(stage, "image", 0755) | mkdirat(stage, "home", 0755), "mkdir");
    if (is_served) {
        must(mkdirat(stage, "served", 0755), "mkdir");
        from = serve(image, "/mnt/served");
    }
    const int root =
        lay(from, path(stage, "image"), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    for (size_t i = 0; i < sizeof binds / sizeof *binds; ++i) {
        lay(path(old, binds[i]),
            path(root, binds[i]),
            i > 4 ? MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV : 0);
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i) {
        const int file = must(
            openat(stage, strrchr(own[i], '/') + 1, O_CREAT | O_WRONLY | O_CLOEXEC, 0644), own[i]);
        lay(file, path(root, own[i]), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    }
    // The image has /home and no home in it.
    snprintf(target, sizeof target, "home/%s", strrchr(home, '/') + 1);
    must(mkdirat(stage, target, 0755), target);
    const int tree = lay(path(stage, "home"), path(root, "home"), MOUNT_ATTR_RDONLY);
    lay(homes, path(tree, strrchr(home, '/') + 1), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    must(fchdir(root), "root");
    must((int)syscall(SYS_pivot_root, ".", "."), "pivot_root");
    must(umount2(".", MNT_DETACH), "umount");
    must(chdir(folder), folder);
    must(unshare(CLONE_NEWUSER), "unshare");
    map(proc, uid, 0, 0);
}

static void join(void) {
    char name[64], folder[4096];
    must(getcwd(folder, sizeof folder) ? 0 : -1, "getcwd");
    snprintf(name, sizeof name, "/proc/%s/ns/user", getenv("MEASURE_BEFORE"));
    const int user = must(open(name, O_RDONLY | O_CLOEXEC), name);
    snprintf(name, sizeof name, "/proc/%s/ns/mnt", getenv("MEASURE_BEFORE"));
    const int mounts = must(open(name, O_RDONLY | O_CLOEXEC), name);
    must(setns(must(ioctl(mounts, NS_GET_USERNS), "owner"), CLONE_NEWUSER), "setns owner");
    must(setns(mounts, CLONE_NEWNS), "setns mounts");
    must(setns(user, CLONE_NEWUSER), "setns user");
    must(chdir(folder), folder);
}

int main(int argc, char** argv) {
    const int is_join = argc > 2 && strcmp(argv[1], "join") == 0;
    if (!is_join && argc < 4) {
        fprintf(stderr,
                "floor directory ROOT PROGRAM…, floor squashfuse IMAGE PROGRAM…, "
                "floor join PROGRAM…\n");
        return 2;
    }
    if (is_join) {
        join();
    } else {
        start(argv[2], strcmp(argv[1], "squashfuse") == 0);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    execv(argv[is_join ? 2 : 3], argv + (is_join ? 2 : 3));
    perror("exec");
    return 1;
}
