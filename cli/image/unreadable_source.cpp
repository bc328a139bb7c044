// SPDX-License-Identifier: Apache-2.0
#include "cli/image/unreadable_source.hpp"

#include "support/quote.hpp"

#include <filesystem>

namespace cybele::cli {

Error unreadable_source(const std::string& transport,
                        const std::string& path,
                        const std::string& uri,
                        int number) {
    std::error_code failed;
    const std::string why =
        transport == "oci" ? "open " + path + "/index.json: no such file or directory"
        : transport == "oci-archive"
            ? "creating temp directory: archive file not found: \"" +
                  std::filesystem::absolute(path, failed).lexically_normal().native() + '"'
            : "opening file \"" + path + "\": open " + path + ": no such file or directory";
    const Fault cause = system_error("", number).faults().front();
    return {ErrorCode::kInput,
            problem("pull-source-unreadable", "cannot open " + printable(path), cause.id)
                .about(uri + " uri: failed to get checksum for " + uri + ": " + why),
            cause.because,
            "check the path of the image"};
}

} // namespace cybele::cli
