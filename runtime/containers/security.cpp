// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/security.hpp"

#include "runtime/namespaces/seccomp_profile.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <cerrno>
#include <charconv>
#include <limits>

#include <grp.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

constexpr std::size_t kMostProfileText = std::size_t{4} << 20U;

Result<id_t> read_id(const std::string& word, std::string_view value, bool is_user) {
    id_t id = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), id);
    if (read.ec != std::errc() || read.ptr != value.data() + value.size() ||
        id == std::numeric_limits<id_t>::max()) {
        return fail(ErrorCode::kUsage,
                    problem(is_user ? "security-uid-invalid" : "security-gid-invalid",
                            "--security: '" + printable(word) + "' has no valid number")
                        .about(std::string(value)),
                    "an id is a number below 4294967295",
                    "write --security uid:1000");
    }
    return id;
}

Result<void> read_word(const std::string& word, Security& security, bool follows_apptainer) {
    const std::size_t colon = word.find(':');
    const std::string kind = word.substr(0, colon);
    const std::string value = colon == std::string::npos ? "" : word.substr(colon + 1);
    if (kind == "uid" && !value.empty()) {
        CYBELE_TRY(security.uid, read_id(word, value, true));
    } else if (kind == "gid" && !value.empty()) {
        for (const std::string_view one : text::split_terminated(value, ':')) {
            CYBELE_TRY(const gid_t gid, read_id(word, one, false));
            security.gids.push_back(gid);
        }
    } else if (kind == "seccomp" && !value.empty()) {
        auto read = read_file(value, kMostProfileText);
        if (!read && read.error().faults().front().id == "file-missing") {
            return fail(ErrorCode::kInput,
                        problem("seccomp-profile-missing", "no such file: " + printable(value))
                            .about(std::string(value)),
                        "--security seccomp: names the profile",
                        "check the name and the folder that it is relative to");
        }
        CYBELE_TRY(const std::string text,
                   std::move(read).map_error(during("reading the seccomp profile")));
        CYBELE_TRY(security.filter, namespaces::compile_seccomp_profile(text, value));
    } else if (kind == "apparmor" || kind == "selinux") {
        return fail(
            ErrorCode::kEnvironment,
            problem("security-module-not-supported", "--security " + kind + " is not supported")
                .about(kind),
            "profiles of AppArmor and SELinux are not applied to containers",
            "let the administrator confine the program");
    } else if (!follows_apptainer) {
        return fail(
            ErrorCode::kUsage,
            problem("security-word-unknown", "--security: '" + printable(word) + "' is not known"),
            "it is uid:N, gid:N or seccomp:FILE",
            "write one of these");
    }
    return {};
}

} // namespace

Result<Security> read_security(const std::vector<std::string>& words, bool follows_apptainer) {
    Security security;
    for (const std::string& word : words) {
        CYBELE_CHECK(read_word(word, security, follows_apptainer));
    }
    return security;
}

Result<void> apply_security(const Security& security, bool is_root) {
    const bool has_ids = security.uid || !security.gids.empty();
    if (is_root && has_ids) {
        const gid_t gid = security.gids.empty() ? ::getegid() : security.gids.front();
        const std::size_t count = security.gids.size() > 1 ? security.gids.size() : 0;
        const uid_t uid = security.uid.value_or(::geteuid());
        if (::setgroups(count, security.gids.data()) != 0 || ::setresgid(gid, gid, gid) != 0 ||
            ::setresuid(uid, uid, uid) != 0) {
            return fail(system_error("cannot set the ids of --security", errno));
        }
    }
    return security.filter.empty() ? Result<void>()
                                   : namespaces::install_seccomp_profile(security.filter);
}

} // namespace cybele::runtime
