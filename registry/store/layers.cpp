// SPDX-License-Identifier: Apache-2.0
#include "registry/store/layers.hpp"

#include "registry/store/partial.hpp"
#include "support/file.hpp"
#include "support/lock.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLayerDigestStart = 7; ///< "sha256:"
constexpr std::size_t kFolder = 2;           ///< digits of a folder's name
constexpr unsigned kLayerMode = 0444;

} // namespace

fs::path Layers::path_of(std::string_view digest) const {
    const std::string digits(digest.substr(kLayerDigestStart));
    return place_.root() / "layers" / digits.substr(0, kFolder) / digits.substr(kFolder);
}

/// With a lock where it is there and as long as it should be.
HeldLayer Layers::hold(std::string_view digest, std::uint64_t size) const {
    HeldLayer held;
    held.path = path_of(digest);
    held.is_own = true;
    for (;;) {
        UniqueFd fd(::open(held.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
        struct stat status {};
        if (!fd.valid() || !take_lock(fd.get(), LOCK_SH) || ::fstat(fd.get(), &status) != 0) {
            return held;
        }
        if (status.st_nlink == 0) {
            continue; // gc was quicker
        }
        if (static_cast<std::uint64_t>(status.st_size) == size) {
            held.lock = std::move(fd);
        }
        return held;
    }
}

Result<HeldLayer>
Layers::get(std::string_view digest, std::uint64_t size, std::int64_t now, const Fill& fill) const {
    const auto mark = [&](const fs::path& path) {
        const timespec times[] = {{now, 0}, {now, 0}};
        (void)::utimensat(AT_FDCWD, path.c_str(), times, 0); // another user's file keeps its time
    };
    HeldLayer held = hold(digest, size);
    if (held.lock.valid()) {
        held.was_there = true;
        mark(held.path);
        return held;
    }
    const fs::path temporary =
        place_.temporary() / ("pull-" + std::string(digest.substr(kLayerDigestStart)));
    CYBELE_TRY(auto opened, Partial::open(temporary));
    std::optional<Partial> partial(std::move(opened));
    held = hold(digest, size);
    if (held.lock.valid()) { // another process was quicker
        partial->remove();
        held.was_there = true;
        return held;
    }
    if (auto filled = fill(temporary); !filled) {
        struct stat status {};
        if (::stat(temporary.c_str(), &status) == 0 && status.st_size == 0) {
            partial->remove();
        }
        return fail(std::move(filled).error());
    }
    CYBELE_CHECK(partial->finish(kLayerMode));
    const fs::path path = path_of(digest);
    CYBELE_CHECK(place_.make_folder(path.parent_path().parent_path()));
    CYBELE_CHECK(place_.make_folder(path.parent_path()));
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
        return fail(system_error("cannot put a layer into the store as " + printable(path.native()),
                                 errno));
    }
    sync_folder_of(path);
    partial.reset(); // its lock is on the same file
    held = hold(digest, size);
    mark(path);
    if (!held.lock.valid()) {
        return fail(ErrorCode::kVerification,
                    problem("layer-wrong-size",
                            "the layer " + std::string(digest) + " is not what it should be"),
                    "it has another size than its manifest says",
                    "do not use the image; report this to its author");
    }
    return held;
}

void Layers::forget(std::string_view digest) const {
    (void)::unlink(path_of(digest).c_str());
}

std::vector<LayerFile> Layers::list() const {
    std::vector<LayerFile> found;
    std::error_code error;
    for (auto it = fs::recursive_directory_iterator(place_.root() / "layers", error);
         !error && it != fs::recursive_directory_iterator();
         it.increment(error)) {
        struct stat status {};
        if (::lstat(it->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
            found.push_back(
                {it->path(), static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec});
        }
    }
    std::sort(found.begin(), found.end(), [](const LayerFile& a, const LayerFile& b) {
        return std::tie(a.used, a.path) < std::tie(b.used, b.path);
    });
    return found;
}

bool Layers::remove(const LayerFile& layer) {
    const UniqueFd fd(::open(layer.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    return fd.valid() && take_lock(fd.get(), LOCK_EX | LOCK_NB) &&
           ::unlink(layer.path.c_str()) == 0;
}

} // namespace cybele::registry
