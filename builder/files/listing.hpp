// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/files/context.hpp"
#include "registry/cache/known_files.hpp"
#include "support/stamp.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What a copy takes, found in one pass: names, modes, contents, and what looks like a secret. The
/// keys of steps, the note of what an image is made from, the refusal of secrets and the copy
/// itself all go by the same listing.
namespace cybele::builder {

struct Copy;
struct CopyFrom;

/// A file by its name below the source, with a word on it.
struct NamedFile {
    std::string name;
    std::string what;
};

/// What a set of rules takes of a source.
struct TakenFiles {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
    std::vector<NamedFile> left_out; ///< folders as one; with the reason
    std::vector<NamedFile> secrets;  ///< private keys, tokens, settings with secrets
};

/// Something that is copied, and what of it matters.
struct CopiedFile {
    std::filesystem::path path; ///< inside CopyFrom::root
    std::uint32_t mode = 0;     ///< with its kind, as stat() gives it; 0: it cannot be copied
    std::string content;        ///< SHA-256 (hex) of a file, target of a link; empty: not known
    /// Of a file: as long as it has this stamp it has this content.
    std::optional<FileStamp> stamp;
    std::vector<std::string> names; ///< in a folder
    bool is_made = true;  ///< of a folder: else it is made only for what is copied into it
    bool is_input = true; ///< by the rules of a Recipe, too
};

struct Listing {
    std::vector<CopiedFile> files; ///< a folder before what is in it
    TakenFiles taken;
    TakenFiles inputs; ///< by the rules of a Recipe
};

/// All that a copy would take, by no rules. What is known of files is not read again.
[[nodiscard]] Listing list_all(const Copy& copy, const CopyFrom& from, registry::KnownFiles& known);

/// The files of the host that one build copies. Each source is looked at once.
class ContextFiles {
public:
    enum class Reads {
        kAll,    ///< the content of every file that is taken
        kInputs, ///< of those that a Recipe's rules take
        kNothing ///< another builder copies them, and nothing is named by their content
    };
    /// `taken` rules what is copied. `inputs`, where it is another rule, what a Recipe would take.
    ContextFiles(BuildContext taken,
                 std::optional<BuildContext> inputs,
                 Reads reads,
                 registry::KnownFiles known)
        : taken_(std::move(taken)), inputs_(std::move(inputs)), reads_(reads),
          known_(std::move(known)) {}

    [[nodiscard]] std::shared_ptr<const Listing> list(const Copy& copy);
    [[nodiscard]] registry::KnownFiles& known() {
        return known_;
    }

private:
    BuildContext taken_;
    std::optional<BuildContext> inputs_;
    Reads reads_;
    registry::KnownFiles known_;
    std::map<std::pair<bool, std::vector<std::filesystem::path>>, std::shared_ptr<const Listing>>
        listings_;
};

} // namespace cybele::builder
