// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/small_devices.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr std::array<std::string_view, 5> kSmallDevices = {
    "null", "zero", "random", "urandom", "full"};
constexpr std::string_view kTerminalDevice = "tty";

Mount fresh(Mount::Kind kind, const std::filesystem::path& target, const char* options) {
    Mount mount;
    mount.kind = kind;
    mount.target = target;
    mount.options = options;
    return mount;
}

Mount device(std::string_view name) {
    Mount mount;
    mount.source = std::filesystem::path("/dev") / name;
    mount.target = mount.source;
    mount.is_optional = true;
    mount.is_read_only = true;
    return mount;
}

} // namespace

void add_small_devices(std::vector<Mount>& mounts, Terminal terminal) {
    mounts.push_back(fresh(Mount::Kind::kTmpfs, "/dev", "mode=0755,size=64m"));
    for (const std::string_view name : kSmallDevices) {
        mounts.push_back(device(name));
    }
    if (terminal != Terminal::kNone) {
        mounts.push_back(device(kTerminalDevice));
    }
    mounts.push_back(fresh(Mount::Kind::kDevpts, "/dev/pts", ""));
    mounts.push_back(fresh(Mount::Kind::kTmpfs, "/dev/shm", "mode=1777"));
}

void link_small_devices() {
    constexpr std::array<std::pair<const char*, const char*>, 5> kLinks = {
        {{"/proc/self/fd", "/dev/fd"},
         {"/proc/self/fd/0", "/dev/stdin"},
         {"/proc/self/fd/1", "/dev/stdout"},
         {"/proc/self/fd/2", "/dev/stderr"},
         {"/dev/pts/ptmx", "/dev/ptmx"}}};
    for (const auto& [target, name] : kLinks) {
        (void)!symlink(target, name);
    }
}

} // namespace cybele::namespaces
