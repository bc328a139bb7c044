// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/files/copy_nodes.hpp"
#include "builder/files/listing.hpp"
#include "builder/request/request.hpp"
#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/lines.hpp"
#include "support/digest.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// %files: what is copied into an image, and how. The rules are Apptainer's (`cp -fLr` from the
/// host, a tar copy from a stage); where it silently makes a wrong tree, a refusal.
namespace cybele::builder {

/// Where the sources of a %files section lie.
struct CopyFrom {
    std::filesystem::path root = "/"; ///< sources are resolved inside it
    std::filesystem::path directory;  ///< of relative sources
    /// From a stage: owners are kept, and links below a source stay links. From the host: all links
    /// are followed, the owner is root.
    bool is_stage = false;
    /// Modes are what `cp` makes of them with this umask; nothing: those of the sources.
    std::optional<mode_t> mask = std::nullopt;
};
[[nodiscard]] CopyFrom from_host(const StepRules& rules);

/// One line of %files with its sources found.
struct Copy {
    std::vector<std::filesystem::path> sources; ///< inside CopyFrom::root
    std::string destination;                    ///< inside the image, as written
    bool is_pattern = false; ///< the sources were found, none is named by the line itself
    /// What is copied, as it was when it was listed; null: all that is there when it is copied.
    std::shared_ptr<const Listing> listing;
    /// Of several sources: the refusal where the destination is no folder when they are copied.
    std::optional<Fault> ambiguous;
};

/// Finds the sources of a line: `* ? [] {a,b}` and `$NAME` are expanded (on the host; `*` leaves
/// dot files out), `~` is literal. A source that is not there is kInput with the line's place.
[[nodiscard]] Result<Copy> find_sources(const definitions::FileLine& line,
                                        const CopyFrom& from,
                                        const std::map<std::string, std::string>& variables,
                                        const std::string& definition_file);

/// Copies into the tree `root`. Destinations are resolved inside it: links never lead out. Several
/// sources go into a folder only: one with `/` at its end, or one that is in the tree by then. Of a
/// copy with a listing, what is copied is what was listed; a file that changed since is refused
/// (kEnvironment), and one that is new is not copied.
[[nodiscard]] Result<void>
copy_files(const Copy& copy, const CopyFrom& from, const std::filesystem::path& root);

/// A digest of names, modes and contents of all that is copied to a destination.
void add_to_digest(const std::string& destination, const Listing& listing, Sha256& digest);

} // namespace cybele::builder
