// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/processes/helper_process.hpp"
#include "images/inspection/layout_root.hpp"
#include "runtime/namespaces/children.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Sees what a tool downloads into a tree while it does it.
namespace cybele::builder {

/// What is to be seen.
struct WatchedFiles {
    std::string folder;                        ///< of the tree: "var/cache"
    bool (*has_folder)(std::string_view name); ///< which of the folders in it, with all below
    bool (*has_file)(std::string_view name);   ///< which files there
};

/// Files in folders of a tree are copied as soon as they are written: pip removes them once
/// they are installed. By inotify(7), in a child of this process; what it misses is not
/// kept, and no more.
class DownloadWatch {
public:
    /// The folder has to be there, what is in it may come later. Copies go to `copies`, which is
    /// there, by their paths below the folder. Nothing where it cannot watch.
    [[nodiscard]] static std::unique_ptr<DownloadWatch> start(const images::RootDirectory& root,
                                                              const WatchedFiles& wanted,
                                                              const std::filesystem::path& copies);

    /// Ends it, when all is copied. The files that were opened, by their paths below the folder.
    [[nodiscard]] std::set<std::string> end();

private:
    DownloadWatch(HelperProcess child, namespaces::Pipe stop, std::filesystem::path copies)
        : child_(std::move(child)), stop_(std::move(stop)), copies_(std::move(copies)) {}
    HelperProcess child_;
    namespaces::Pipe stop_; ///< where something is written, the child ends
    std::filesystem::path copies_;
};

} // namespace cybele::builder
