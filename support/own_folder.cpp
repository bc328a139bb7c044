// SPDX-License-Identifier: Apache-2.0
#include "support/own_folder.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include <unistd.h>

namespace cybele {

namespace {

tl::unexpected<Error> refused(const OwnFolder& folder, std::string because, std::string remedy) {
    return fail(ErrorCode::kEnvironment,
                problem("own-folder-refused",
                        std::string(folder.holds) + " cannot be stored in " +
                            printable(folder.path.native())),
                std::move(because),
                std::move(remedy));
}

} // namespace

Result<void> check_own_folder(const OwnFolder& folder) {
    const auto opened = open_own(folder.path, folder.rules);
    if (opened) {
        return {};
    }
    const Fault& fault = opened.error().faults().front();
    std::string remedy = "name a folder of your own: " + std::string(folder.variable) + "=DIR";
    if (fault.id == "path-writable-by-others") {
        remedy = fault.help + "; or " + remedy;
    } else if (!folder.allow.empty()) {
        remedy += "; or, if you trust its owner, run: " + folder.allow;
    }
    return refused(folder, fault.because, std::move(remedy));
}

Result<void> make_own_folder(const OwnFolder& folder) {
    const std::string remedy =
        "name a folder that you can write: " + std::string(folder.variable) + "=DIR";
    if (const auto made = make_directories(folder.path, 0700); !made) {
        return refused(folder, made.error().faults().front().because, remedy);
    }
    CYBELE_CHECK(check_own_folder(folder));
    if (::access(folder.path.c_str(), W_OK | X_OK) != 0) {
        return refused(folder, system_error("", errno).faults().front().because, remedy);
    }
    return {};
}

} // namespace cybele
