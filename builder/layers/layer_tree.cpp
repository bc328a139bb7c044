// SPDX-License-Identifier: Apache-2.0
#include "builder/layers/layer_tree.hpp"

#include "builder/layers/layer_files.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::string_view kUnionFs = ".wh..wh."; ///< files that aufs keeps for itself
constexpr mode_t kModeBits = 07777;
constexpr mode_t kSetIds = 06000;

tl::unexpected<Error> hostile(std::string_view name, std::string because) {
    return fail(ErrorCode::kInput,
                problem("layer-entry-refused",
                        "the layer holds '" + printable(name) + "', which is refused"),
                std::move(because),
                "do not use the image; report this to its author");
}

tl::unexpected<Error> cannot(std::string_view path, int saved_errno) {
    return fail(system_error("cannot unpack /" + printable(path), saved_errno));
}

/// `./a//b/` → `a/b`; empty: the root itself.
Result<std::string> clean_name(std::string_view name) {
    if (name.starts_with('/')) {
        return hostile(name, "its name is absolute; names of a layer are relative to the root");
    }
    std::string clean;
    for (std::string_view rest = name; !rest.empty();) {
        const std::size_t slash = std::min(rest.find('/'), rest.size());
        const std::string_view part = rest.substr(0, slash);
        rest.remove_prefix(std::min(slash + 1, rest.size()));
        if (part == "..") {
            return hostile(name, "its name has '..' and could lead out of the root");
        }
        if (!part.empty() && part != ".") {
            clean += (clean.empty() ? "" : "/") + std::string(part);
        }
    }
    return clean;
}

std::string_view folder_of_path(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

std::string_view base_of_path(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

const char* name_of(archive_entry* entry) {
    const char* name = archive_entry_pathname(entry);
    return name != nullptr ? name : archive_entry_pathname_utf8(entry);
}

timespec entry_modified(archive_entry* entry) {
    return {archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
}

void note(LayerNotes::Count& count, const std::string& path) {
    if (count.count++ == 0) {
        count.first = path;
    }
}

} // namespace

std::vector<std::string> LayerNotes::lines() const {
    std::vector<std::string> lines;
    const auto add = [&](const Count& count, std::string_view what, std::string_view because) {
        if (count.count > 0) {
            lines.push_back(fmt::format("{} {} (/{}{}): {}",
                                        count.count,
                                        what,
                                        printable(count.first),
                                        count.count > 1 ? ", …" : "",
                                        because));
        }
    };
    add(devices, "devices are left out", "a container gets its own /dev");
    add(owners, "files belong to root instead", "this user has no ids for their owners");
    add(attributes,
        "extended attributes are left out",
        "this user may not set them, or they are those of overlays");
    return lines;
}

Result<LayerTree> LayerTree::open(const fs::path& root) {
    CYBELE_TRY(auto directory, images::RootDirectory::open(root));
    return LayerTree(std::move(directory));
}

void LayerTree::written(const std::string& path) {
    for (std::string_view rest = path; !rest.empty(); rest = folder_of_path(rest)) {
        if (!written_.emplace(rest).second) {
            return; // and so are the folders above
        }
    }
}

/// Opens the folder, made where the layer does not say it before what is in it.
Result<UniqueFd> LayerTree::folder_for(const std::string& path) {
    UniqueFd fd = root_.open_inside(path, O_PATH | O_DIRECTORY);
    if (fd.valid()) {
        return fd;
    }
    if (errno != ENOENT && errno != ENOTDIR) {
        return errno == ELOOP ? hostile(path, "its folder is a loop of links")
                              : cannot(path, errno);
    }
    CYBELE_TRY(const UniqueFd parent, folder_for(std::string(folder_of_path(path))));
    const std::string name(base_of_path(path));
    struct stat status {};
    if (::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISLNK(status.st_mode)) {
            return hostile(path,
                           "it is a link that leads to no folder inside the root, and the "
                           "layer writes through it");
        }
        CYBELE_CHECK(remove_at(parent.get(), name, path));
    }
    if (::mkdirat(parent.get(), name.c_str(), 0755) != 0) {
        return cannot(path, errno);
    }
    fd.reset(::openat(parent.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid()) {
        return cannot(path, errno);
    }
    return fd;
}

Result<LayerTree::Spot> LayerTree::spot_of(const std::string& path) {
    const std::string folder(folder_of_path(path));
    if (!has_folder_ || folder != folder_path_) {
        has_folder_ = false;
        CYBELE_TRY(folder_, folder_for(folder));
        folder_path_ = folder;
        has_folder_ = true;
    }
    return Spot{folder_.get(), std::string(base_of_path(path)), path};
}

/// Removes what has the name, unless it is a folder and may stay.
Result<void> LayerTree::clear(const Spot& spot, Folders folders) {
    struct stat status {};
    if (::fstatat(spot.folder, spot.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? Result<void>() : cannot(spot.path, errno);
    }
    if (folders == Folders::kStay && S_ISDIR(status.st_mode)) {
        return {};
    }
    if (S_ISDIR(status.st_mode)) {
        folders_.erase(folders_.lower_bound(spot.path + "/"),
                       folders_.lower_bound(spot.path + "0"));
        folders_.erase(spot.path);
    }
    return remove_at(spot.folder, spot.name, spot.path);
}

/// Of a name: what lower layers have there. What this layer wrote stays.
Result<void> LayerTree::remove_lower(const std::string& path) {
    if (written_.contains(path)) {
        const UniqueFd fd = root_.open_inside(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
        return fd.valid() ? remove_lower_children(path) : Result<void>();
    }
    const UniqueFd folder = root_.open_inside(folder_of_path(path), O_PATH | O_DIRECTORY);
    if (!folder.valid()) {
        return {};
    }
    has_folder_ = false;
    return remove_at(folder.get(), std::string(base_of_path(path)), path);
}

Result<void> LayerTree::remove_lower_children(const std::string& path) {
    for (const std::string& name : root_.list(path)) {
        std::string child = path;
        child += path.empty() ? "" : "/";
        child += name;
        CYBELE_CHECK(remove_lower(child));
    }
    return {};
}

Result<void> LayerTree::white_out(const std::string& path, std::string_view name) {
    const std::string folder(folder_of_path(path));
    if (name == kOpaque) {
        return remove_lower_children(folder);
    }
    if (name.starts_with(kUnionFs)) {
        return {};
    }
    const std::string gone(name.substr(kWhiteout.size()));
    if (gone.empty() || gone == "." || gone == "..") {
        return hostile(path, "it is a whiteout that names no file");
    }
    return remove_lower(folder.empty() ? gone : folder + "/" + gone);
}

/// False: it belongs to root instead.
bool LayerTree::set_owner(archive_entry* entry, const Spot& spot) {
    const auto uid = static_cast<uid_t>(archive_entry_uid(entry));
    const auto gid = static_cast<gid_t>(archive_entry_gid(entry));
    if (::fchownat(spot.folder, spot.name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) == 0) {
        return true;
    }
    note(notes_.owners, spot.path);
    return false;
}

/// Attributes by which overlays are steered: an image has none of its own, and a step's layer that
/// holds them would hide or move what is below it.
bool steers_overlays(std::string_view name) {
    return name.starts_with("trusted.") || name.starts_with("user.overlay.");
}

void LayerTree::set_attributes(archive_entry* entry, const Spot& spot) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    archive_entry_xattr_reset(entry);
    while (archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
        if (steers_overlays(name) ||
            !set_attribute_at(spot.folder, spot.name, {name, value, size})) {
            note(notes_.attributes, fmt::format("{}: {}", spot.path, name));
        }
    }
}

Result<void> LayerTree::make_file(LayerReader& reader, archive_entry* entry, const Spot& spot) {
    const auto size = archive_entry_size(entry);
    bytes_ += static_cast<std::uint64_t>(std::max<la_int64_t>(size, 0));
    if (size < 0 || bytes_ > reader.limit()) {
        return fail(reader.too_much());
    }
    const UniqueFd fd(::openat(spot.folder,
                               spot.name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                               0600));
    if (!fd.valid()) {
        return cannot(spot.path, errno);
    }
    for (;;) {
        const void* block = nullptr;
        std::size_t count = 0;
        la_int64_t offset = 0;
        const int status = archive_read_data_block(reader.tar(), &block, &count, &offset);
        if (status == ARCHIVE_EOF) {
            break;
        }
        if (status < ARCHIVE_WARN) {
            return fail(reader.failure());
        }
        CYBELE_CHECK(
            write_block(fd.get(), {static_cast<const char*>(block), count}, offset, spot.path));
    }
    // Holes at the end have no block.
    if (::ftruncate(fd.get(), size) != 0) {
        return cannot(spot.path, errno);
    }
    const bool is_owned = set_owner(entry, spot);
    const mode_t mode = archive_entry_perm(entry) & (is_owned ? kModeBits : kModeBits & ~kSetIds);
    const timespec times[] = {entry_modified(entry), entry_modified(entry)};
    if (::fchmod(fd.get(), mode) != 0) {
        return cannot(spot.path, errno);
    }
    set_attributes(entry, spot);
    (void)::futimens(fd.get(), times);
    return {};
}

/// A further name of a file of this or a lower layer.
Result<void> LayerTree::make_link(archive_entry* entry, const Spot& spot) {
    const char* target = archive_entry_hardlink(entry);
    std::string_view text = target != nullptr ? target : archive_entry_hardlink_utf8(entry);
    while (text.starts_with('/')) { // some builders write them so; they mean the image's root
        text.remove_prefix(1);
    }
    CYBELE_TRY(const std::string path, clean_name(text));
    if (path == spot.path) {
        return {};
    }
    const UniqueFd folder = root_.open_inside(folder_of_path(path), O_PATH | O_DIRECTORY);
    const std::string name(base_of_path(path));
    struct stat from {};
    if (!folder.valid() || name.empty() ||
        ::fstatat(folder.get(), name.c_str(), &from, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(from.st_mode)) {
        return hostile(spot.path,
                       "it is a hard link to '" + printable(text) +
                           "', and the image has no such file");
    }
    struct stat to {};
    if (::fstatat(spot.folder, spot.name.c_str(), &to, AT_SYMLINK_NOFOLLOW) == 0 &&
        to.st_ino == from.st_ino && to.st_dev == from.st_dev) {
        return {};
    }
    CYBELE_CHECK(clear(spot));
    if (::linkat(folder.get(), name.c_str(), spot.folder, spot.name.c_str(), 0) != 0) {
        return cannot(spot.path, errno);
    }
    return {};
}

Result<void> LayerTree::make(LayerReader& reader, archive_entry* entry, const Spot& spot) {
    const char* name = spot.name.c_str();
    const timespec times[] = {entry_modified(entry), entry_modified(entry)};
    switch (archive_entry_filetype(entry)) {
    case AE_IFDIR:
        CYBELE_CHECK(clear(spot, Folders::kStay));
        if (::mkdirat(spot.folder, name, 0700) != 0 && errno != EEXIST) {
            return cannot(spot.path, errno);
        }
        (void)set_owner(entry, spot);
        set_attributes(entry, spot);
        folders_[spot.path] = {archive_entry_perm(entry) & kModeBits, entry_modified(entry)};
        return {};
    case AE_IFREG:
        CYBELE_CHECK(clear(spot));
        return make_file(reader, entry, spot);
    case AE_IFLNK: {
        CYBELE_CHECK(clear(spot));
        has_folder_ = false; // the folder looked for last may be found through it
        const char* target = archive_entry_symlink(entry);
        target = target != nullptr ? target : archive_entry_symlink_utf8(entry);
        if (target == nullptr || ::symlinkat(target, spot.folder, name) != 0) {
            return cannot(spot.path, target == nullptr ? EINVAL : errno);
        }
        (void)set_owner(entry, spot);
        (void)::utimensat(spot.folder, name, times, AT_SYMLINK_NOFOLLOW);
        return {};
    }
    case AE_IFIFO:
        CYBELE_CHECK(clear(spot));
        if (::mkfifoat(spot.folder, name, 0600) != 0 ||
            ::fchmodat(spot.folder, name, archive_entry_perm(entry) & kModeBits, 0) != 0) {
            return cannot(spot.path, errno);
        }
        (void)set_owner(entry, spot);
        return {};
    case AE_IFSOCK:
        return {};
    case AE_IFCHR:
    case AE_IFBLK:
        if (!spot.path.starts_with("dev/")) {
            return hostile(spot.path, "it is a device node outside of /dev");
        }
        note(notes_.devices, spot.path);
        return {};
    default:
        return hostile(spot.path, "it is neither file nor folder nor link");
    }
}

/// The root itself: its mode and times.
Result<void> LayerTree::take_root(archive_entry* entry) {
    if (archive_entry_filetype(entry) != AE_IFDIR) {
        return hostile("/", "the root is a folder, and nothing else");
    }
    folders_[""] = {archive_entry_perm(entry) & kModeBits, entry_modified(entry)};
    return {};
}

Result<void> LayerTree::take(LayerReader& reader, archive_entry* entry) {
    const char* told = name_of(entry);
    if (told == nullptr) {
        return hostile("?", "its name cannot be read");
    }
    CYBELE_TRY(const std::string path, clean_name(told));
    if (path.empty()) {
        return take_root(entry);
    }
    const std::string_view name = base_of_path(path);
    if (name.starts_with(kWhiteout)) {
        return white_out(path, name);
    }
    if (path.find("/.wh.") != std::string::npos || path.starts_with(kWhiteout)) {
        return hostile(path, "a whiteout is not a folder");
    }
    CYBELE_TRY(const Spot spot, spot_of(path));
    const bool is_link =
        archive_entry_hardlink(entry) != nullptr || archive_entry_hardlink_utf8(entry) != nullptr;
    CYBELE_CHECK(is_link ? make_link(entry, spot) : make(reader, entry, spot));
    written(path);
    return {};
}

/// Deepest first, so that no mode hinders and no time changes again.
Result<void> LayerTree::finish_folders() {
    for (auto it = folders_.rbegin(); it != folders_.rend(); ++it) {
        const UniqueFd fd = root_.open_inside(it->first, O_RDONLY | O_DIRECTORY);
        const timespec times[] = {it->second.modified, it->second.modified};
        if (!fd.valid()) {
            continue; // a later entry of the layer removed it
        }
        if (::fchmod(fd.get(), it->second.mode) != 0) {
            return cannot(it->first, errno);
        }
        (void)::futimens(fd.get(), times);
    }
    return {};
}

Result<void> LayerTree::apply(const registry::OciLayer& layer) {
    written_.clear();
    folders_.clear();
    bytes_ = 0;
    has_folder_ = false;
    CYBELE_TRY(LayerReader reader, LayerReader::open(layer));
    for (archive_entry* entry = nullptr;;) {
        const int status = archive_read_next_header(reader.tar(), &entry);
        if (status == ARCHIVE_EOF) {
            break;
        }
        if (status < ARCHIVE_WARN) {
            return fail(reader.failure());
        }
        CYBELE_CHECK(take(reader, entry));
    }
    CYBELE_CHECK(reader.finish());
    return finish_folders();
}

} // namespace cybele::builder
