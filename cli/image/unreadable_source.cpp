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
    Fault fault;
    fault.code = ErrorCode::kInput;
    fault.set(problem("pull-source-unreadable", "cannot open " + printable(path)));
    fault.because = system_error("", number).faults().front().because;
    fault.help = "check the path of the image";
    fault.subject = uri + " uri: failed to get checksum for " + uri + ": " + why;
    return Error(std::move(fault));
}

} // namespace cybele::cli
