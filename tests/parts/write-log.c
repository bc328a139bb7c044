// SPDX-License-Identifier: Apache-2.0
// Reads the log of the kernel's dm-log-writes (Documentation/admin-guide/device-mapper/log-writes.rst): what reached a disk, in order.
//   write-log list LOG                     one line per entry: OFFSET KIND SECTOR COUNT TEXT, KIND of the letters f (flush), u (FUA),
//                                          d (discard), m (mark), or - ; the last line is the end
//   write-log apply LOG DISK FROM TO       carries out the entries from the offset FROM to before TO on the file DISK
//   write-log drop LOG DISK FROM TO SEED   the same, but leaves out about half of those that no flush or FUA has made certain: a disk
//                                          may lose each of them alone
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_MAGIC 0x6a736677736872ULL
#define DISK_SECTOR 512

enum { FLUSH = 1, FUA = 2, DISCARD = 4, MARK = 8 };

struct super {
    uint64_t magic, version, entries;
    uint32_t sector_size;
} __attribute__((packed));

struct entry {
    uint64_t sector, count, flags, text_size;
} __attribute__((packed));

static void fail(const char* what) {
    fprintf(stderr, "write-log: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void read_whole(int fd, void* into, size_t size, uint64_t offset) {
    if (pread(fd, into, size, (off_t)offset) != (ssize_t)size) fail("cannot read the log");
}

static struct entry read_entry(int fd, uint64_t offset) {
    struct entry one;
    read_whole(fd, &one, sizeof one, offset);
    one.sector = le64toh(one.sector);
    one.count = le64toh(one.count);
    one.flags = le64toh(one.flags);
    one.text_size = le64toh(one.text_size);
    return one;
}

static uint64_t data_size(const struct entry* one, uint64_t sector_size) {
    return one->flags & (DISCARD | MARK) ? 0 : one->count * sector_size;
}

static void list(int log, uint64_t entries, uint64_t sector_size) {
    uint64_t offset = sector_size;
    for (uint64_t i = 0; i < entries; ++i) {
        const struct entry one = read_entry(log, offset);
        char text[256] = "";
        if (one.flags & MARK && one.text_size < sizeof text) read_whole(log, text, one.text_size, offset + sizeof one);
        printf("%llu %s%s%s%s%s %llu %llu %s\n", (unsigned long long)offset, one.flags & FLUSH ? "f" : "", one.flags & FUA ? "u" : "",
               one.flags & DISCARD ? "d" : "", one.flags & MARK ? "m" : "", one.flags & (FLUSH | FUA | DISCARD | MARK) ? "" : "-",
               (unsigned long long)one.sector, (unsigned long long)one.count, text);
        offset += sector_size + data_size(&one, sector_size);
    }
    printf("%llu end\n", (unsigned long long)offset);
}

static void write_whole(int disk, const char* bytes, uint64_t size, uint64_t offset) {
    if (pwrite(disk, bytes, size, (off_t)offset) != (ssize_t)size) fail("cannot write the disk");
}

static void carry_out(int log, int disk, const struct entry* one, uint64_t sector_size, uint64_t offset) {
    const uint64_t size = one->flags & MARK ? 0 : one->count * sector_size;
    char* const bytes = calloc(1, size + 1);
    if (bytes == NULL) fail("no memory");
    if (data_size(one, sector_size) != 0) read_whole(log, bytes, size, offset + sector_size);
    if (size != 0) write_whole(disk, bytes, size, one->sector * sector_size);
    free(bytes);
}

// Of two disks that crash at the same moment, each may hold other ones of these writes.
static int is_dropped(const struct entry* one, uint64_t* random) {
    if (one->flags & (FLUSH | FUA | MARK)) return 0;
    *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (*random >> 33) & 1;
}

static void apply(int log, int disk, uint64_t sector_size, uint64_t from, uint64_t to, uint64_t* random) {
    while (from < to) {
        const struct entry one = read_entry(log, from);
        if (random == NULL || !is_dropped(&one, random)) carry_out(log, disk, &one, sector_size, from);
        from += sector_size + data_size(&one, sector_size);
    }
}

int main(int argc, char** argv) {
    struct super super;
    const int log = argc > 2 ? open(argv[2], O_RDONLY) : -1;
    if (log < 0) fail("cannot open the log");
    read_whole(log, &super, sizeof super, 0);
    const uint64_t sector_size = le32toh(super.sector_size);
    if (le64toh(super.magic) != LOG_MAGIC || le64toh(super.version) != 1 || sector_size % DISK_SECTOR != 0 || sector_size == 0) {
        errno = EINVAL;
        fail("not a log of dm-log-writes");
    }
    if (argc == 3 && strcmp(argv[1], "list") == 0) {
        list(log, le64toh(super.entries), sector_size);
    } else if ((argc == 6 && strcmp(argv[1], "apply") == 0) || (argc == 7 && strcmp(argv[1], "drop") == 0)) {
        const int disk = open(argv[3], O_RDWR);
        if (disk < 0) fail("cannot open the disk");
        uint64_t random = argc == 7 ? strtoull(argv[6], NULL, 10) : 0;
        apply(log, disk, sector_size, strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10), argc == 7 ? &random : NULL);
    } else {
        errno = EINVAL;
        fail("usage: write-log list LOG | apply LOG DISK FROM TO | drop LOG DISK FROM TO SEED");
    }
    return 0;
}
