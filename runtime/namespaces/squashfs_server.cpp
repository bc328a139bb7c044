// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/squashfs_server.hpp"

#include "runtime/namespaces/descriptor_message.hpp"
#include "runtime/namespaces/privileges.hpp"
#include "runtime/namespaces/system_call_filter.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

extern "C" {
#include <squashfuse/ll.h>
}

namespace cybele::namespaces {
namespace {

// Unpacked blocks that are kept: 8 KiB of metadata each, and up to the image's block size (mostly
// 128 KiB) of files and of their ends. The library keeps 8, 1 and 3, which many ranks overrun.
constexpr std::size_t kMetadataBlocks = 64;
constexpr std::size_t kDataBlocks = 8;
constexpr std::size_t kFragmentBlocks = 8;

/// All that serving needs, by strace and by the sources of glibc's malloc.
constexpr std::uint32_t kNeededCalls[] = {
    SYS_read,       SYS_recvmsg,      SYS_dup3,         SYS_write,           SYS_writev,
    SYS_pread64,    SYS_mmap,         SYS_munmap,       SYS_mremap,          SYS_mprotect,
    SYS_madvise,    SYS_brk,          SYS_futex,        SYS_close,           SYS_exit,
    SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigaction, SYS_rt_sigprocmask,  SYS_getpid,
    SYS_gettid,     SYS_getrandom,    SYS_gettimeofday, SYS_restart_syscall, SYS_clock_gettime};

/// What each request finds; the library's functions see its first member.
struct Filesystem {
    sqfs_ll library = {};
    bool has_no_open = false; ///< the kernel understands that to open a file needs no question
    bool has_no_opendir = false;
};

Filesystem& filesystem_of(fuse_req_t request) {
    return *static_cast<Filesystem*>(fuse_req_userdata(request));
}

void begin(void* filesystem, fuse_conn_info* connection) {
    auto& known = *static_cast<Filesystem*>(filesystem);
    known.has_no_open = (connection->capable & FUSE_CAP_NO_OPEN_SUPPORT) != 0;
    known.has_no_opendir = (connection->capable & FUSE_CAP_NO_OPENDIR_SUPPORT) != 0;
    connection->want &=
        ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
    connection->want |= connection->capable & FUSE_CAP_CACHE_SYMLINKS;
}

/// "ENOSYS" tells the kernel that no question of this kind is needed: what is in the cache stays,
/// and the next ones are not asked.
void open_any(fuse_req_t request, fuse_file_info* file, bool can_be_left_out) {
    if (can_be_left_out) {
        fuse_reply_err(request, ENOSYS);
        return;
    }
    file->keep_cache = 1;
    file->cache_readdir = 1;
    fuse_reply_open(request, file);
}

void open_file(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* file) {
    open_any(request, file, filesystem_of(request).has_no_open);
}

void open_folder(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* file) {
    open_any(request, file, filesystem_of(request).has_no_opendir);
}

/// Room for an answer, used again and again.
char* room_of(std::size_t size) {
    static std::vector<char> room;
    room.resize(std::max(room.size(), size));
    return room.data();
}

void serve_read(
    fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info* /*f*/) {
    sqfs_ll_i found;
    if (sqfs_ll_iget(request, &found, number) != SQFS_OK) {
        return; // answered
    }
    if (!S_ISREG(found.inode.base.mode)) {
        fuse_reply_err(request, EISDIR);
        return;
    }
    char* const room = room_of(size);
    auto length = static_cast<sqfs_off_t>(size);
    if (sqfs_read_range(&found.ll->fs, &found.inode, offset, &length, room) != SQFS_OK) {
        fuse_reply_err(request, EIO);
        return;
    }
    fuse_reply_buf(request, room, static_cast<std::size_t>(length));
}

// Of this process, which serves one mount.
bool shows_one_owner = false; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// As stat() shows it; false where the image names an owner that it does not have.
bool read_attributes(sqfs& image, const sqfs_inode& inode, struct stat& status) {
    const squashfs_base_inode& base = inode.base;
    status.st_mode = base.mode;
    status.st_nlink = static_cast<nlink_t>(inode.nlink);
    status.st_mtime = status.st_ctime = status.st_atime = base.mtime;
    if (S_ISREG(base.mode)) {
        status.st_size = static_cast<off_t>(inode.xtra.reg.file_size);
        status.st_blocks = status.st_size / 512; // its unit, whatever the file system's
    } else if (S_ISLNK(base.mode)) {
        status.st_size = static_cast<off_t>(inode.xtra.symlink_size);
    } else if (S_ISBLK(base.mode) || S_ISCHR(base.mode)) {
        status.st_rdev = makedev(static_cast<unsigned>(inode.xtra.dev.major),
                                 static_cast<unsigned>(inode.xtra.dev.minor));
    }
    status.st_blksize = static_cast<blksize_t>(image.sb.block_size);
    if (shows_one_owner) {
        return true; // 0, 0
    }
    return sqfs_id_get(&image, base.uid, &status.st_uid) == SQFS_OK &&
           sqfs_id_get(&image, base.guid, &status.st_gid) == SQFS_OK;
}

constexpr double kForEver = std::numeric_limits<double>::max(); // seconds; nothing changes

/// The library's own operation but for the owners; so is the next one.
void get_attributes(fuse_req_t request, fuse_ino_t number, fuse_file_info* /*file*/) {
    sqfs_ll_i found;
    if (sqfs_ll_iget(request, &found, number) != SQFS_OK) {
        return; // answered
    }
    struct stat status = {};
    if (!read_attributes(found.ll->fs, found.inode, status)) {
        fuse_reply_err(request, EIO);
        return;
    }
    status.st_ino = number;
    fuse_reply_attr(request, &status, kForEver);
}

/// A name that is not there is known by the kernel from then on, by an answer without an inode.
void look_up(fuse_req_t request, fuse_ino_t folder, const char* name) {
    sqfs_ll_i found;
    if (sqfs_ll_iget(request, &found, folder) != SQFS_OK) {
        return; // answered
    }
    if (!S_ISDIR(found.inode.base.mode)) {
        fuse_reply_err(request, ENOTDIR);
        return;
    }
    sqfs& image = found.ll->fs;
    sqfs_name buffer;
    sqfs_dir_entry entry;
    sqfs_dentry_init(&entry, static_cast<char*>(buffer));
    bool is_there = false;
    fuse_entry_param answer = {};
    answer.attr_timeout = answer.entry_timeout = kForEver;
    if (sqfs_dir_lookup(&image, &found.inode, name, std::strlen(name), &entry, &is_there) !=
        SQFS_OK) {
        fuse_reply_err(request, EIO);
        return;
    }
    if (is_there) {
        sqfs_inode inode;
        if (sqfs_inode_get(&image, &inode, sqfs_dentry_inode(&entry)) != SQFS_OK ||
            !read_attributes(image, inode, answer.attr)) {
            fuse_reply_err(request, EIO);
            return;
        }
        answer.ino = found.ll->ino_register(found.ll, &entry);
        answer.attr.st_ino = answer.ino;
    }
    fuse_reply_entry(request, &answer);
}

/// One entry of a listing: where it goes, and what is known of it.
struct Listed {
    fuse_req_t request;
    char* place;
    std::size_t left; ///< bytes
    sqfs_ll& filesystem;
    sqfs_dir_entry& entry;
};

/// Its bytes; more than are left where it does not fit.
std::size_t add_name(const Listed& one) {
    struct stat status = {};
    status.st_ino = one.filesystem.ino_fuse_num(&one.filesystem, &one.entry);
    status.st_mode = sqfs_dentry_mode(&one.entry);
    return fuse_add_direntry(one.request,
                             one.place,
                             one.left,
                             sqfs_dentry_name(&one.entry),
                             &status,
                             sqfs_dentry_next_offset(&one.entry));
}

/// With all that a lookup would tell, or the name alone (inode 0) where that cannot be read.
std::size_t add_name_and_attributes(const Listed& one) {
    fuse_entry_param entry = {};
    sqfs_inode inode;
    sqfs& image = one.filesystem.fs;
    if (sqfs_inode_get(&image, &inode, sqfs_dentry_inode(&one.entry)) == SQFS_OK &&
        read_attributes(image, inode, entry.attr)) {
        entry.ino = one.filesystem.ino_register(&one.filesystem, &one.entry);
        entry.attr_timeout = entry.entry_timeout = kForEver;
    }
    entry.attr.st_ino = one.filesystem.ino_fuse_num(&one.filesystem, &one.entry);
    entry.attr.st_mode |= sqfs_dentry_mode(&one.entry);
    return fuse_add_direntry_plus(one.request,
                                  one.place,
                                  one.left,
                                  sqfs_dentry_name(&one.entry),
                                  &entry,
                                  sqfs_dentry_next_offset(&one.entry));
}

template <std::size_t (*Add)(const Listed&)>
void list_folder(
    fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info* /*f*/) {
    sqfs_ll_i found;
    if (sqfs_ll_iget(request, &found, number) != SQFS_OK) {
        return; // answered
    }
    sqfs_dir folder;
    if (!S_ISDIR(found.inode.base.mode) ||
        sqfs_dir_open(&found.ll->fs, &found.inode, &folder, offset) != SQFS_OK) {
        fuse_reply_err(request, ENOTDIR);
        return;
    }
    char* const room = room_of(size);
    std::size_t used = 0;
    sqfs_name name;
    sqfs_dir_entry entry;
    sqfs_dentry_init(&entry, static_cast<char*>(name));
    sqfs_err error = SQFS_OK;
    while (sqfs_dir_next(&found.ll->fs, &folder, &entry, &error)) {
        const std::size_t length = Add({request, room + used, size - used, *found.ll, entry});
        if (length > size - used) {
            break;
        }
        used += length;
    }
    if (error != SQFS_OK && used == 0) {
        fuse_reply_err(request, EIO);
        return;
    }
    fuse_reply_buf(request, room, used);
}

fuse_lowlevel_ops make_operations() {
    fuse_lowlevel_ops all = {};
    all.init = begin;
    all.lookup = look_up;
    all.forget = sqfs_ll_op_forget;
    all.getattr = get_attributes;
    all.readlink = sqfs_ll_op_readlink;
    all.open = open_file;
    all.read = serve_read;
    all.opendir = open_folder;
    all.readdir = list_folder<add_name>;
    all.readdirplus = list_folder<add_name_and_attributes>;
    all.statfs = stfs_ll_op_statfs;
    all.getxattr = sqfs_ll_op_getxattr;
    all.listxattr = sqfs_ll_op_listxattr;
    return all;
}

/// The decompressors ask for the same large pieces again and again; given back each time, they
/// would come as new pages of the kernel.
void keep_memory() {
    constexpr int kLarge = 64 * 1024 * 1024;
    (void)mallopt(M_MMAP_THRESHOLD, kLarge); // NOLINT(concurrency-mt-unsafe): one thread
    (void)mallopt(M_TRIM_THRESHOLD, kLarge); // NOLINT(concurrency-mt-unsafe)
}

bool keep_blocks(sqfs_cache& cache, std::size_t count) {
    sqfs_cache_destroy(&cache);
    return sqfs_block_cache_init(&cache, count) == SQFS_OK;
}

bool open_squashfs(sqfs_ll& filesystem, int image, std::uint64_t offset) {
    return sqfs_init(&filesystem.fs, image, offset) == SQFS_OK &&
           keep_blocks(filesystem.fs.md_cache, kMetadataBlocks) &&
           keep_blocks(filesystem.fs.data_cache, kDataBlocks) &&
           keep_blocks(filesystem.fs.frag_cache, kFragmentBlocks) &&
           sqfs_ll_init(&filesystem) == SQFS_OK;
}

fuse_session* open_session(Filesystem& filesystem, int device) {
    static const fuse_lowlevel_ops operations = make_operations();
    std::array<char, 10> name = {"cybelectl"};
    std::array<char*, 2> words = {name.data(), nullptr};
    fuse_args arguments = FUSE_ARGS_INIT(1, words.data());
    fuse_session* session =
        fuse_session_new(&arguments, &operations, sizeof operations, &filesystem);
    const std::string point = "/dev/fd/" + std::to_string(device);
    const bool is_mounted = session != nullptr && fuse_session_mount(session, point.c_str()) == 0;
    return is_mounted ? session : nullptr;
}

/// Waits for /dev/fuse and puts it in the place of `device`; false when it will never come.
bool take_device(const Served& served, int device) {
    DescriptorMessage letter;
    const bool is_mounted = receive_message(served.gate, letter) == 1 &&
                            letter.word == served.word && letter.descriptors[0].valid();
    (void)close(served.gate);
    return is_mounted && dup3(letter.descriptors[0].get(), device, O_CLOEXEC) == device;
}

} // namespace

void serve_squashfs(const Served& served) {
    keep_memory();
    shows_one_owner = served.has_one_owner;
    Filesystem filesystem;
    // All that needs a name is done before it is forbidden: a place for the device, too.
    const int device = fcntl(served.gate, F_DUPFD_CLOEXEC, 0);
    if (device < 0 || !open_squashfs(filesystem.library, served.image, served.offset)) {
        _exit(1);
    }
    fuse_session* const session = open_session(filesystem, device);
    if (session == nullptr || !drop_all_privileges() || !allow_only(kNeededCalls) ||
        !take_device(served, device)) {
        _exit(1);
    }
    (void)fuse_session_loop(session);
    _exit(0);
}

} // namespace cybele::namespaces
