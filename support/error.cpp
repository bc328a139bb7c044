// SPDX-License-Identifier: Apache-2.0
#include "support/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <system_error>
#include <tuple>

namespace cybele {

ErrorCode Error::code() const {
    for (const Fault& fault : faults_) {
        if (!fault.is_warning) {
            return fault.code;
        }
    }
    return faults_.front().code;
}

Error Error::with_context(std::string_view what, std::string_view detail) && {
    for (Fault& fault : faults_) {
        fault.context.emplace_back(what);
        if (fault.detail.empty()) {
            fault.detail = detail;
        }
    }
    return std::move(*this);
}

void Faults::add(const Error& error) {
    faults_.insert(faults_.end(), error.faults().begin(), error.faults().end());
}

bool Faults::has_errors() const {
    return std::ranges::any_of(faults_, [](const Fault& fault) { return !fault.is_warning; });
}

Error Faults::take() {
    const auto key = [](const Fault& fault) {
        static const Place nowhere;
        const Place& place = fault.where ? *fault.where : nowhere;
        return std::tie(place.file, place.line, place.column);
    };
    std::stable_sort(faults_.begin(), faults_.end(), [&](const Fault& a, const Fault& b) {
        return key(a) < key(b);
    });
    Error error(std::move(faults_));
    return during_.empty() ? error : std::move(error).with_context(during_);
}

namespace {

struct SystemProblem {
    int number;
    std::string_view id;
    std::string_view help;
    ErrorCode code = ErrorCode::kEnvironment;
};

constexpr SystemProblem kSystemProblems[] = {
    {ENOSPC,
     "no-space",
     "free some space there, or choose another place (for builds: CYBELE_TMPDIR)"},
    {EDQUOT,
     "quota-exceeded",
     "free some of your quota, or choose another place (for builds: CYBELE_TMPDIR)"},
    {EFBIG,
     "file-too-large",
     "raise the limit of file sizes (`ulimit -f`), or choose a file system for larger files"},
    {EACCES, "permission-denied", "check the permissions of the file and of the folders above it"},
    {EPERM, "not-permitted", {}},
    {EROFS, "read-only-file-system", "choose a place that can be written"},
    {ENOENT,
     "no-such-file",
     "check the path, and that the current folder still exists",
     ErrorCode::kInput},
    {EISDIR, "is-a-folder", "name a file, not a folder", ErrorCode::kInput},
    {ENOTDIR, "not-a-folder", "a part of the path is a file: correct the path", ErrorCode::kInput},
    {ELOOP, "too-many-links", "name the file that the link is meant to lead to", ErrorCode::kInput},
    {ENAMETOOLONG, "name-too-long", "give it a shorter name", ErrorCode::kInput},
    {EMFILE, "too-many-open-files", "raise the limit of open files (ulimit -n)"},
    {ENOMEM, "no-memory", {}},
    {EIO, "input-output-error", "ask who runs the disk or the file server: its log says more"},
    {ENOTCONN, "file-system-gone", "mount the file system again, or use another folder"},
    {ESTALE, "file-handle-stale", "mount the file system again, or use another folder"},
};
constexpr SystemProblem kOtherSystemProblem{0, "system-call-failed", {}};

} // namespace

Error system_error(std::string message, int saved_errno) {
    const auto* found = std::ranges::find(kSystemProblems, saved_errno, &SystemProblem::number);
    const SystemProblem& row = found == std::end(kSystemProblems) ? kOtherSystemProblem : *found;
    return {row.code,
            problem(row.id, std::move(message)),
            std::generic_category().message(saved_errno),
            std::string(row.help)};
}

} // namespace cybele
