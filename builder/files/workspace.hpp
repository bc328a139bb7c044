// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/namespaces/sandbox.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <string_view>

/// The private folders of one build, and what killed builds left of theirs.
namespace cybele::builder {

/// How the names of folders that builds make begin.
inline constexpr std::string_view kWorkspacePrefix = ".cybelectl-build";

/// A private folder (0700) that is locked while its build lives. Goes with all its content, trees
/// with subordinate owners included.
class Workspace {
public:
    /// Below `parent`; first removes what killed builds left there.
    [[nodiscard]] static Result<Workspace> make(const std::filesystem::path& parent,
                                                namespaces::IdMap map);
    Workspace(Workspace&&) noexcept = default;
    Workspace& operator=(Workspace&&) = delete;
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    ~Workspace();

    [[nodiscard]] const std::filesystem::path& path() const {
        return directory_.path();
    }

private:
    Workspace(TempDirectory directory, UniqueFd lock, namespaces::IdMap map)
        : directory_(std::move(directory)), lock_(std::move(lock)), map_(map) {}

    TempDirectory directory_;
    UniqueFd lock_;
    namespaces::IdMap map_;
};

/// Removes a tree whose owners are those of the map; a missing one is fine.
[[nodiscard]] Result<void> remove_tree_as(namespaces::IdMap map, const std::filesystem::path& path);

/// Where trees are built: a tmpfs where nobody chose a place (CYBELE_TMPDIR, TMPDIR) and the memory
/// holds `needed` bytes several times over, else the temporary directory. dpkg syncs each file, and
/// a disk that just lost a tree is slow to take the next one (measured: a third of the time).
[[nodiscard]] std::filesystem::path building_directory(const Environment& environment,
                                                       std::uint64_t needed);

/// kEnvironment with the folder, the need and what is there, unless `needed` bytes are free.
[[nodiscard]] Result<void> need_space(const std::filesystem::path& directory, std::uint64_t needed);

} // namespace cybele::builder
