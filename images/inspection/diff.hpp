// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/inspection/contents.hpp"
#include "images/squashfs/file_node.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::images {

enum class Change { kAdded, kRemoved, kChanged };

struct FieldChange {
    std::string field; ///< "size", "mode", …
    std::string before;
    std::string after;
};

/// One thing that is not the same in both images.
struct Difference {
    /// header, object, label, environment, script, definition, package, file, in this order
    std::string section;
    Change change = Change::kChanged;
    std::string name; ///< of the field, object, label or package; path of a file
    /// Of what changed: the fields. Of what was added or removed: one without a name, its
    /// description, in `after` or `before`.
    std::vector<FieldChange> fields;
    std::string lines; ///< of texts: a unified diff
};

struct DiffOptions {
    bool ignore_time =
        false;              ///< times of header, objects and files, and the label of the build date
    bool ignore_id = false; ///< the header's id
};

using DifferenceSink = std::function<void(const Difference& difference)>;

/// Compares two images, squashfs files or directories, down to the bytes of their files. What only
/// one kind has (a directory has no header) is not compared; notes tell that and what could not be
/// read. Gives the notes.
[[nodiscard]] Result<std::vector<std::string>> diff_contents(const Contents& before,
                                                             const Contents& after,
                                                             const DiffOptions& options,
                                                             const DifferenceSink& sink);

/// The part that compares files. Both trees are walked side by side, in the order of the names'
/// bytes; of each, one directory a level is in memory.
[[nodiscard]] Result<void> diff_files(const FilePointer& before,
                                      const FilePointer& after,
                                      const DiffOptions& options,
                                      const DifferenceSink& sink);

/// A unified diff with three lines of context, "" for equal texts. Texts that differ in very many
/// lines are shown as removed and added whole.
[[nodiscard]] std::string unified_diff(std::string_view before, std::string_view after);

} // namespace cybele::images
