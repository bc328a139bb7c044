// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/scan.hpp"

#include "definitions/grammar/grammar.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

constexpr std::string_view kBootstrap = "bootstrap:";
/// Size of the buffer of Apptainer's scanner.
constexpr std::size_t kSectionLimit = 65536;

/// Apptainer compares letters by Unicode's folding, in which U+017F is an `s`.
constexpr std::string_view kLongS = "\xC5\xBF";

bool begins_stage(std::string_view line) {
    for (const char wanted : kBootstrap) {
        if (wanted == 's' && line.starts_with(kLongS)) {
            line.remove_prefix(kLongS.size());
            continue;
        }
        if (line.empty() || (line.front() | (wanted == ':' ? 0 : 0x20)) != wanted) {
            return false;
        }
        line.remove_prefix(1);
    }
    return true;
}

/// The next line with its LF; the rest where there is none.
std::string_view next_line(std::string_view text) {
    const std::size_t end = text.find('\n');
    return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

/// The line without its end: LF, or CR LF.
std::string_view without_end(std::string_view line) {
    if (line.ends_with('\n')) {
        line.remove_suffix(1);
    }
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return line;
}

bool is_section_line(std::string_view line) {
    while (const std::size_t length = blank_length(line)) {
        line.remove_prefix(length);
    }
    return line.starts_with('%');
}

/// One token while it grows, with its size as the file has it.
struct Growing {
    Token token;
    std::size_t bytes = 0;
};

/// Whether Apptainer's buffer holds the piece: with the section line that ends it, or, at the
/// end of the file, with one byte to spare.
bool fits(const Growing& growing, std::string_view ending_line) {
    if (ending_line.ends_with('\n')) {
        return growing.bytes + ending_line.size() <= kSectionLimit;
    }
    return growing.bytes + ending_line.size() < kSectionLimit;
}

Error too_long(const Growing& growing) {
    Fault fault;
    fault.code = ErrorCode::kInput;
    fault.message =
        growing.token.is_section ? "this section is too long" : "this header is too long";
    fault.because =
        fmt::format("it has {} bytes; with the section line that follows it may have {}",
                    growing.bytes,
                    kSectionLimit);
    fault.help = "split it into several sections of the same name";
    fault.where =
        Place{{}, growing.token.index, 1, std::string(without_end(next_line(growing.token.text)))};
    return Error(std::move(fault));
}

} // namespace

std::vector<StageText> split_stages(std::string_view text) {
    std::vector<StageText> stages;
    StageText current;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = next_line(text);
        if (begins_stage(line) && !current.text.empty()) {
            stages.push_back(std::move(current));
            current = {};
        }
        current.text += line;
        current.lines.push_back(number);
        text.remove_prefix(line.size());
    }
    if (!current.text.empty()) {
        stages.push_back(std::move(current));
    }
    return stages;
}

Result<std::vector<Token>> scan_sections(std::string_view stage) {
    std::vector<Token> tokens;
    Growing growing;
    std::size_t index = 0;
    for (; !stage.empty(); ++index) {
        const std::string_view line = next_line(stage);
        if (is_section_line(line)) {
            if (growing.bytes > 0) {
                if (!fits(growing, line)) {
                    return fail(too_long(growing));
                }
                tokens.push_back(std::move(growing.token));
            }
            growing = {};
            growing.token.index = index;
            growing.token.is_section = true;
        }
        growing.token.text += without_end(line);
        growing.token.text += '\n';
        growing.bytes += line.size();
        stage.remove_prefix(line.size());
    }
    if (growing.bytes > 0) {
        if (!fits(growing, {})) {
            return fail(too_long(growing));
        }
        tokens.push_back(std::move(growing.token));
    }
    return tokens;
}

Fault fault_at(std::string_view file, std::size_t line, std::string_view text) {
    const std::string_view shown = without_end(next_line(text));
    std::size_t column = 1;
    std::string_view rest = shown;
    for (std::size_t length = blank_length(rest); length > 0; length = blank_length(rest)) {
        rest.remove_prefix(length);
        column += length;
    }
    Fault fault;
    fault.code = ErrorCode::kInput;
    fault.where =
        Place{std::string(file), line, shown.size() < column ? 1 : column, printable(shown)};
    return fault;
}

} // namespace cybele::definitions
