// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/download_watch.hpp"
#include "builder/packages.hpp"
#include "builder/rpm_shelf.hpp"
#include "images/inspection/layout_root.hpp"
#include "registry/cache/cache.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <time.h>

/// What a step's own dnf, yum or zypper downloads, kept for the steps of later builds.
namespace cybele::builder {

/// Whether a script names one of the tools.
[[nodiscard]] bool installs_by_rpm(std::string_view script);

/// While this lives, kept packages of the tree's distribution lie in the caches of its tools, and
/// what these write there is copied (DownloadWatch). What no tool opened is taken away again, so
/// that the tree has what it would have without this.
class StepRpms {
public:
    /// `copies`: a folder of this step's own, emptied first.
    StepRpms(const registry::Cache& cache,
             images::RootDirectory tree,
             std::filesystem::path copies,
             std::string definition);

    /// Before the script.
    void begin();
    /// After it.
    [[nodiscard]] PackageCount end();

private:
    /// A folder of the tree in which something is put.
    struct Folder {
        bool is_made = false; ///< it was missing
        timespec before = {}; ///< its mtime
        timespec after = {};
    };
    [[nodiscard]] bool put(const std::filesystem::path& file, const std::filesystem::path& place);
    [[nodiscard]] bool prepare_folder(const std::string& folder);
    void clear(const std::set<std::string>& needed) const;
    [[nodiscard]] std::set<std::string> keep_copies() const;

    images::RootDirectory tree_;
    std::filesystem::path copies_;
    RpmShelf shelf_;
    std::map<std::filesystem::path, std::string> placed_; ///< and the digest of each
    std::map<std::string, Folder> folders_;               ///< by their paths in the tree
    std::unique_ptr<DownloadWatch> watch_;
};

} // namespace cybele::builder
