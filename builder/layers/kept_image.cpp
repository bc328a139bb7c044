// SPDX-License-Identifier: Apache-2.0
#include "builder/layers/kept_image.hpp"

#include "images/sif/image.hpp"
#include "images/sif/sif.hpp"
#include "support/file_copy.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <span>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;
using registry::Cache;

constexpr std::string_view kFormat = "cybelectl image 1 ";
constexpr std::size_t kFirstLine = kFormat.size() + 11; ///< with the head's size in ten digits
constexpr std::size_t kMostHead = std::size_t{64} << 20U;
constexpr const char* kSteps = "steps";

registry::CacheEntry step_entry(const fs::path& file) {
    return {kSteps, file.stem().native(), file, 0, 0, {}};
}

/// Whether the name still leads to the open file.
bool is_file_of(int fd, const fs::path& name) {
    struct stat own {};
    struct stat named {};
    return ::fstat(fd, &own) == 0 && ::lstat(name.c_str(), &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

/// A layer and what the cache says of it, by its descriptor.
struct NotedLayer {
    int fd = -1;
    std::string line;
};

/// Those that a range lies in.
std::vector<NotedLayer> note_layers(const std::vector<LayerFile>& layers,
                                    const std::vector<images::CopiedRange>& ranges) {
    std::vector<NotedLayer> noted;
    for (const LayerFile& layer : layers) {
        if (!contains(ranges, layer.fd, &images::CopiedRange::fd)) {
            continue;
        }
        const auto digest = Cache::digest_of(step_entry(layer.entry));
        if (layer.fd >= 0 && digest && is_file_of(layer.fd, layer.entry)) {
            noted.push_back({layer.fd, layer.entry.filename().native() + " " + *digest});
        }
    }
    return noted;
}

/// The head, and which bytes of the image follow it.
struct Plan {
    std::string head;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> own; ///< offset, size

    void add_own(std::uint64_t offset, std::uint64_t bytes) {
        if (bytes > 0) {
            head += fmt::format("own {}\n", bytes);
            own.emplace_back(offset, bytes);
        }
    }
};

Plan plan_kept(std::uint64_t size,
               const std::vector<images::CopiedRange>& ranges,
               const std::vector<NotedLayer>& layers) {
    Plan plan;
    for (const NotedLayer& layer : layers) {
        plan.head += "layer " + layer.line;
    }
    std::uint64_t at = 0;
    for (const images::CopiedRange& range : ranges) {
        const auto layer = std::ranges::find(layers, range.fd, &NotedLayer::fd);
        if (layer == layers.end()) {
            continue;
        }
        plan.add_own(at, range.place - at);
        plan.head +=
            fmt::format("from {} {} {}\n", layer - layers.begin() + 1, range.offset, range.bytes);
        at = range.place + range.bytes;
    }
    plan.add_own(at, size - at);
    return plan;
}

Result<void> checked(const images::CopyEnd& end) {
    return end.ok() ? Result<void>()
                    : fail(system_error(end.is_source ? "cannot read the cached part of the image"
                                                      : "cannot write the image",
                                        end.code));
}

} // namespace

Result<void> keep_image(const fs::path& image,
                        const std::vector<images::CopiedRange>& ranges,
                        const std::vector<LayerFile>& layers,
                        const fs::path& to) {
    CYBELE_TRY(const UniqueFd from, open_for_reading(image));
    CYBELE_TRY(const std::uint64_t size, file_size(from.get(), image));
    const UniqueFd file(::open(to.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid()) {
        return fail(system_error("cannot write " + printable(to.native()), errno));
    }
    Plan plan = plan_kept(size, ranges, note_layers(layers, ranges));
    plan.head = fmt::format("image {}\n", size) + plan.head;
    plan.head = fmt::format("{}{:010}\n", kFormat, plan.head.size()) + plan.head;
    CYBELE_CHECK(write_all(file.get(), plan.head, to));
    std::uint64_t place = plan.head.size();
    for (const auto& [offset, bytes] : plan.own) {
        CYBELE_CHECK(checked(images::copy_bytes({from.get(), offset, file.get(), place, bytes})));
        place += bytes;
    }
    return {};
}

bool KeptImage::add_layer(const std::string& name,
                          const std::string& digest,
                          const fs::path& steps) {
    const fs::path file = steps / name;
    const registry::CacheEntry entry = step_entry(file);
    if (name.find('/') != std::string::npos || !Cache::use(entry) ||
        Cache::digest_of(entry) != digest) {
        return false;
    }
    auto fd = open_for_reading(file);
    if (!fd || !is_file_of(fd->get(), file)) {
        return false;
    }
    files_.push_back(std::move(*fd));
    return true;
}

bool KeptImage::read_head(const std::string& head, const fs::path& steps) {
    std::istringstream lines(head);
    std::string word;
    std::uint64_t bytes = 0;
    while (lines >> word) {
        Range range;
        if (word == "image") {
            lines >> bytes_;
        } else if (word == "squashfs") { // of earlier versions, for what nothing reads now
            std::uint64_t unused = 0;
            lines >> unused >> unused;
        } else if (word == "layer") {
            std::string name;
            std::string digest;
            std::string size;
            lines >> name >> digest >> size;
            if (!add_layer(name, fmt::format("{} {}\n", digest, size), steps)) {
                return false;
            }
        } else if (word == "own") {
            lines >> range.bytes;
            range.offset = own_;
            own_ += range.bytes;
            ranges_.push_back(range);
        } else if (word == "from") {
            lines >> range.file >> range.offset >> range.bytes;
            ranges_.push_back(range);
        } else {
            return false;
        }
        if (!lines || range.file >= files_.size()) {
            return false;
        }
        bytes += range.bytes;
    }
    return bytes == bytes_;
}

std::optional<KeptImage> KeptImage::open(const fs::path& file) {
    KeptImage kept;
    auto fd = open_for_reading(file);
    std::string first(kFirstLine, '\0');
    if (!fd || !read_at(fd->get(), 0, std::as_writable_bytes(std::span(first)), file) ||
        !first.starts_with(kFormat)) {
        return std::nullopt;
    }
    std::size_t size = 0;
    const char* const end = first.data() + first.size() - 1;
    if (std::from_chars(first.data() + kFormat.size(), end, size).ptr != end || size > kMostHead) {
        return std::nullopt;
    }
    std::string head(size, '\0');
    if (!read_at(fd->get(), kFirstLine, std::as_writable_bytes(std::span(head)), file)) {
        return std::nullopt;
    }
    kept.own_ = kFirstLine + size;
    kept.files_.push_back(std::move(*fd));
    const fs::path steps = file.parent_path().parent_path() / kSteps;
    return kept.read_head(head, steps) ? std::optional(std::move(kept)) : std::nullopt;
}

Result<void> KeptImage::write(int fd) const {
    std::uint64_t at = 0; // of the range, in the image
    for (const Range& range : ranges_) {
        CYBELE_CHECK(checked(
            images::copy_bytes({files_[range.file].get(), range.offset, fd, at, range.bytes})));
        at += range.bytes;
    }
    return {};
}

} // namespace cybele::builder
