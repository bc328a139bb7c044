// SPDX-License-Identifier: Apache-2.0
#include "images/sif/journal.hpp"

#include "images/sif/disk.hpp"
#include "images/sif/format.hpp"
#include "support/digest.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kJournalMagic = "SIF-JOURNAL-01\n";
constexpr std::size_t kJournalDigestSize = 32;
constexpr std::uint64_t kNoLength = UINT64_MAX;
/// Every entry of the largest table, twice, and what goes with it.
constexpr std::size_t kMaximumJournal = kMaximumDescriptors * 2 * 1024;

/// Takes numbers and texts from the front of some bytes; once they end, everything is empty.
class Taker {
public:
    explicit Taker(std::string_view bytes) : bytes_(bytes) {}

    std::uint64_t number() {
        const std::string_view front = text(sizeof(std::uint64_t));
        return front.empty() ? 0
                             : decode_little_endian<std::uint64_t>(std::as_bytes(std::span(front)));
    }
    std::string_view text(std::uint64_t size) {
        if (size > bytes_.size()) {
            bytes_ = {};
            is_whole_ = false;
            return {};
        }
        const std::string_view front = bytes_.substr(0, size);
        bytes_.remove_prefix(front.size());
        return front;
    }
    [[nodiscard]] bool is_whole() const {
        return is_whole_;
    }
    [[nodiscard]] std::string_view rest() const {
        return bytes_;
    }

private:
    std::string_view bytes_;
    bool is_whole_ = true;
};

std::string digest_text(std::string_view bytes) {
    const Digest digest = plain_sha256(bytes);
    return {digest.begin(), digest.end()};
}

/// Fills what follows the first part; false when it is torn.
bool decode_end(Taker& taker, Journal& journal) {
    const std::uint64_t length = taker.number();
    if (length != kNoLength) {
        journal.length_after = length;
    }
    const std::uint64_t pieces = taker.number();
    for (std::uint64_t i = 0; i < pieces && taker.is_whole(); ++i) {
        JournalPiece piece;
        piece.offset = taker.number();
        const std::uint64_t size = taker.number();
        piece.before = taker.text(size);
        piece.after = taker.text(size);
        journal.pieces.push_back(std::move(piece));
    }
    const std::uint64_t zeros = taker.number();
    for (std::uint64_t i = 0; i < zeros && taker.is_whole(); ++i) {
        journal.zeros.push_back({taker.number(), taker.number()});
    }
    return taker.is_whole();
}

bool is_trusted(const struct stat& journal, const struct stat& image) {
    const bool is_owned =
        journal.st_uid == image.st_uid || journal.st_uid == 0 || journal.st_uid == ::geteuid();
    return S_ISREG(journal.st_mode) && is_owned && (journal.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// How a file begins: as a journal, as one that was torn off early, or as something else.
enum class JournalStart { kWhole, kTorn, kOther };

JournalStart starts_as_journal(int fd) {
    std::array<char, kJournalMagic.size()> start{};
    const ssize_t count = ::pread(fd, start.data(), start.size(), 0);
    if (count < 0 || !kJournalMagic.starts_with({start.data(), static_cast<std::size_t>(count)})) {
        return JournalStart::kOther;
    }
    return static_cast<std::size_t>(count) == start.size() ? JournalStart::kWhole
                                                           : JournalStart::kTorn;
}

/// The file beside an image, if it can be trusted; it may still be something else than a journal.
UniqueFd open_journal(int image_fd, const fs::path& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat journal {};
    struct stat image {};
    if (fd.valid() && ::fstat(fd.get(), &journal) == 0 && ::fstat(image_fd, &image) == 0 &&
        is_trusted(journal, image)) {
        return fd;
    }
    return {};
}

/// How a run of bytes in the file compares with a piece.
JournalState compare(const JournalPiece& piece, std::string_view found) {
    if (found == piece.before) {
        return JournalState::kUndone;
    }
    if (found == piece.after) {
        return JournalState::kDone;
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i] != piece.before[i] && found[i] != piece.after[i]) {
            return JournalState::kForeign;
        }
    }
    return JournalState::kPartial;
}

/// Not by the device: a network file system has another number on each node.
bool is_same_file(const Journal& journal, const struct stat& status) {
    return journal.inode == status.st_ino;
}

/// Header and table are all that a change of ours rewrites.
bool is_of_table(const JournalPiece& piece, const Journal& journal) {
    const Header before = decode_header(
        std::as_bytes(std::span<const char>(journal.header_before)).first<kHeaderSize>());
    return piece.offset <= before.data_offset &&
           piece.after.size() <= before.data_offset - piece.offset;
}

} // namespace

fs::path journal_path(const fs::path& image) {
    return image.native() + ".journal";
}

std::string encode_journal_start(const Journal& journal) {
    std::string bytes(kJournalMagic);
    append_little_endian(bytes, journal.device);
    append_little_endian(bytes, journal.inode);
    append_little_endian(bytes, journal.length_before);
    append_padded(bytes, journal.header_before, kHeaderSize);
    return bytes + digest_text(bytes);
}

std::string encode_journal_end(const Journal& journal) {
    std::string bytes;
    append_little_endian(bytes, journal.length_after.value_or(kNoLength));
    append_little_endian(bytes, std::uint64_t{journal.pieces.size()});
    for (const JournalPiece& piece : journal.pieces) {
        append_little_endian(bytes, piece.offset);
        append_little_endian(bytes, std::uint64_t{piece.after.size()});
        bytes += piece.before;
        bytes += piece.after;
    }
    append_little_endian(bytes, std::uint64_t{journal.zeros.size()});
    for (const JournalRange& range : journal.zeros) {
        append_little_endian(bytes, range.offset);
        append_little_endian(bytes, range.size);
    }
    return bytes + digest_text(bytes);
}

std::optional<Journal> decode_journal(std::string_view bytes) {
    Taker taker(bytes);
    Journal journal;
    const bool is_ours = taker.text(kJournalMagic.size()) == kJournalMagic;
    journal.device = taker.number();
    journal.inode = taker.number();
    journal.length_before = taker.number();
    journal.header_before = taker.text(kHeaderSize);
    const std::string_view start = bytes.substr(0, bytes.size() - taker.rest().size());
    if (!is_ours || taker.text(kJournalDigestSize) != digest_text(start) || !taker.is_whole()) {
        return std::nullopt;
    }
    const std::string_view end = taker.rest();
    if (end.size() > kJournalDigestSize &&
        digest_text(end.substr(0, end.size() - kJournalDigestSize)) ==
            end.substr(end.size() - kJournalDigestSize)) {
        journal.is_committed = decode_end(taker, journal);
    }
    return journal;
}

Result<std::optional<Journal>> find_journal(int image_fd, const fs::path& image) {
    const fs::path path = journal_path(image);
    const UniqueFd fd = open_journal(image_fd, path);
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0 ||
        static_cast<std::uint64_t>(status.st_size) > kMaximumJournal) {
        return std::nullopt;
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    if (!read_at(fd.get(), 0, std::as_writable_bytes(std::span<char>(bytes)), path)) {
        return std::nullopt; // cut off while it was read: its change was undone or ended
    }
    return decode_journal(bytes);
}

Result<JournalState> judge_journal(const Journal& journal, int image_fd, const fs::path& image) {
    struct stat status {};
    if (::fstat(image_fd, &status) != 0) {
        return fail(system_error("cannot examine " + printable(image.native()), errno));
    }
    const auto length = static_cast<std::uint64_t>(status.st_size);
    const bool is_same = is_same_file(journal, status);
    std::vector<JournalPiece> pieces = journal.pieces;
    if (!journal.is_committed) {
        pieces = {{0, journal.header_before, journal.header_before}};
    }
    bool is_begun = false;
    bool is_ended = true;
    for (const JournalPiece& piece : pieces) {
        if (piece.offset > length || piece.after.size() > length - piece.offset ||
            !is_of_table(piece, journal)) {
            return JournalState::kForeign;
        }
        std::string found(piece.after.size(), '\0');
        CYBELE_CHECK(
            read_at(image_fd, piece.offset, std::as_writable_bytes(std::span<char>(found)), image));
        const JournalState state = compare(piece, found);
        if (state == JournalState::kForeign) {
            return state;
        }
        is_begun = is_begun || state != JournalState::kUndone;
        is_ended = is_ended && (state == JournalState::kDone || piece.before == piece.after);
    }
    if (!is_begun) {
        return is_same ? JournalState::kUndone : JournalState::kForeign;
    }
    if (is_ended) {
        return is_same ? JournalState::kDone : JournalState::kForeign;
    }
    return JournalState::kPartial; // whatever its inode: it was copied or restored half changed
}

Result<void> apply_journal(const Journal& journal,
                           int image_fd,
                           const fs::path& image,
                           const StepHook& on_step) {
    for (const JournalPiece& piece : journal.pieces) {
        on_step("piece");
        CYBELE_CHECK(write_at(image_fd, piece.offset, piece.after, image));
    }
    on_step("sync pieces");
    CYBELE_CHECK(sync_file(image_fd, image));
    // Only what no entry of the table on the disk names any more is destroyed, and nothing is made
    // longer: whoever wrote the journal could fill the disk.
    CYBELE_TRY(const std::uint64_t length, file_size(image_fd, image));
    for (const JournalRange& range : journal.zeros) {
        on_step("zero");
        const std::uint64_t begin = std::min(range.offset, length);
        CYBELE_CHECK(zero_at(image_fd, begin, std::min(range.size, length - begin), image));
    }
    if (journal.length_after) {
        on_step("cut");
        CYBELE_CHECK(set_length(image_fd, std::min(*journal.length_after, length), image));
    }
    if (!journal.zeros.empty() || journal.length_after) {
        on_step("sync end");
        CYBELE_CHECK(sync_file(image_fd, image));
    }
    return {};
}

bool is_journal_of(int image_fd, const fs::path& image) {
    const fs::path path = journal_path(real_path(image_fd, image));
    struct stat of_image {};
    if (::fstat(image_fd, &of_image) != 0) {
        return false;
    }
    errno = 0;
    const UniqueFd fd = open_journal(image_fd, path);
    if (!fd.valid()) {
        struct stat hidden {};
        return errno == EACCES && ::lstat(path.c_str(), &hidden) == 0 &&
               is_trusted(hidden, of_image) && hidden.st_size > 0;
    }
    std::string start(kJournalMagic.size() + 2 * sizeof(std::uint64_t), '\0');
    Taker taker(start);
    return read_at(fd.get(), 0, std::as_writable_bytes(std::span<char>(start)), path) &&
           taker.text(kJournalMagic.size()) == kJournalMagic &&
           taker.text(sizeof(std::uint64_t)).size() == sizeof(std::uint64_t) && // the device
           taker.number() == of_image.st_ino;
}

bool has_journal_file(const fs::path& image) {
    const fs::path path = journal_path(image);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    return fd.valid() && starts_as_journal(fd.get()) == JournalStart::kWhole;
}

Result<Settled> settle_image(int image_fd, const fs::path& image, Follow follow) {
    CYBELE_TRY(const auto journal, find_journal(image_fd, image));
    if (!journal) { // killed while its first part was written
        CYBELE_TRY(const bool is_removed, remove_journal(image_fd, image));
        return is_removed ? Settled::kUndone : Settled::kNothing;
    }
    struct stat status {};
    if (::fstat(image_fd, &status) != 0) {
        return fail(system_error("cannot examine " + printable(image.native()), errno));
    }
    CYBELE_TRY(const JournalState state, judge_journal(*journal, image_fd, image));
    if (state == JournalState::kForeign ||
        (follow == Follow::kOwn && !is_same_file(*journal, status))) {
        return Settled::kForeign;
    }
    if (state == JournalState::kUndone) {
        if (static_cast<std::uint64_t>(status.st_size) > journal->length_before) {
            CYBELE_CHECK(set_length(image_fd, journal->length_before, image));
        }
    } else {
        CYBELE_CHECK(apply_journal(*journal, image_fd, image, [](std::string_view) {}));
    }
    CYBELE_CHECK(remove_journal(image_fd, image));
    return state == JournalState::kUndone ? Settled::kUndone : Settled::kFinished;
}

Result<bool> remove_journal(int image_fd, const fs::path& image) {
    const fs::path path = journal_path(image);
    const UniqueFd fd = open_journal(image_fd, path);
    // A killed process leaves its first part torn, too; a user's own file of that name stays.
    if (!fd.valid() || starts_as_journal(fd.get()) == JournalStart::kOther) {
        return false;
    }
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return fail(system_error("cannot remove " + printable(path.native()), errno));
    }
    sync_folder_of(path); // else a power failure may bring it back
    return true;
}

} // namespace cybele::images
