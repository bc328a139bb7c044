// SPDX-License-Identifier: Apache-2.0
#include "images/sif/disk.hpp"
#include "images/sif/format.hpp"
#include "images/sif/image.hpp"
#include "images/sif/journal.hpp"
#include "images/sif/judge.hpp"
#include "images/sif/kinds.hpp"
#include "support/lock.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <span>

#include <fmt/format.h>
#include <sys/file.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

/// Entries of the table that are read at a time, so that a huge table costs no second copy.
constexpr std::uint64_t kEntries = 64;

std::string recover_command(const fs::path& path) {
    return "cybelectl sif recover " + shell_quote(path.native());
}

tl::unexpected<Error> damaged_image(const fs::path& path, const Reason& reason) {
    return fail(
        ErrorCode::kInput,
        problem("sif-damaged", fmt::format("the image {} is damaged", printable(path.native()))),
        reason,
        has_journal_file(path)
            ? "a journal of a change is next to it; finish the change: " + recover_command(path)
            : "copy, pull or build the image again");
}

Result<void> check_version(std::string_view start, std::uint64_t size, const fs::path& path) {
    const std::string_view magic =
        start.substr(std::min(start.size(), kLaunchScriptSize), kSifMagic.size());
    if (magic != kSifMagic) {
        return no_sif(path, start, size);
    }
    if (size < kHeaderSize) {
        return damaged_image(path, fmt::format("it ends within its header, at byte {}", size));
    }
    const std::string_view version =
        start.substr(kLaunchScriptSize + kSifMagic.size(), kSifVersion.size());
    if (version != kSifVersion) {
        return fail(ErrorCode::kInput,
                    problem("sif-version",
                            fmt::format("{} has an unknown version of the SIF format",
                                        printable(path.native()))),
                    fmt::format("it says version {}; only 01 is known",
                                printable(version.substr(0, version.find_last_not_of('\0') + 1))),
                    "build the image again, or use a newer cybelectl");
    }
    return {};
}

} // namespace

/// Reads one image, by its own bytes alone.
class ImageReader {
public:
    ImageReader(UniqueFd fd, fs::path path) {
        image_.fd_ = std::move(fd);
        image_.path_ = std::move(path);
    }

    Result<void> read() {
        const fs::path& path = image_.path_;
        image_.descriptors_.clear();
        CYBELE_TRY(const std::uint64_t size, file_size(image_.fd(), path));
        std::string start(static_cast<std::size_t>(std::min(size, kKindBytes)), '\0');
        CYBELE_CHECK(read_bytes(0, start));
        CYBELE_CHECK(check_version(start, size, path));
        image_.header_ =
            decode_header(std::as_bytes(std::span<const char>(start)).first<kHeaderSize>());
        if (const Reason reason = judge_header(image_.header_, size); !reason.empty()) {
            return damaged_image(path, reason);
        }
        return read_table(size);
    }

    /// Refuses an image whose change was interrupted; waits for one that is under way.
    [[nodiscard]] Result<void> check_settled() const {
        if (!is_journal_of(image_.fd(), image_.path_)) {
            return {};
        }
        (void)take_lock(image_.fd(), LOCK_SH); // no change of ours goes on without the other kind
        const bool is_left = is_journal_of(image_.fd(), image_.path_);
        (void)::flock(image_.fd(), LOCK_UN);
        if (!is_left) {
            return {};
        }
        return fail(ErrorCode::kInput,
                    problem("sif-change-interrupted",
                            fmt::format("a change of {} was interrupted",
                                        printable(image_.path_.native()))),
                    "its journal is next to it, and the image is not read before the change is "
                    "finished or undone",
                    "run: " + recover_command(image_.path_));
    }

    /// Stands for header and table as they are now; two equal ones: nobody wrote between them.
    [[nodiscard]] Result<std::size_t> stamp() const {
        CYBELE_TRY(const std::uint64_t size, file_size(image_.fd(), image_.path_));
        std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(size, kHeaderSize)),
                          '\0');
        const auto take = [&](std::uint64_t at) {
            return read_at(
                image_.fd(), at, std::as_writable_bytes(std::span<char>(bytes)), image_.path_);
        };
        CYBELE_CHECK(take(0));
        std::size_t sum = std::hash<std::string_view>()(bytes);
        if (bytes.size() < kHeaderSize) {
            return sum;
        }
        const Header header =
            decode_header(std::as_bytes(std::span<const char>(bytes)).first<kHeaderSize>());
        if (!judge_header(header, size).empty()) {
            return sum;
        }
        for (std::uint64_t done = 0; done < header.descriptors_size; done += bytes.size()) {
            bytes.resize(static_cast<std::size_t>(
                std::min(kEntries * kDescriptorSize, header.descriptors_size - done)));
            CYBELE_CHECK(take(header.descriptors_offset + done));
            constexpr std::size_t kMix = 0x9e3779b97f4a7c15U;
            sum = (sum ^ std::hash<std::string_view>()(bytes)) * kMix;
        }
        return sum;
    }

    /// Waits until no change is under way.
    void wait() const {
        (void)take_lock(image_.fd(), LOCK_SH); // where there are no locks, nothing is lost by it
        (void)::flock(image_.fd(), LOCK_UN);
    }

    Image take() {
        return std::move(image_);
    }

    /// Of a file that another process may be changing. While it writes header and table its journal
    /// exists; when that was not seen and header and table are the same before and after, what was
    /// read between is complete.
    Result<Image> read_shared() {
        constexpr int kAttempts = 8;
        for (int attempt = 1;; ++attempt) {
            CYBELE_TRY(const std::size_t before, stamp());
            CYBELE_CHECK(check_settled());
            const Result<void> done = read();
            CYBELE_TRY(const std::size_t after, stamp());
            if (before == after || attempt == kAttempts) {
                CYBELE_CHECK(done);
                return take();
            }
            wait();
        }
    }

private:
    [[nodiscard]] Result<void> read_bytes(std::uint64_t offset, std::span<char> into) const {
        return read_at(image_.fd(), offset, std::as_writable_bytes(into), image_.path_);
    }

    /// The used entries of the table: judged as a whole first, of little memory, then kept.
    Result<void> read_table(std::uint64_t size) {
        std::vector<Extent> extents;
        std::vector<Descriptor> primaries; // two are one too many
        std::size_t used = 0;
        CYBELE_CHECK(each_entry(size, [&](Descriptor&& one) {
            ++used;
            if (one.size > 0) {
                extents.push_back({one.offset, one.size, one.id});
            }
            if (one.part_type() == PartType::kPrimary && primaries.size() < 2) {
                primaries.push_back(std::move(one));
            }
        }));
        Reason reason = judge_overlaps(extents);
        if (reason.empty()) {
            reason = judge_primary(primaries, image_.header_);
        }
        if (!reason.empty()) {
            return damaged_image(image_.path_, reason);
        }
        image_.descriptors_.reserve(used);
        return each_entry(size,
                          [&](Descriptor&& one) { image_.descriptors_.push_back(std::move(one)); });
    }

    /// Calls `take` with each used entry, judged for itself.
    template <typename Take>
    Result<void> each_entry(std::uint64_t size, const Take& take) {
        const Header& header = image_.header_;
        std::vector<char> buffer;
        std::uint64_t unused = 0;
        for (std::uint64_t first = 0; first < header.descriptors_total; first += kEntries) {
            const std::uint64_t count = std::min(kEntries, header.descriptors_total - first);
            buffer.resize(static_cast<std::size_t>(count) * kDescriptorSize);
            CYBELE_CHECK(read_bytes(header.descriptors_offset + first * kDescriptorSize, buffer));
            for (std::size_t i = 0; i < count; ++i) {
                const auto entry =
                    std::as_bytes(std::span<const char>(buffer)).subspan(i * kDescriptorSize);
                auto descriptor = decode_descriptor(entry.first<kDescriptorSize>());
                if (!descriptor) {
                    ++unused;
                    continue;
                }
                CYBELE_CHECK(judge_entry(*descriptor, first + i + 1, size));
                descriptor->group &= ~kGroupMask;
                take(std::move(*descriptor));
            }
        }
        if (unused != header.descriptors_free) {
            return damaged_image(image_.path_,
                                 fmt::format("its header claims {} free descriptors, but {} are",
                                             header.descriptors_free,
                                             unused));
        }
        return {};
    }

    [[nodiscard]] Result<void>
    judge_entry(const Descriptor& descriptor, std::uint64_t number, std::uint64_t size) const {
        if (descriptor.id != number) {
            return damaged_image(image_.path_,
                                 fmt::format("entry {} of its descriptor table has the id {}",
                                             number,
                                             descriptor.id));
        }
        if (const Reason reason = judge_descriptor(descriptor, image_.header_, size);
            !reason.empty()) {
            return damaged_image(image_.path_, reason);
        }
        return {};
    }

    Image image_;
};

namespace {

auto opening(const fs::path& path) {
    return during("opening the image '" + printable(path.native()) + "'");
}

} // namespace

Result<Image> Image::open(UniqueFd fd, const fs::path& path) {
    ImageReader reader(std::move(fd), path);
    CYBELE_CHECK(reader.read().map_error(opening(path)));
    return reader.take();
}

Result<Image> Image::open(const fs::path& path) {
    CYBELE_CHECK(check_is_file(path).map_error(opening(path)));
    CYBELE_TRY(UniqueFd fd, open_for_reading(path).map_error(opening(path)));
    return ImageReader(std::move(fd), path).read_shared().map_error(opening(path));
}

Result<Image> Image::open_shared(UniqueFd fd, const fs::path& path) {
    CYBELE_CHECK(check_is_file(path).map_error(opening(path)));
    return ImageReader(std::move(fd), path).read_shared().map_error(opening(path));
}

} // namespace cybele::images
