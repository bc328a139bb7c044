// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/known_environment.hpp"

#include "images/container/layout_files.hpp"
#include "runtime/containers/environment_files.hpp"
#include "support/file.hpp"
#include "support/name.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fcntl.h>

namespace cybele::runtime {
namespace {

constexpr std::string_view kImageLibraries = "/.singularity.d/libs";

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Means itself outside of quotes. Not `~`, which a shell replaces behind `=` and `:`.
bool is_plain(char c) {
    return is_word_character(c) || std::string_view("./:,@%+=-").find(c) != std::string_view::npos;
}

std::string value_of(const EnvironmentMap& variables, const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
}

/// The word behind `NAME=`, taken apart from left to right.
class Word {
public:
    Word(std::string_view text, const EnvironmentMap& variables)
        : rest_(text), variables_(variables) {}

    /// Nothing where the word has what a shell would do more with.
    std::optional<std::string> read() {
        while (is_known_ && !rest_.empty()) {
            const char c = take();
            if (c == '\'') {
                const std::size_t end = rest_.find('\'');
                is_known_ = end != std::string_view::npos;
                value_ += rest_.substr(0, end);
                rest_.remove_prefix(is_known_ ? end + 1 : rest_.size());
            } else if (c == '"') {
                read_quoted();
            } else {
                is_known_ = is_plain(c);
                value_ += c;
            }
        }
        return is_known_ ? std::optional(std::move(value_)) : std::nullopt;
    }

private:
    char take() {
        const char c = rest_.empty() ? '\0' : rest_.front();
        rest_.remove_prefix(rest_.empty() ? 0 : 1);
        return c;
    }
    std::string take_name() {
        const auto* const end = std::find_if_not(rest_.begin(), rest_.end(), is_word_character);
        std::string name(rest_.begin(), end);
        rest_.remove_prefix(name.size());
        is_known_ = is_known_ && !name.empty() && is_letter(name.front());
        return name;
    }
    void read_quoted() {
        while (is_known_) {
            const char c = take();
            if (c == '"') {
                return;
            }
            is_known_ = c != '\0' && c != '\\' && c != '`';
            if (c == '$') {
                read_variable();
            } else {
                value_ += c;
            }
        }
    }
    void read_variable() {
        const bool has_brace = !rest_.empty() && rest_.front() == '{';
        rest_.remove_prefix(has_brace ? 1 : 0);
        const std::string value = value_of(variables_, take_name());
        if (!has_brace || (!rest_.empty() && rest_.front() == '}')) {
            rest_.remove_prefix(has_brace ? 1 : 0);
            value_ += value;
            return;
        }
        is_known_ = is_known_ && rest_.starts_with(":+");
        rest_.remove_prefix(is_known_ ? 2 : rest_.size());
        read_alternative(!value.empty());
    }
    /// The TEXT of `${NAME:+TEXT}`: plain letters and `$NAME`.
    void read_alternative(bool is_wanted) {
        for (char c = take(); is_known_ && c != '}'; c = take()) {
            const std::string piece =
                c == '$' ? value_of(variables_, take_name()) : std::string(1, c);
            is_known_ = is_known_ && (c == '$' || is_plain(c));
            value_ += is_wanted ? piece : std::string();
        }
    }

    std::string_view rest_;
    const EnvironmentMap& variables_;
    std::string value_;
    bool is_known_ = true;
};

/// One line; false where a shell must read it.
bool apply_line(std::string_view line, EnvironmentMap& variables) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    line = line.substr(0, line.find_last_not_of(" \t") + 1);
    if (line.empty() || line.front() == '#') {
        return true;
    }
    constexpr std::string_view kExport = "export ";
    if (!line.starts_with(kExport)) {
        return false;
    }
    line.remove_prefix(kExport.size());
    const std::size_t equals = line.find('=');
    const std::string name(line.substr(0, equals));
    if (equals == std::string_view::npos || name.empty() || !is_letter(name.front()) ||
        !std::all_of(name.begin(), name.end(), is_word_character)) {
        return false;
    }
    auto value = Word(line.substr(equals + 1), variables).read();
    if (value) {
        variables[name] = std::move(*value);
    }
    return value.has_value();
}

bool apply_lines(std::string_view text, EnvironmentMap& variables) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (!apply_line(text.substr(0, end), variables)) {
            return false;
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return true;
}

// What the files do that builds of this program put into every image.

bool apply_apps(EnvironmentMap& variables) {
    return value_of(variables, "APPTAINER_APPNAME").empty() &&
           value_of(variables, "SINGULARITY_APPNAME").empty();
}

bool apply_base(EnvironmentMap& variables) {
    std::string& path = variables["LD_LIBRARY_PATH"];
    if ((':' + path + ':').find(':' + std::string(kImageLibraries) + ':') == std::string::npos) {
        path += (path.empty() ? "" : ":") + std::string(kImageLibraries);
    }
    if (std::string& prompt = variables["PS1"]; prompt.empty()) {
        prompt = "Apptainer> ";
    }
    return true;
}

bool apply_runtime_variables(EnvironmentMap& variables) {
    return std::none_of(variables.begin(), variables.end(), [](const auto& variable) {
        return variable.first.starts_with("SING_USER_DEFINED_");
    });
}

struct KnownFile {
    std::string_view name;
    bool (*apply)(EnvironmentMap& variables);
};
constexpr std::array kKnownFiles = {KnownFile{"95-apps.sh", apply_apps},
                                    KnownFile{"99-base.sh", apply_base},
                                    KnownFile{"99-runtimevars.sh", apply_runtime_variables}};

/// The text that builds write under this name.
std::string_view own_text(std::string_view name) {
    for (const EmbeddedFile& file : embedded::singularity_files()) {
        if (file.name == std::string(images::kDataFolder) + "env/" + std::string(name)) {
            return file.bytes;
        }
    }
    return {};
}

} // namespace

std::optional<EnvironmentMap>
read_known_file(std::string_view name, std::string_view text, EnvironmentMap variables) {
    for (const KnownFile& known : kKnownFiles) {
        if (known.name == name && text == own_text(name)) {
            return known.apply(variables) ? std::optional(std::move(variables)) : std::nullopt;
        }
    }
    return apply_lines(text, variables) ? std::optional(std::move(variables)) : std::nullopt;
}

std::optional<EnvironmentMap> read_known_files(const std::filesystem::path& folder,
                                               EnvironmentMap variables) {
    const UniqueFd opened(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto files = read_environment_files(opened.get());
    std::optional<EnvironmentMap> known = std::move(variables);
    if (!opened.valid()) {
        return known;
    }
    if (!files) {
        return std::nullopt;
    }
    for (const EnvironmentFile& file : *files) {
        known = read_known_file(file.name, file.text, std::move(*known));
        if (!known) {
            return std::nullopt;
        }
    }
    return known;
}

} // namespace cybele::runtime
