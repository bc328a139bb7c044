// SPDX-License-Identifier: Apache-2.0
#include "cli/common/build_arguments.hpp"

#include "cli/common/cli11.hpp"
#include "definitions/grammar/grammar.hpp"
#include "support/file.hpp"
#include "support/other_file.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::cli {
namespace {

Result<void> add_argument(const std::string& text, definitions::BuildArguments& arguments) {
    const std::size_t equals = text.find('=');
    const std::string name(definitions::trim(text.substr(0, equals)));
    if (equals == std::string::npos || name.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("build-argument-malformed",
                            "'" + printable(text) + "' is not a build argument",
                            equals == std::string::npos ? "" : "key")
                        .about(std::string(text)),
                    "a build argument is NAME=VALUE",
                    "write for example --build-arg version=1.2");
    }
    arguments[name] = definitions::trim(std::string_view(text).substr(equals + 1));
    return {};
}

/// A file of NAME=VALUE lines is text, and none of the files that other commands read.
Result<void> check_argument_file(const std::string& text, const std::string& file) {
    const auto other = recognize_file(text, file);
    const bool is_binary = text.find('\0') != std::string::npos;
    if (!other && !is_binary) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("build-argument-file-is-other",
                        printable(file) + " is " +
                            (other ? std::string(other->what) : std::string("not text")) +
                            ", not a file of build arguments"),
                "such a file has lines NAME=VALUE",
                "write `--build-arg NAME=VALUE`, or name another file");
}

} // namespace

void add_build_arguments(CLI::App& verb, BuildArgumentOptions& options) {
    verb.add_option("--build-arg",
                    options.words,
                    "value of a {{ NAME }} in a definition file; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    verb.add_option("--build-arg-file", options.file, "file of NAME=VALUE lines")
        ->type_name("FILE");
}

Result<definitions::BuildArguments>
read_build_arguments(const BuildArgumentOptions& options,
                     const std::function<void(const std::string&)>& on_skipped) {
    definitions::BuildArguments arguments;
    if (!options.file.empty()) {
        CYBELE_TRY(const std::string text,
                   read_file(options.file)
                       .map_error(during("reading the build arguments", "build-arguments")));
        CYBELE_CHECK(check_argument_file(text, options.file));
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            const std::string line = text.substr(begin, end - begin);
            begin = end + 1;
            if (!add_argument(line, arguments)) {
                on_skipped(line);
            }
        }
    }
    for (const std::string& word : options.words) {
        CYBELE_CHECK(add_argument(word, arguments));
    }
    return arguments;
}

} // namespace cybele::cli
