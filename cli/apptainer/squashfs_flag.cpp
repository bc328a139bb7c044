// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/squashfs_flag.hpp"

#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <string_view>
#include <vector>

namespace cybele::cli {

namespace {

/// Of mksquashfs: they change how fast or how densely it writes, and nothing of what is read.
constexpr std::string_view kWithValue[] = {
    "-b", "-mem", "-mem-percent", "-processors", "-Xcompression-level"};
constexpr std::string_view kAlone[] = {
    "-info", "-no-duplicates", "-no-progress", "-noappend", "-progress", "-quiet"};

tl::unexpected<Error> refuse(std::string_view word) {
    return fail(ErrorCode::kEnvironment,
                problem("apptainer-option-not-supported",
                        "--mksquashfs-args: '" + printable(word) + "' is not supported"),
                "mksquashfs is not used, and what is written instead has no such option",
                "write '-comp gzip' or '-comp zstd', or leave it out");
}

} // namespace

Result<std::string> read_squashfs_arguments(const OtherCall& call) {
    std::string compression;
    if (call.has("--sandbox")) {
        return compression;
    }
    const std::string value = call.value("--mksquashfs-args");
    std::vector<std::string_view> words;
    for (const std::string_view word : text::split_terminated(value, ' ')) {
        if (!word.empty()) {
            words.push_back(word);
        }
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
        const bool is_compression = words[i] == "-comp";
        if (!is_compression && contains(kAlone, words[i])) {
            continue;
        }
        if ((!is_compression && !contains(kWithValue, words[i])) || i + 1 == words.size()) {
            return refuse(words[i]);
        }
        ++i;
        if (is_compression && words[i] != "gzip" && words[i] != "zstd") {
            return refuse("-comp " + std::string(words[i]));
        }
        compression = is_compression ? std::string(words[i]) : compression;
    }
    return compression;
}

} // namespace cybele::cli
