// SPDX-License-Identifier: Apache-2.0
#include "cli/common/output.hpp"

#include "support/file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

namespace cybele::cli {

Result<void> check_output(const std::string& output, const std::vector<std::string>& inputs) {
    if (output.empty() || output == "-") {
        return {};
    }
    for (const std::string& input : inputs) {
        std::error_code error;
        if (!input.empty() && std::filesystem::equivalent(output, input, error)) {
            return fail(ErrorCode::kUsage,
                        problem("output-is-input", printable(output) + " is read by this command"),
                        "the result would replace it",
                        "write another name for the result");
        }
    }
    return {};
}

Result<void> check_new_output(const std::string& output, bool replaces) {
    std::error_code error;
    const auto status = std::filesystem::symlink_status(output, error);
    const bool is_device = std::filesystem::is_other(output, error); // /dev/stdout, a pipe
    const bool is_taken = std::filesystem::exists(status) && !is_device;
    if (output.empty() || output == "-" || replaces || !is_taken) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("import-output-exists", printable(output) + " exists already"),
                "a document is replaced only with --force",
                "add --force to replace it, or choose another file");
}

namespace {

Result<void> write_output(const std::string& output, std::string_view text, unsigned mode) {
    if (output != "-") {
        return write_file(output, text, mode);
    }
    auto printed = Session::try_print(text);
    if (!printed && errno == EPIPE) {
        Session::end_without_reader();
    }
    return printed;
}

} // namespace

Result<void> write_result(const std::string& output,
                          std::string_view text,
                          const std::string& input,
                          unsigned mode) {
    CYBELE_CHECK(check_output(output, {input}));
    return write_output(output, text, mode);
}

Result<void> write_rendered(const Session& session,
                            const std::string& output,
                            const std::string& text,
                            nlohmann::json facts,
                            unsigned mode) {
    const bool is_printed = output == "-";
    if (!is_printed || !session.is_json()) {
        CYBELE_CHECK(write_output(output, text, mode));
    }
    if (session.is_json()) {
        facts["format"] = 1;
        facts[is_printed ? "text" : "output"] = is_printed ? text : output;
        Session::print(json_text(facts) + "\n");
    }
    return {};
}

} // namespace cybele::cli
