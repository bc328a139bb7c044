// SPDX-License-Identifier: Apache-2.0
#include "support/own_folder.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <string>

#include <unistd.h>

namespace cybele {

Result<void> make_own_folder(const OwnFolder& folder) {
    std::string because;
    if (const auto made = make_directories(folder.path, 0700); !made) {
        because = made.error().faults().front().because;
    } else if (::access(folder.path.c_str(), W_OK | X_OK) != 0) {
        because = system_error("", errno).faults().front().because;
    } else {
        return {};
    }
    return fail(ErrorCode::kEnvironment,
                std::string(folder.holds) + " cannot be kept in " + printable(folder.path.native()),
                because,
                "name a folder that you can write: " + std::string(folder.variable) + "=DIR");
}

} // namespace cybele
