// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/unpack.hpp"
#include "runtime/containers/mount_image.hpp"
#include "runtime/containers/unpacked_trees.hpp"
#include "support/blake2.hpp"
#include "support/encoding.hpp"
#include "support/lock.hpp"
#include "support/own_folder.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

/// Names one state of a file without reading it: any change changes its ctime.
std::string identity_of(const ImageFile& image) {
    struct stat status = {};
    if (fstat(image.fd.get(), &status) != 0) {
        return {};
    }
    std::string text;
    const auto add = [&](auto number) { text += std::to_string(number) + ' '; };
    add(status.st_dev);
    add(status.st_ino);
    add(status.st_size);
    add(status.st_mtim.tv_sec);
    add(status.st_mtim.tv_nsec);
    add(status.st_ctim.tv_sec);
    add(status.st_ctim.tv_nsec);
    add(image.offset);
    add(image.size);
    return hex(blake2(text));
}

bool is_digest(const std::string& text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// The digest of the partition; kept below `index`, since reading 1 GB takes a second.
Result<std::string> partition_digest(const ImageFile& image, const std::filesystem::path& index) {
    const std::filesystem::path note = index / identity_of(image);
    if (const auto known = read_file(note, 1024); known && is_digest(*known)) {
        return *known;
    }
    CYBELE_TRY(const Digest digest,
               blake2_range(image.fd.get(), image.offset, image.size, image.path));
    std::string text = hex(digest);
    CYBELE_CHECK(make_directories(index, 0700));
    CYBELE_CHECK(write_file(note, text, 0600));
    return text;
}

/// Another tree, another name.
Result<std::string> digest_with_overlays(const ImageFile& image, std::string text) {
    for (const SquashfsPlace& over : image.overlays) {
        CYBELE_TRY(const Digest digest,
                   blake2_range(image.fd.get(), over.offset, over.size, image.path));
        text += ' ' + hex(digest);
    }
    return hex(blake2(text));
}

bool is_real_directory(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(std::filesystem::symlink_status(path, ignored));
}

/// What killed processes left; the lock of this image is held.
void sweep(const std::filesystem::path& folder, const std::string& prefix) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        if (entry.path().filename().string().starts_with(prefix)) {
            (void)remove_tree(entry.path());
        }
    }
}

Result<void> lock_again(const UniqueFd& lock, int how) {
    return take_lock(lock.get(), how)
               ? Result<void>()
               : fail(system_error("cannot lock the cache of unpacked images", errno));
}

Result<UniqueFd> lock_tree(const std::filesystem::path& path, int how) {
    UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.valid()) {
        return fail(system_error("cannot lock '" + path.string() + "'", errno));
    }
    CYBELE_CHECK(lock_again(lock, how));
    return lock;
}

/// The lock of this image is held.
Result<void>
unpack(const ImageFile& image, const std::filesystem::path& folder, const std::string& digest) {
    sweep(folder, digest + ".part-");
    CYBELE_TRY(TempDirectory part, TempDirectory::make(folder, digest + ".part-"));
    const std::filesystem::path root = part.path() / "root";
    CYBELE_CHECK(make_directories(root, 0755));
    CYBELE_CHECK(images::unpack_squashfs({image.fd.get(), image.offset, image.size}, root));
    for (const SquashfsPlace& over : image.overlays) {
        CYBELE_CHECK(images::unpack_squashfs(
            {image.fd.get(), over.offset, over.size}, root, images::Whiteouts::kApplied));
    }
    // A tree under its final name is whole, also after a power cut.
    const UniqueFd written(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status = {};
    if (!written.valid() || syncfs(written.get()) != 0 || fstat(written.get(), &status) != 0 ||
        // A root directory without write permission (Fedora's) cannot be moved by its owner.
        fchmod(written.get(), (status.st_mode & ALLPERMS) | S_IRWXU) != 0 ||
        rename(root.c_str(), (folder / digest).c_str()) != 0) {
        return fail(system_error("cannot keep the unpacked image", errno));
    }
    (void)fchmod(written.get(), status.st_mode & ALLPERMS);
    return {};
}

} // namespace

Result<UnpackedImage> unpack_into_cache(const ImageFile& image, const Environment& environment) {
    const std::filesystem::path folder = environment.cache_directory() / kUnpackedFolder;
    CYBELE_CHECK(make_own_folder(
        {environment.cache_directory(), "the cache of unpacked images", "CYBELE_CACHE_DIR"}));
    CYBELE_CHECK(make_directories(folder, 0700));
    CYBELE_TRY(std::string digest, partition_digest(image, folder / "index"));
    if (!image.overlays.empty()) {
        CYBELE_TRY(digest, digest_with_overlays(image, digest));
    }
    const std::filesystem::path target = folder / digest;
    auto locked = lock_tree(folder / (digest + ".lock"), LOCK_SH);
    if (!locked && is_real_directory(target)) {
        return UnpackedImage{target, UniqueFd()}; // a cache that can only be read serves as well
    }
    CYBELE_TRY(UniqueFd lock, std::move(locked));
    if (!is_real_directory(target)) {
        CYBELE_CHECK(lock_again(lock, LOCK_EX));
        if (!is_real_directory(target)) { // else another process was first
            CYBELE_CHECK(unpack(image, folder, digest));
        }
        CYBELE_CHECK(lock_again(lock, LOCK_SH));
    }
    mark_unpacked_used(folder, digest, image.path);
    return UnpackedImage{target, std::move(lock)};
}

} // namespace cybele::runtime
