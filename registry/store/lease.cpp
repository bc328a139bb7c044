// SPDX-License-Identifier: Apache-2.0
#include "registry/store/lease.hpp"

#include "support/quote.hpp"
#include "support/start_time.hpp"

#include <cerrno>
#include <charconv>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLeaseDigestStart = 7; ///< "sha256:"
constexpr std::int64_t kElsewhere = std::int64_t{14} * 86400;

/// Node names have no blanks; dots would part the file's name.
std::string this_host() {
    struct utsname names {};
    std::string host = ::uname(&names) == 0 ? names.nodename : "unknown";
    for (char& c : host) {
        c = c == '.' || c == '/' ? '_' : c;
    }
    return host;
}

/// Of the process that a lease's name tells; empty where there is none.
std::string start_time_of(std::string_view digits) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
    return error == std::errc() && end == digits.data() + digits.size() ? start_time(pid)
                                                                        : std::string{};
}

std::vector<std::string_view> parts(std::string_view text) {
    std::vector<std::string_view> found;
    while (!text.empty()) {
        const std::size_t dot = text.find('.');
        found.push_back(text.substr(0, dot));
        text = dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
    }
    return found;
}

bool is_over(const fs::path& file, const std::vector<std::string_view>& words, std::int64_t now) {
    constexpr std::size_t kUntilWords = 3;
    constexpr std::size_t kProcessWords = 5;
    if (words.size() == kUntilWords && words[1] == "u") {
        std::int64_t until = 0;
        const auto [end, error] =
            std::from_chars(words[2].data(), words[2].data() + words[2].size(), until);
        return error != std::errc() || until < now;
    }
    if (words.size() != kProcessWords || words[1] != "p") {
        return false; // not ours to judge
    }
    if (words[2] != this_host()) {
        struct stat status {};
        return ::stat(file.c_str(), &status) == 0 && status.st_mtim.tv_sec < now - kElsewhere;
    }
    return start_time_of(words[3]) != words[4];
}

/// A full disk keeps nobody from running an image. Under the shared lock: gc holds it exclusively
/// from looking at the leases to the last removal.
Result<void> make_lease(const Place& place, std::string_view digest, const std::string& name) {
    if (::access(place.leases().c_str(), W_OK) != 0) {
        return {};
    }
    CYBELE_TRY(const UniqueFd lock,
               lock_file(place.lock_file(), LockKind::kShared, place.file_mode()));
    const fs::path file =
        place.leases() / (std::string(digest.substr(kLeaseDigestStart)) + "." + name);
    const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, place.file_mode()));
    if (!fd.valid() && errno != ENOSPC && errno != EDQUOT && errno != EROFS) {
        return fail(system_error("cannot note that an image of the store is in use: " +
                                     printable(file.native()),
                                 errno));
    }
    return {};
}

} // namespace

Result<void> lease_for_process(const Place& place, std::string_view digest) {
    const pid_t pid = ::getpid();
    return make_lease(
        place, digest, "p." + this_host() + "." + std::to_string(pid) + "." + start_time(pid));
}

Result<void> lease_until(const Place& place, std::string_view digest, std::int64_t until) {
    return make_lease(place, digest, "u." + std::to_string(until));
}

std::set<std::string> leased(const Place& place, std::int64_t now) {
    std::set<std::string> digests;
    std::error_code error;
    for (auto it = fs::directory_iterator(place.leases(), error);
         !error && it != fs::directory_iterator();
         it.increment(error)) {
        const std::string name = it->path().filename().native();
        const auto words = parts(name);
        if (is_over(it->path(), words, now)) {
            std::error_code ignored;
            fs::remove(it->path(), ignored);
        } else if (!words.empty()) {
            digests.insert("sha256:" + std::string(words.front()));
        }
    }
    return digests;
}

} // namespace cybele::registry
