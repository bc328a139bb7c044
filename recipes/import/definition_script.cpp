// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/words.hpp"
#include "recipes/import/definition.hpp"
#include "recipes/import/dockerfile_words.hpp"
#include "recipes/import/shell_lines.hpp"
#include "recipes/stage/render_text.hpp"
#include "support/name.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

namespace cybele::recipes::definition_file {
namespace {

using How = EnvironmentValue::How;

/// The value that a variable had before, while values are put together.
constexpr char kBefore = '\x01';

/// `export PATH=/opt/x:$PATH` and its like, one after the other.
class Assignments {
public:
    std::optional<std::map<std::string, EnvironmentValue>> run(std::string_view script) {
        for (const auto& line : plain_lines(script)) {
            if (!line.is_plain) {
                return std::nullopt;
            }
            for (const auto& [begin, end] : line.commands) {
                if (!command(without_continuations(script.substr(begin, end - begin)))) {
                    return std::nullopt;
                }
            }
        }
        return fields();
    }

private:
    bool command(const std::string& text) {
        if (text.find_first_of("`~") != std::string::npos || text.find("$(") != std::string::npos) {
            return false;
        }
        const auto words = dockerfile::split_words(text, '\\');
        const bool is_export = words.front().text == "export";
        if (is_export && words.size() == 1) {
            return false;
        }
        for (std::size_t i = is_export ? 1 : 0; i < words.size(); ++i) {
            if (!word(words[i].text, is_export)) {
                return false;
            }
        }
        return true;
    }

    bool word(const std::string& text, bool is_export) {
        const auto equals = text.find('=');
        const std::string name = text.substr(0, equals);
        if (!is_variable_name(name) || (equals == std::string::npos && !is_export)) {
            return false;
        }
        if (is_export) {
            exported_.insert(name);
        }
        if (equals == std::string::npos) {
            return values_.contains(name);
        }
        const auto lookup = [&](std::string_view other) -> std::optional<dockerfile::Value> {
            const auto found = values_.find(other);
            const std::string value = found != values_.end() ? found->second
                                      : other == name        ? std::string(1, kBefore)
                                                             : std::string();
            const bool is_known = found != values_.end() || other == name;
            if (!is_known || (other != name && value.find(kBefore) != std::string::npos)) {
                return std::nullopt;
            }
            return dockerfile::Value{value, value};
        };
        auto expansion = dockerfile::expand(text.substr(equals + 1), '\\', lookup);
        if (!expansion.unknown.empty()) {
            return false;
        }
        values_[name] = std::move(expansion.value.plain);
        return true;
    }

    [[nodiscard]] std::optional<std::map<std::string, EnvironmentValue>> fields() const {
        std::map<std::string, EnvironmentValue> fields;
        for (const auto& [name, value] : values_) {
            const auto field = field_of(name, value);
            if (!field) {
                return std::nullopt;
            }
            fields[name] = *field;
        }
        return fields;
    }

    [[nodiscard]] std::optional<EnvironmentValue> field_of(const std::string& name,
                                                           const std::string& value) const {
        if (name != "PATH" && !exported_.contains(name)) {
            return std::nullopt; // only the base image knows whether it is exported
        }
        const auto before = value.find(kBefore);
        if (before == std::string::npos) {
            // a step could not know what the base's value was
            return name == "PATH" ? std::nullopt
                                  : std::optional(EnvironmentValue{How::kSet, literal(value)});
        }
        if (is_search_path_with_default(name)) {
            return std::nullopt;
        }
        const bool is_single = value.find(kBefore, before + 1) == std::string::npos;
        if (is_single && value.size() > 2 && before == value.size() - 1 &&
            value[before - 1] == ':') {
            return EnvironmentValue{How::kPrepend, literal(value.substr(0, before - 1))};
        }
        if (is_single && value.size() > 2 && before == 0 && value[1] == ':') {
            return EnvironmentValue{How::kAppend, literal(value.substr(2))};
        }
        return std::nullopt;
    }

    /// In these an empty element means the program's own folders, so that `a:` is not `a`.
    static bool is_search_path_with_default(std::string_view name) {
        return name == "MANPATH" || name == "INFOPATH" || name == "LUA_PATH" ||
               name == "LUA_CPATH" || name.starts_with("TEXINPUTS") || name == "BIBINPUTS";
    }

    std::map<std::string, std::string, std::less<>> values_;
    std::set<std::string> exported_;
};

/// Words that a shell runs itself.
constexpr std::string_view kShellWords = "echo printf test [ cd . source eval exec export set true "
                                         "false : kill pwd read ulimit umask wait command type "
                                         "unset return exit trap shift local alias";

/// What a shell replaces or ends a word at, in double quotes or in none.
constexpr std::string_view active_in(bool is_double) {
    return is_double ? "$`\\" : "$`\\*?[]~{}!#=";
}

bool is_plain_word(const std::string& raw) {
    bool is_single = false;
    bool is_double = false;
    for (const char c : raw) {
        if (c == '\'' && !is_double) {
            is_single = !is_single;
        } else if (c == '"' && !is_single) {
            is_double = !is_double;
        } else if (!is_single && active_in(is_double).find(c) != std::string_view::npos) {
            return false;
        }
    }
    return true;
}

} // namespace

std::optional<std::map<std::string, EnvironmentValue>> read_assignments(std::string_view script) {
    return Assignments().run(script);
}

std::optional<std::vector<std::string>> program_of(std::string_view script) {
    std::string command;
    for (const auto& line : plain_lines(script)) {
        if (!line.is_plain || (!command.empty() && !line.commands.empty()) ||
            line.commands.size() > 1) {
            return std::nullopt;
        }
        for (const auto& [begin, end] : line.commands) {
            command = without_continuations(script.substr(begin, end - begin));
        }
    }
    auto words = dockerfile::split_words(command, '\\');
    if (!words.empty() && words.front().text == "exec") {
        words.erase(words.begin());
    }
    if (words.size() < 2 || words.back().text != "\"$@\"") {
        return std::nullopt;
    }
    words.pop_back();
    std::vector<std::string> program;
    for (const auto& word : words) {
        if (!is_plain_word(word.text)) {
            return std::nullopt;
        }
        program.push_back(literal(dockerfile::expand(word.text, '\\', [](std::string_view) {
                                      return std::nullopt;
                                  }).value.plain));
    }
    return has_word(kShellWords, program.front()) || program.front().starts_with('-')
               ? std::nullopt
               : std::optional(std::move(program));
}

std::string interpreter_of(std::string_view script) {
    const std::string_view line = trimmed(script.substr(0, script.find('\n')));
    return line.starts_with("#!") ? std::string(trimmed(line.substr(2))) : std::string();
}

namespace {

/// A quote that ends in its line, counted with and without those behind a backslash.
bool is_quoted_within(std::string_view line) {
    if (trimmed(line).starts_with('#')) {
        return true;
    }
    bool is_even = true;
    for (const char quote : {'"', '\'', '`'}) {
        bool is_open = false;
        bool is_bare_open = false;
        for (std::size_t i = 0; i < line.size(); ++i) {
            const bool is_quote = line[i] == quote;
            is_open = is_open != is_quote;
            is_bare_open = is_bare_open != (is_quote && (i == 0 || line[i - 1] != '\\'));
        }
        is_even = is_even && !is_open && !is_bare_open;
    }
    return is_even;
}

} // namespace

std::string without_indent(std::string text) {
    if (text.find('\r') != std::string::npos) {
        return text;
    }
    const std::vector<std::string> lines = lines_of(text);
    std::optional<std::string_view> common;
    for (const std::string_view line : lines) {
        // `a\` joins its next line: the blanks there end the word.
        const bool joins = line.ends_with('\\') &&
                           line.find_last_not_of(" \t", line.size() - 2) == line.size() - 2;
        if (joins || !is_quoted_within(line) || line.find("<<") != std::string_view::npos) {
            return text;
        }
        const std::size_t blanks = line.find_first_not_of(" \t");
        if (blanks == std::string_view::npos) {
            continue;
        }
        const std::string_view own = line.substr(0, blanks);
        const std::string_view shared = common.value_or(own);
        const auto end = std::mismatch(shared.begin(), shared.end(), own.begin(), own.end()).first;
        common = own.substr(0, static_cast<std::size_t>(end - shared.begin()));
    }
    if (!common || common->empty()) {
        return text;
    }
    std::string plain;
    for (const std::string_view line : lines) {
        plain += line.starts_with(*common) ? line.substr(common->size()) : std::string_view();
        plain += '\n';
    }
    return plain;
}

std::string without_last_blanks(std::string text) {
    const auto last = text.find_last_not_of(" \t\n");
    if (last == std::string::npos) {
        return {};
    }
    if (text[last] == '\\') {
        return text; // the blank line ends its command
    }
    const auto end = text.find('\n', last);
    return text.substr(0, end) + "\n";
}

std::string executable_lines(const std::string& path, const std::string& script) {
    const auto slash = path.rfind('/');
    const auto first = std::min(script.find('\n'), script.size());
    const std::string_view head = trimmed(std::string_view(script).substr(0, first));
    const bool has_interpreter = head.starts_with("#!"); // which kernels read in column 1
    const std::string text = has_interpreter ? std::string(head) + script.substr(first) : script;
    return "mkdir -p " + definition_quote(path.substr(0, slash)) + "\n" +
           write_file_lines(path, text) + "chmod 755 " + definition_quote(path) + "\n";
}

std::string environment_lines(const std::string& script) {
    const std::string file = "/.singularity.d/env/90-environment.sh";
    const std::string more = file + ".import"; // no start reads a file of this name
    return "mkdir -p /.singularity.d/env\n" + write_file_lines(more, "\n" + script + "\n") +
           "[ -e " + file + " ] || echo '#!/bin/sh' > " + file + "\ncat " + more + " >> " + file +
           "\nrm " + more + "\nchmod 755 " + file + "\n";
}

} // namespace cybele::recipes::definition_file
