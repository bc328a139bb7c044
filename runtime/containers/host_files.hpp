// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace cybele::runtime {

/// Who the caller is, read on the host before any namespace is entered.
struct Caller {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string passwd;              ///< one line, without its end
    std::vector<std::string> groups; ///< name:x:gid: of the caller's groups, the primary one first
};
[[nodiscard]] Caller this_caller(const std::filesystem::path& home, const std::string& user);

/// Whether a file like passwd(5) or group(5) has a line of this id.
[[nodiscard]] bool has_account(std::string_view text, id_t id);
/// The image's passwd(5) with the caller's line; where the id is there already, its home directory
/// becomes `home`.
[[nodiscard]] std::string
merge_passwd(const std::string& image, const Caller& caller, const std::filesystem::path& home);
/// The image's group(5) with the groups that it lacks; with `adds_all`, like Apptainer, with
/// all of the caller's, each once.
[[nodiscard]] std::string
merge_group(const std::string& image, const Caller& caller, bool adds_all = false);

} // namespace cybele::runtime
