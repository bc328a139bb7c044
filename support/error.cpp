// SPDX-License-Identifier: Apache-2.0
#include "support/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
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

Error Error::with_context(std::string_view what) && {
    for (Fault& fault : faults_) {
        fault.context.emplace_back(what);
    }
    return std::move(*this);
}

void Faults::add(const Error& error) {
    faults_.insert(faults_.end(), error.faults().begin(), error.faults().end());
}

bool Faults::has_errors() const {
    return std::any_of(
        faults_.begin(), faults_.end(), [](const Fault& fault) { return !fault.is_warning; });
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
    return Error(std::move(faults_));
}

namespace {

struct Remedy {
    int number;
    const char* help;
};

constexpr Remedy kRemedies[] = {
    {ENOSPC, "free some space there, or choose another place (for builds: CYBELE_TMPDIR)"},
    {EDQUOT, "free some of your quota, or choose another place (for builds: CYBELE_TMPDIR)"},
    {EACCES, "check the permissions of the file and of the folders above it"},
    {EROFS, "choose a place that can be written"},
    {EISDIR, "name a file, not a folder"},
    {ENOTDIR, "a part of the path is a file: correct the path"},
    {ELOOP, "name the file that the link is meant to lead to"},
    {ENAMETOOLONG, "give it a shorter name"},
    {EMFILE, "raise the limit of open files (ulimit -n)"},
};

} // namespace

Error system_error(std::string message, int saved_errno) {
    std::string help;
    for (const Remedy& remedy : kRemedies) {
        if (remedy.number == saved_errno) {
            help = remedy.help;
        }
    }
    const bool is_input = saved_errno == ENOENT || saved_errno == ENOTDIR ||
                          saved_errno == EISDIR || saved_errno == ELOOP ||
                          saved_errno == ENAMETOOLONG;
    return {is_input ? ErrorCode::kInput : ErrorCode::kEnvironment,
            std::move(message),
            std::generic_category().message(saved_errno),
            std::move(help)};
}

} // namespace cybele
