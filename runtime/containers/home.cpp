// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/plan.hpp"
#include "runtime/namespaces/accounts.hpp"
#include "support/quote.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace cybele::runtime {
namespace {

/// By the name of Apptainer, the account's; else, or where it has none, that of $HOME.
std::filesystem::path usual_home(const Request& request, const Environment& environment) {
    constexpr std::size_t kHomeField = 5; // of passwd(5)
    if (const auto account = request.global.follows_apptainer ? namespaces::passwd_line(getuid())
                                                              : std::optional<std::string>()) {
        std::filesystem::path home = namespaces::account_field(*account, kHomeField);
        if (home.is_absolute()) {
            return home;
        }
    }
    return environment.home();
}

/// Apptainer gives a home directory of memory in place of one that does not exist.
bool is_absent(const std::filesystem::path& folder) {
    std::error_code failed;
    return std::filesystem::status(folder, failed).type() == std::filesystem::file_type::not_found;
}

} // namespace

Result<Home> home_of(const Request& request, const Environment& environment) {
    const std::filesystem::path usual = usual_home(request, environment);
    Home home{usual, usual, false};
    if (request.user.fakeroot) {
        home.target = "/root";
    }
    if (request.files.home.empty()) {
        home.is_missing = request.global.follows_apptainer && is_absent(home.source);
        return home;
    }
    const auto colon = request.files.home.find(':');
    if (colon != std::string::npos &&
        request.files.home.find(':', colon + 1) != std::string::npos) {
        return fail(
            ErrorCode::kUsage,
            problem("home-malformed",
                    "cannot read the home directory '" + printable(request.files.home) + "'")
                .about(request.files.home),
            "it has more parts than a source and a target",
            "write --home SRC:DST");
    }
    home.source = request.files.home.substr(0, colon);
    home.target = colon == std::string::npos
                      ? home.source
                      : std::filesystem::path(request.files.home.substr(colon + 1));
    if (colon == std::string::npos && request.global.follows_apptainer &&
        !home.source.is_absolute()) {
        return fail(
            ErrorCode::kInput,
            problem("home-relative",
                    "--home: '" + printable(request.files.home) + "' is not an absolute path")
                .about(request.files.home),
            "its place in the container is the same as on the host",
            "write --home \"$PWD\"/" + shell_quote(request.files.home));
    }
    std::error_code failed;
    home.source = home.source.empty() && request.global.follows_apptainer
                      ? std::filesystem::current_path(failed)
                      : std::filesystem::absolute(home.source, failed);
    if (colon == std::string::npos) {
        const bool is_root = request.user.fakeroot && !request.global.follows_apptainer;
        home.target = is_root ? std::filesystem::path("/root") : home.source;
    }
    if (!home.target.is_absolute()) {
        return fail(
            ErrorCode::kUsage,
            problem("home-place-relative",
                    "cannot read the home directory '" + printable(request.files.home) + "'")
                .about(request.files.home),
            "its place in the container is not an absolute path",
            "write --home SRC:DST");
    }
    home.is_missing = request.global.follows_apptainer && is_absent(home.source);
    if (std::filesystem::exists(home.source, failed) &&
        !std::filesystem::is_directory(home.source, failed)) {
        return fail(ErrorCode::kInput,
                    problem("home-not-directory",
                            "--home: '" + printable(home.source.string()) + "' is not a directory"),
                    "a home directory is bound to its place in the container",
                    "name a directory");
    }
    return home;
}

std::filesystem::path caller_directory(const Environment& environment, bool follows_apptainer) {
    std::error_code failed;
    std::filesystem::path named = environment.get_or("PWD", "");
    if (follows_apptainer && named.is_absolute() &&
        std::filesystem::equivalent(named, ".", failed)) {
        return named;
    }
    return std::filesystem::current_path(failed);
}

std::vector<std::filesystem::path> start_directories(const Request& request,
                                                     const std::filesystem::path& home,
                                                     const std::filesystem::path& caller) {
    if (!request.program.directory.empty()) {
        return {request.program.directory};
    }
    const bool is_contained = request.isolation.contain || request.isolation.containall;
    if (request.global.follows_apptainer && is_contained) { // as in Apptainer
        return {home, "/"};
    }
    const std::filesystem::path gone =
        request.global.follows_apptainer ? home : "/"; // the caller's is
    return {caller.empty() ? gone : caller, home, "/"};
}

} // namespace cybele::runtime
