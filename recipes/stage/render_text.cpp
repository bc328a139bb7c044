// SPDX-License-Identifier: Apache-2.0
#include "recipes/stage/render_text.hpp"

#include "support/characters.hpp"
#include "support/encoding.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::recipes {
namespace {

constexpr std::size_t kBase64Columns = 76;

bool is_blank_character(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f';
}

/// `{{ name }}` somewhere in the text.
bool has_template(std::string_view text) {
    for (auto at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at + 1)) {
        std::size_t end = at + 2;
        while (end < text.size() && is_blank_character(text[end])) {
            ++end;
        }
        const std::size_t name = end;
        while (end < text.size() && is_word_character(text[end])) {
            ++end;
        }
        const bool has_name = end > name;
        while (end < text.size() && is_blank_character(text[end])) {
            ++end;
        }
        if (has_name && text.substr(end).starts_with("}}")) {
            return true;
        }
    }
    return false;
}

bool begins_bootstrap(std::string_view line) {
    constexpr std::string_view kWord = "bootstrap:";
    return line.size() >= kWord.size() &&
           std::equal(kWord.begin(), kWord.end(), line.begin(), [](char lower, char c) {
               return lower == to_lower(c);
           });
}

/// Apptainer accepts every Unicode blank before `%`; to be safe any byte that is not
/// printable ASCII counts as one.
bool begins_section(std::string_view line) {
    for (const char c : line) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '%') {
            return true;
        }
        if (byte > 0x20 && byte < 0x7f) {
            return false;
        }
    }
    return false;
}

bool has_line(std::string_view text, std::string_view wanted) {
    while (!text.empty()) {
        const auto end = text.find('\n');
        if (text.substr(0, end) == wanted) {
            return true;
        }
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return false;
}

std::string with_final_newline(std::string_view text) {
    std::string lines(text);
    if (!lines.empty() && lines.back() != '\n') {
        lines += '\n';
    }
    return lines;
}

std::string upper_name(std::string_view name) {
    std::string upper(name);
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
        return c == '-' ? '_' : to_upper(c);
    });
    return upper;
}

} // namespace

std::string definition_quote(std::string_view word) {
    std::string quoted = "'";
    for (std::size_t i = 0; i < word.size(); ++i) {
        if (word[i] == '\'') {
            // Apptainer's interpreter of environment scripts keeps the backslash of `\'`.
            quoted += "'\"'\"'";
        } else {
            if (word[i] == '{' && i > 0 && word[i - 1] == '{') {
                quoted += "''";
            }
            quoted += word[i];
        }
    }
    return quoted + "'";
}

bool is_plain_payload(std::string_view text) {
    if (text.find('\r') != std::string_view::npos || text.find('\0') != std::string_view::npos ||
        has_template(text)) {
        return false;
    }
    while (!text.empty()) {
        const auto end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        if (begins_section(line) || begins_bootstrap(line)) {
            return false;
        }
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return true;
}

std::string export_lines(const Environment& environment) {
    std::string lines;
    for (const auto& [name, value] : environment) {
        const std::string quoted = definition_quote(value.value);
        switch (value.how) {
        case EnvironmentValue::How::kSet:
            lines += fmt::format("export {}={}\n", name, quoted);
            break;
        case EnvironmentValue::How::kPrepend:
            lines += fmt::format("export {0}={1}\"${{{0}:+:${0}}}\"\n", name, quoted);
            break;
        case EnvironmentValue::How::kAppend:
            lines += fmt::format("export {0}=\"${{{0}:+${0}:}}\"{1}\n", name, quoted);
            break;
        }
    }
    return lines;
}

std::string argument_lines(const std::map<std::string, std::string>& arguments) {
    std::string lines;
    for (const auto& [name, value] : arguments) {
        lines += "export " + upper_name(name) + "=" + definition_quote(value) + "\n";
    }
    return lines;
}

namespace {

/// `to` is a word for the shell already.
std::string written_lines(const std::string& to, std::string_view text) {
    std::string delimiter = "CYBELECTL_END";
    if (is_plain_payload(text) && (text.empty() || text.ends_with('\n'))) {
        while (has_line(text, delimiter)) {
            delimiter += "_";
        }
        return "cat > " + to + " <<'" + delimiter + "'\n" + std::string(text) + delimiter + "\n";
    }
    const std::string encoded = base64(text);
    std::string lines = "base64 -d > " + to + " <<'" + delimiter + "'\n";
    for (std::size_t at = 0; at < encoded.size(); at += kBase64Columns) {
        lines += encoded.substr(at, kBase64Columns) + "\n";
    }
    return lines + delimiter + "\n";
}

} // namespace

std::string write_file_lines(std::string_view path, std::string_view text) {
    return written_lines(definition_quote(path), text);
}

std::string write_variable_file_lines(std::string_view variable, std::string_view text) {
    return written_lines("\"$" + std::string(variable) + "\"", text);
}

std::string isolated(std::string_view lines) {
    return "(\nset -eu\numask 022\n" + with_final_newline(lines) + ")\n";
}

std::string script_lines(std::string_view script, std::string_view shell, std::string_view head) {
    const std::string run = with_final_newline(script);
    if (shell == "sh" && is_plain_payload(run)) {
        return std::string(head) + run;
    }
    const std::string command =
        shell == "bash" ? "bash -eu -o pipefail \"$cybelectl_step\"" : "sh -eu \"$cybelectl_step\"";
    return "cybelectl_step=$(mktemp)\n" + write_variable_file_lines("cybelectl_step", run) +
           std::string(head) + command + "\nrm -f \"$cybelectl_step\"\n";
}

std::string step_lines(const Step& step,
                       const Environment& environment,
                       const std::map<std::string, std::string>& arguments,
                       const std::string& more) {
    const std::string head = argument_lines(arguments) + more + export_lines(environment) + "cd " +
                             definition_quote(step.workdir.empty() ? "/" : step.workdir) + "\n";
    return isolated(script_lines(step.run, step.shell, head));
}

} // namespace cybele::recipes
