/* SPDX-License-Identifier: Apache-2.0 */
/* A build step that tries to reach the machine that builds it. For each attempt it prints a line
 * "NAME<tab>refused" or "NAME<tab>DONE". What an attempt would change, where nothing refused it, is a
 * value that is already there, or a thing that the test made for it.
 *   hostile-step SHM SOCKET MARKER   the attempts: the id of a shared memory segment of the host, the
 *                                    name of an abstract socket and a file of the host
 *   hostile-step listen SOCKET       listens there until it is killed
 *   hostile-step landlock            prints the version of the kernel's Landlock, 0 where it has none */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void tell(const char* name, int is_done) {
    printf("%s\t%s\n", name, is_done ? "DONE" : "refused");
}

/* A call that gives -1 where it is refused. */
#define TRY(name, call) tell(name, (call) >= 0)

static int opens(const char* path, int flags) {
    const int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0) close(fd);
    return fd;
}

/* Opened for writing, which nothing has done yet. */
static void try_settings(void) {
    static const char* const names[] = {
        "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/modprobe",
        "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/proc/mtrr", "/proc/fs/binfmt",
        "/sys/kernel/mm/ksm/run", "/sys/kernel/uevent_helper", "/sys/power/state",
        "/sys/module/printk/parameters/time", "/sys/fs/cgroup/cgroup.procs",
        "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/memory/cgroup.procs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) TRY(names[i], opens(names[i], O_WRONLY));
    TRY("make a control group", mkdir("/sys/fs/cgroup/memory/hostile", 0755));
    TRY("make another control group", mkdir("/sys/fs/cgroup/hostile", 0755));
    TRY("mode of a setting", chmod("/proc/sys/kernel/core_pattern", 0644));
}

static void try_devices(void) {
    static const char* const names[] = {"/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/fuse", "/dev/kvm",
                                        "/dev/loop-control", "/dev/tty", "/dev/console", "/dev/cpu/0/msr"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) TRY(names[i], opens(names[i], O_RDWR));
    TRY("make a disk", mknod("/hostile-disk", S_IFBLK | 0600, makedev(254, 0)) == 0 ? opens("/hostile-disk", O_RDONLY) : -1);
    TRY("make the memory", mknod("/hostile-mem", S_IFCHR | 0600, makedev(1, 1)) == 0 ? opens("/hostile-mem", O_RDONLY) : -1);
    TRY("mode of the host's null", chmod("/dev/null", 0666));
    TRY("owner of the host's null", chown("/dev/null", 0, 0));
    TRY("mode of the input", fchmod(0, 0666));
    TRY("words for the terminal", ioctl(2, TIOCSTI, "#"));
}

static void try_mounts(void) {
    TRY("mount", mount("none", "/tmp", "tmpfs", 0, ""));
    TRY("mount over settings", mount("none", "/proc/sys", "tmpfs", 0, ""));
    TRY("remount settings", mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL));
    TRY("remount sys", mount(NULL, "/sys", NULL, MS_REMOUNT | MS_BIND, NULL));
    TRY("another proc", mount("proc", "/tmp", "proc", 0, ""));
    TRY("another sysfs", mount("sysfs", "/tmp", "sysfs", 0, ""));
    TRY("control groups", mount("none", "/tmp", "cgroup2", 0, ""));
    TRY("control groups of old", mount("none", "/tmp", "cgroup", 0, "memory"));
    TRY("umount", umount2("/proc/sys", MNT_DETACH));
    TRY("fsopen", syscall(430, "tmpfs", 0));
    TRY("open_tree", syscall(428, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
    struct { unsigned long long set, clear, propagation, user; } attributes = {0, 1, 0, 0};
    TRY("mount_setattr", syscall(442, AT_FDCWD, "/proc/sys", 0, &attributes, sizeof attributes));
    TRY("pivot_root", syscall(SYS_pivot_root, ".", "."));
}

static int clones(unsigned long flags) {
    const long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    return child < 0 ? -1 : waitpid((pid_t)child, NULL, 0) < 0 ? -1 : 0;
}

static void try_namespaces(void) {
    TRY("unshare user", unshare(CLONE_NEWUSER));
    TRY("unshare mount", unshare(CLONE_NEWNS));
    TRY("unshare cgroup", unshare(CLONE_NEWCGROUP));
    TRY("unshare network", unshare(CLONE_NEWNET));
    TRY("clone user", clones(CLONE_NEWUSER));
    TRY("clone network", clones(CLONE_NEWNET));
    TRY("clone3", syscall(435, NULL, 0) < 0 && errno == ENOSYS ? -1 : 0);
    const int other = open("/proc/1/ns/mnt", O_RDONLY);
    TRY("namespaces of the keeper", other < 0 ? -1 : setns(other, 0));
}

static void try_kernel(void) {
    TRY("init_module", syscall(SYS_init_module, "", 0, "") == 0 || errno == ENOEXEC ? 0 : -1);
    TRY("finit_module", syscall(SYS_finit_module, 0, "", 0) == 0 || errno != EPERM ? 0 : -1);
    TRY("delete_module", syscall(SYS_delete_module, "hostile", 0) == 0 || errno == ENOENT ? 0 : -1);
    TRY("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
    TRY("reboot", syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_CAD_ON, 0));
    TRY("swapon", syscall(SYS_swapon, "/hostile-swap", 0) == 0 || errno != EPERM ? 0 : -1);
    TRY("swapoff", syscall(SYS_swapoff, "/hostile-swap") == 0 || errno != EPERM ? 0 : -1);
    TRY("acct", syscall(SYS_acct, "/hostile-account") == 0 || errno == ENOENT ? 0 : -1);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    TRY("clock_settime", clock_settime(CLOCK_REALTIME, &now));
    struct timeval same;
    gettimeofday(&same, NULL);
    TRY("settimeofday", settimeofday(&same, NULL));
    TRY("syslog", syscall(SYS_syslog, 3, "x", 1));
    union bpf_attr map;
    memset(&map, 0, sizeof map);
    map.map_type = BPF_MAP_TYPE_ARRAY;
    map.key_size = map.value_size = 4;
    map.max_entries = 1;
    TRY("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map));
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    event.type = PERF_TYPE_SOFTWARE;
    TRY("perf_event_open", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
    struct { struct file_handle handle; char room[128]; } file;
    memset(&file, 0, sizeof file);
    file.handle.handle_bytes = sizeof file.room;
    int mount_id = 0;
    TRY("open_by_handle_at",
        name_to_handle_at(AT_FDCWD, "/", &file.handle, &mount_id, 0) == 0 ? open_by_handle_at(AT_FDCWD, &file.handle, O_RDONLY) : -1);
#ifdef __x86_64__
    TRY("iopl", syscall(SYS_iopl, 3));
    TRY("ioperm", syscall(SYS_ioperm, 0x70, 1, 1));
    long answer; /* umount(2) of "" by the table of 32-bit programs: ENOENT where it is made */
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(52L), "b"(0L), "c"(0L) : "memory");
    TRY("umount of 32 bits", answer == -EPERM || answer == -ENOSYS ? -1 : 0);
    TRY("umount of x32", syscall(0x40000000 + SYS_umount2, "", 0) < 0 && (errno == ENOSYS || errno == EPERM) ? -1 : 0);
#endif
}

static void try_processes(void) {
    TRY("ptrace of the keeper", ptrace(PTRACE_ATTACH, 1, 0, 0));
    TRY("memory of the keeper", opens("/proc/1/mem", O_RDWR));
    TRY("environment of the keeper", opens("/proc/1/environ", O_RDONLY));
    TRY("root of the keeper", opens("/proc/1/root/etc", O_RDONLY));
    TRY("program of the keeper", chmod("/proc/1/exe", 0755));
    TRY("descriptors of the keeper", opens("/proc/1/fd/3", O_RDONLY));
}

static void try_keys(void) {
    TRY("session keyring", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
    TRY("add_key", syscall(SYS_add_key, "user", "hostile", "x", 1, KEY_SPEC_SESSION_KEYRING));
    TRY("request_key", syscall(SYS_request_key, "user", "hostile", NULL, 0) >= 0 || errno != EPERM ? 0 : -1);
}

static int connects(const char* name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(fd, (struct sockaddr*)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
}

static void try_network(const char* name) {
    TRY("raw socket", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    TRY("packet socket", socket(AF_PACKET, SOCK_RAW, 0));
    struct ifreq request;
    memset(&request, 0, sizeof request);
    strcpy(request.ifr_name, "lo");
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    (void)ioctl(fd, SIOCGIFFLAGS, &request);
    TRY("flags of an interface", ioctl(fd, SIOCSIFFLAGS, &request));
    TRY("abstract socket of the host", connects(name));
}

static void try_others(int segment, const char* marker) {
    TRY("shared memory of the host", shmctl(segment, IPC_RMID, NULL));
    struct shmid_ds status;
    TRY("shared memory of the host, read", shmctl(segment, IPC_STAT, &status));
    (void)mkdir("/hostile-root", 0755);
    if (chroot("/hostile-root") == 0) {
        for (int i = 0; i < 64; ++i) (void)!chdir("..");
        (void)!chroot(".");
    }
    struct stat found;
    TRY("a file above the root", stat(marker, &found));
    /* Ends with this step, and must not be seen outside: the test looks. */
    (void)!sethostname("hostile", 7);
    (void)setpriority(PRIO_USER, 0, 7);
}

static int listens(const char* name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr*)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) != 0 ||
        listen(fd, 5) != 0)
        return 1;
    puts("listening");
    fflush(stdout);
    for (;;) pause();
}

int main(int count, char** words) {
    if (count == 3 && strcmp(words[1], "listen") == 0) return listens(words[2]);
    if (count == 2 && strcmp(words[1], "landlock") == 0) {
        const long version = syscall(444, NULL, 0, 1);
        return printf("%ld\n", version < 0 ? 0 : version) < 0;
    }
    if (count != 4) return 2;
    try_settings();
    try_devices();
    try_mounts();
    try_namespaces();
    try_kernel();
    try_processes();
    try_keys();
    try_network(words[2]);
    try_others(atoi(words[1]), words[3]);
    return 0;
}
