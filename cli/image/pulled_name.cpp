// SPDX-License-Identifier: Apache-2.0
#include "cli/image/start_image.hpp"

#include <algorithm>

namespace cybele::cli {

std::string pulled_name(const std::string& uri) {
    std::string rest = uri.substr(uri.find(':') + 1);
    rest.erase(0, rest.find_first_not_of('/'));
    if (uri.starts_with("http")) {
        return rest.substr(rest.rfind('/') + 1);
    }
    std::string last = rest.substr(rest.rfind('/') + 1);
    std::string tag = "latest";
    std::string digest;
    if (const std::size_t at = last.find('@'); at != std::string::npos) {
        digest = last.substr(at + 1);
        std::replace(digest.begin(), digest.end(), ':', '_');
        last.resize(at);
    }
    if (const std::size_t colon = last.find(':'); colon != std::string::npos) {
        tag = last.substr(colon + 1);
        last.resize(colon);
    }
    if (!digest.empty()) {
        return last + "@" + digest + ".sif";
    }
    return last + "_" + tag + ".sif";
}

} // namespace cybele::cli
