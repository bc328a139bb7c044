// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace cybele::namespaces {

/// The new root while it is filled: mounts go onto descriptors that were resolved inside it.
/// What a mount needs as its target.
enum class TargetKind { kFile, kDirectory };

class RootBuilder {
public:
    /// Binds the directory of the sandbox over itself, so that it is a mount of its own.
    [[nodiscard]] static Result<RootBuilder> start(const Sandbox& sandbox);

    [[nodiscard]] Result<void> add(const Mount& mount);
    [[nodiscard]] int root() const {
        return root_.get();
    }

private:
    explicit RootBuilder(UniqueFd root);
    /// The target's descriptor; invalid where it is missing and the mount is optional.
    [[nodiscard]] Result<UniqueFd> target_of(const Mount& mount, TargetKind kind) const;
    /// Remembers that targets may be made in what was bound.
    void note_host(const Mount& mount, int bound);
    [[nodiscard]] bool is_host_folder(int fd) const;
    [[nodiscard]] Result<void> add_bind(const Mount& mount);
    [[nodiscard]] Result<void> add_same(const Mount& mount);
    [[nodiscard]] Result<void> add_file_system(const Mount& mount);

    UniqueFd root_;
    std::vector<std::uint64_t> own_mounts_;  ///< where missing targets may be made
    std::vector<std::uint64_t> host_mounts_; ///< the same for mounts that were asked for, by ways
                                             ///< without links
    std::vector<std::pair<std::uint64_t, std::uint64_t>> host_folders_; ///< device, inode
};

/// "nosuid,nodev" as flags of mount(2); a word that is no flag is kInput.
[[nodiscard]] Result<unsigned long> flags_of_options(const std::string& options);

} // namespace cybele::namespaces
