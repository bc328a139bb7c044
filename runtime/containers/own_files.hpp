// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/host_files.hpp"
#include "runtime/containers/runtime.hpp"
#include "runtime/containers/stage.hpp"
#include "runtime/namespaces/sandbox.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The files that each container has for itself: resolv.conf, hostname, passwd and group.
namespace cybele::runtime {

/// What they are made from.
struct HostView {
    Caller caller;
    std::optional<std::string> resolv_conf;
    std::string hostname; ///< --hostname
    bool has_passwd = true;
    bool has_group = true;
    bool adds_all_groups = false; ///< those of the caller that the image has, too
    bool is_changing = false;     ///< the root file system takes changes
};

/// Before any namespace is entered.
[[nodiscard]] HostView
view_of(const Request& request, const std::filesystem::path& home, const Environment& environment);

/// Adds their mounts, which come last, where the user binds nothing there; gives what must stay
/// open until they are made. `image` is its root.
[[nodiscard]] Result<std::vector<UniqueFd>> add_own_files(std::vector<namespaces::Mount>& mounts,
                                                          const Stage& stage,
                                                          int image,
                                                          const std::filesystem::path& home,
                                                          const HostView& host);

} // namespace cybele::runtime
