// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The journal of a change that is made in an image's own file, IMAGE.journal beside it (0600).
///
/// It is written in two parts. The first, before anything is written: which file, its header and
/// its length. Then the new objects' bytes go where no object lies, and are synced. The second part
/// holds the old and the new header and table entries and ends with a digest; once it is on the
/// disk, the image's table and header are written. What the next change or `sif recover` finds:
///  * no second part, or table and header as they were before: nothing has happened; the file is
///    cut to its old length.
///  * table and header partly or completely new: the change is finished.
///  * anything else: the journal belongs to another file, and is ignored.
/// A reader takes nothing from a journal: it refuses the image, see is_journal_of().
namespace cybele::images {

/// One run of bytes that changes: the header, or an entry of the table.
struct JournalPiece {
    std::uint64_t offset = 0;
    std::string before;
    std::string after;
};

/// A range of a deleted object, to be overwritten with zeros.
struct JournalRange {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

struct Journal {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t length_before = 0;
    std::string header_before; ///< 128 bytes
    // The second part.
    bool is_committed = false;
    std::optional<std::uint64_t> length_after; ///< to be cut to; unset: as it is
    std::vector<JournalPiece> pieces;
    std::vector<JournalRange> zeros;
};

/// What a journal has to do with the bytes of the image beside it.
enum class JournalState {
    kForeign, ///< another file's, or already overtaken
    kUndone,  ///< nothing of the change is in table and header
    kPartial, ///< some of it
    kDone,    ///< all of it; zeros and length may be missing
};

[[nodiscard]] std::filesystem::path journal_path(const std::filesystem::path& image);

/// Whether a change of the open image was begun and not ended: the journal next to it names this
/// file (`image` is its path where /proc does not say it). One that this user cannot read counts
/// where the image's owner or root wrote it.
[[nodiscard]] bool is_journal_of(int image_fd, const std::filesystem::path& image);
/// Whether a journal of any file is next to `image`; for the help of a message only.
[[nodiscard]] bool has_journal_file(const std::filesystem::path& image);

/// As bytes: the first part, and the second one that completes it.
[[nodiscard]] std::string encode_journal_start(const Journal& journal);
[[nodiscard]] std::string encode_journal_end(const Journal& journal);
/// Nothing for what is no journal. One whose second part is torn is not committed.
[[nodiscard]] std::optional<Journal> decode_journal(std::string_view bytes);

/// The journal beside an open image; nothing if there is none that can be trusted: a regular file
/// of the image's owner, of root or of this user, that nobody else may write.
[[nodiscard]] Result<std::optional<Journal>> find_journal(int image_fd,
                                                          const std::filesystem::path& image);

[[nodiscard]] Result<JournalState>
judge_journal(const Journal& journal, int image_fd, const std::filesystem::path& image);

/// Told before each step of a change on the disk, by its name; for tests that stop there.
using StepHook = std::function<void(std::string_view step)>;

/// Writes what a committed journal says, up to the end; may be done again.
[[nodiscard]] Result<void> apply_journal(const Journal& journal,
                                         int image_fd,
                                         const std::filesystem::path& image,
                                         const StepHook& on_step);

/// What became of an interrupted change.
enum class Settled {
    kNothing,  ///< there was none
    kUndone,   ///< the image is as it was before
    kFinished, ///< the image is as it was to be
    kForeign,  ///< the journal is of another file
};
/// Whose journals are followed: one that names this very file, or also one that fits its bytes (of
/// an image that was copied half changed, together with its journal).
enum class Follow { kOwn, kFitting };

/// Finishes or undoes a change that was interrupted, and removes its journal; one of another file
/// stays. The image is open for writing, and locked.
[[nodiscard]] Result<Settled>
settle_image(int image_fd, const std::filesystem::path& image, Follow follow = Follow::kOwn);
/// Removes the journal next to an image; what is not one stays. True: there was one.
[[nodiscard]] Result<bool> remove_journal(int image_fd, const std::filesystem::path& image);

} // namespace cybele::images
