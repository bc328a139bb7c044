// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/aside.hpp"
#include "images/layout_root.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Sees what a tool does with packages in a tree while it does it.
namespace cybele::builder {

/// Packages (`*.rpm`) below folders of a tree are copied as soon as they are written: dnf and
/// zypper remove them once they are installed. By inotify(7), in a child of this process; what it
/// misses is not kept, and no more.
class RpmWatch {
public:
    /// Of `folder` in the tree, what lies below its folders `names`, which need not be there yet.
    /// Copies go to `copies`, which is there, by the same paths. Nothing where it cannot watch.
    [[nodiscard]] static std::unique_ptr<RpmWatch> start(const images::RootDirectory& root,
                                                         const std::string& folder,
                                                         const std::vector<std::string_view>& names,
                                                         const std::filesystem::path& copies);

    /// Ends it, when all is copied. The packages that were opened, by their paths below `folder`.
    [[nodiscard]] std::set<std::string> end();

private:
    RpmWatch(Aside child, UniqueFd stop, std::filesystem::path copies)
        : child_(std::move(child)), stop_(std::move(stop)), copies_(std::move(copies)) {}
    Aside child_;
    UniqueFd stop_; ///< closed: the child ends
    std::filesystem::path copies_;
};

} // namespace cybele::builder
