// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/known_environment.hpp"

#include "images/container/layout_files.hpp"
#include "runtime/containers/environment_files.hpp"
#include "support/characters.hpp"
#include "support/file.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

namespace cybele::runtime {
namespace {

constexpr std::string_view kImageLibraries = "/.singularity.d/libs";

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/// Means itself outside of quotes. Not `~`, which a shell replaces behind `=` and `:`.
bool is_plain(char c) {
    return is_word_character(c) || std::string_view("./:,@%+=-").find(c) != std::string_view::npos;
}

/// Of a shell: what programs see, and what only the shell has.
struct ShellVariables {
    EnvironmentMap exported;
    EnvironmentMap own;
    std::set<std::string, std::less<>> marked; ///< exported as soon as they are set

    [[nodiscard]] std::string get(const std::string& name) const {
        const auto found = exported.find(name);
        if (found != exported.end()) {
            return found->second;
        }
        const auto other = own.find(name);
        return other == own.end() ? std::string() : other->second;
    }
    void set(const std::string& name, std::string value) {
        const bool is_exported = exported.contains(name) || marked.contains(name);
        (is_exported ? exported : own)[name] = std::move(value);
    }
    void give_out(const std::string& name) {
        marked.insert(name);
        if (auto found = own.extract(name)) {
            exported[name] = std::move(found.mapped());
        }
    }
    void unset(const std::string& name) {
        exported.erase(name);
        own.erase(name);
        marked.erase(name);
    }
};

/// A word, taken apart from left to right up to a blank.
class EnvironmentWord {
public:
    EnvironmentWord(std::string_view text, const ShellVariables& variables)
        : rest_(text), variables_(variables) {}

    /// Nothing where the word has what a shell would do more with.
    std::optional<std::string> read() {
        while (is_known_ && !rest_.empty() && !is_blank(rest_.front())) {
            const char c = take();
            if (c == '\'') {
                const std::size_t end = rest_.find('\'');
                is_known_ = end != std::string_view::npos;
                value_ += rest_.substr(0, end);
                rest_.remove_prefix(is_known_ ? end + 1 : rest_.size());
            } else if (c == '"') {
                read_quoted();
            } else if (c == '$') {
                const std::size_t before = value_.size();
                read_variable();
                is_split_ =
                    is_split_ || !std::all_of(value_.begin() + static_cast<std::ptrdiff_t>(before),
                                              value_.end(),
                                              is_plain);
            } else {
                is_known_ = is_plain(c);
                value_ += c;
            }
        }
        return is_known_ ? std::optional(std::move(value_)) : std::nullopt;
    }
    [[nodiscard]] std::string_view rest() const {
        return rest_;
    }
    /// Whether shells differ in what they make of it behind `export`.
    [[nodiscard]] bool is_split() const {
        return is_split_;
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
        is_known_ = is_known_ && !name.empty() && is_word_start(name.front());
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
        const std::string value = variables_.get(take_name());
        if (!has_brace || (!rest_.empty() && rest_.front() == '}')) {
            rest_.remove_prefix(has_brace ? 1 : 0);
            value_ += value;
            return;
        }
        const bool is_otherwise = rest_.starts_with(":-");
        is_known_ = is_known_ && (is_otherwise || rest_.starts_with(":+"));
        rest_.remove_prefix(is_known_ ? 2 : rest_.size());
        value_ += is_otherwise ? value : std::string();
        read_alternative(is_otherwise == value.empty());
    }
    /// The TEXT of `${NAME:+TEXT}` and `${NAME:-TEXT}`: plain letters, `$NAME` and text in quotes.
    void read_alternative(bool is_wanted) {
        for (char c = take(); is_known_ && c != '}'; c = take()) {
            std::string piece(1, c);
            if (c == '$') {
                piece = variables_.get(take_name());
            } else if (c == '"') {
                const std::size_t end = std::min(rest_.find('"'), rest_.size());
                piece = rest_.substr(0, end);
                is_known_ = end < rest_.size() && piece.find_first_of("$`\\}") == std::string::npos;
                rest_.remove_prefix(std::min(end + 1, rest_.size()));
            } else {
                is_known_ = is_known_ && is_plain(c);
            }
            value_ += is_wanted ? piece : std::string();
        }
    }

    std::string_view rest_;
    const ShellVariables& variables_;
    std::string value_;
    bool is_known_ = true;
    bool is_split_ = false;
};

void skip_blanks(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

/// The name before `=` or a blank; empty where it is not a name, or has a meaning to the shell.
std::optional<std::string> take_variable_name(std::string_view& text) {
    constexpr std::string_view kOfTheShell[] = {"IFS", "UID", "EUID", "PPID", "OPTIND", "RANDOM"};
    const auto* const end = std::find_if_not(text.begin(), text.end(), is_word_character);
    std::string name(text.begin(), end);
    text.remove_prefix(name.size());
    const bool is_other = contains(kOfTheShell, name);
    return name.empty() || !is_word_start(name.front()) || is_other
               ? std::nullopt
               : std::optional(std::move(name));
}

/// Reads files of a shell's lines, as far as it knows them.
class EnvironmentLines {
public:
    explicit EnvironmentLines(ShellVariables& variables) : variables_(variables) {}

    /// False where a shell must read the file.
    bool read(std::string_view text) {
        std::string line;
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            line += text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            if (line.ends_with('\\') && line.find('\'') == std::string::npos && !text.empty()) {
                line.pop_back();
                continue;
            }
            std::string_view one = line;
            skip_blanks(one);
            one = one.substr(0, one.find_last_not_of(" \t") + 1);
            if (!one.empty() && one.front() != '#' && !read_line(one)) {
                return false;
            }
            line.clear();
        }
        return line.empty() && branches_.empty();
    }

private:
    struct Branch {
        bool is_on = false;    ///< this part is read
        bool was_on = false;   ///< it, or one before it
        bool has_then = false; ///< whether `then` was read
    };

    [[nodiscard]] bool is_on() const {
        return std::ranges::all_of(branches_, [](const Branch& one) { return one.is_on; });
    }

    bool read_line(std::string_view line) {
        if (!branches_.empty() && !branches_.back().has_then) {
            branches_.back().has_then = line == "then";
            return branches_.back().has_then;
        }
        if (line == "fi" || line == "else") {
            return read_end(line);
        }
        if (line.starts_with("if ") || line.starts_with("elif ")) {
            return read_condition(line);
        }
        if (!is_on()) { // not read, but for what it opens
            const auto count = [&](char c) { return std::count(line.begin(), line.end(), c); };
            return line.find("<<") == std::string_view::npos && count('"') % 2 == 0 &&
                   count('\'') % 2 == 0 && line.substr(0, 2) != "fi";
        }
        return apply(line);
    }

    bool read_end(std::string_view word) {
        if (branches_.empty()) {
            return false;
        }
        if (word == "fi") {
            branches_.pop_back();
            return true;
        }
        Branch& branch = branches_.back();
        branch.is_on = !branch.was_on;
        branch.was_on = true;
        return true;
    }

    bool read_condition(std::string_view line) {
        const bool is_else = line.front() == 'e';
        line.remove_prefix(is_else ? 5 : 3);
        const bool has_then = line.ends_with("; then") || line.ends_with(";then");
        if (has_then) {
            line = line.substr(0, line.rfind(';'));
        }
        if (is_else && branches_.empty()) {
            return false;
        }
        if (is_else) {
            branches_.back().is_on = false;
        }
        const bool is_asked = is_else ? !branches_.back().was_on && is_on_above() : is_on();
        const auto answer = is_asked ? is_true(line) : std::optional(false);
        if (!answer) {
            return false;
        }
        if (!is_else) {
            branches_.emplace_back();
        }
        Branch& branch = branches_.back();
        branch.is_on = *answer;
        branch.was_on = branch.was_on || *answer;
        branch.has_then = has_then;
        return true;
    }

    [[nodiscard]] bool is_on_above() const {
        return std::all_of(
            branches_.begin(), branches_.end() - 1, [](const Branch& one) { return one.is_on; });
    }

    /// `[ -n WORD ]`, `test -d WORD`.
    std::optional<bool> is_true(std::string_view line) {
        line = line.substr(0, line.find_last_not_of(" \t") + 1);
        if (line.starts_with("[ ") && line.ends_with(" ]")) {
            line = line.substr(2, line.size() - 4);
        } else if (line.starts_with("test ")) {
            line.remove_prefix(5);
        } else {
            return std::nullopt;
        }
        skip_blanks(line);
        const std::string_view asked = line.substr(0, 3);
        line.remove_prefix(asked.size());
        skip_blanks(line);
        EnvironmentWord word(line, variables_);
        const auto value = word.read();
        std::string_view rest = word.rest();
        skip_blanks(rest);
        // Without quotes a shell sees no word at all where the variable is empty: `[ -n ]` is true.
        const bool is_gone = value && value->empty() && line.find_first_of("\"'") == line.npos;
        if (!value || !rest.empty() || word.is_split() || is_gone) {
            return std::nullopt;
        }
        struct stat status = {};
        const bool is_there = stat(value->c_str(), &status) == 0;
        return asked == "-n "   ? std::optional(!value->empty())
               : asked == "-z " ? std::optional(value->empty())
               : asked == "-d " ? std::optional(is_there && S_ISDIR(status.st_mode))
               : asked == "-f " ? std::optional(is_there && S_ISREG(status.st_mode))
                                : std::nullopt;
    }

    /// `NAME=WORD`, `export NAME[=WORD]…`, `unset NAME…`.
    bool apply(std::string_view line) {
        const bool is_export = line.starts_with("export ");
        const bool is_unset = line.starts_with("unset ");
        line.remove_prefix(is_export ? 7 : is_unset ? 6 : 0);
        for (skip_blanks(line); !line.empty(); skip_blanks(line)) {
            const auto name = take_variable_name(line);
            const bool has_value = name && line.starts_with('=');
            const bool is_alone = line.empty() || is_blank(line.front());
            if (!name || (has_value ? is_unset : !is_alone || !(is_export || is_unset))) {
                return false;
            }
            if (has_value && !assign(*name, line, is_export)) {
                return false;
            }
            if (is_export) {
                variables_.give_out(*name);
            } else if (is_unset) {
                variables_.unset(*name);
            }
        }
        return true;
    }

    bool assign(const std::string& name, std::string_view& line, bool is_export) {
        EnvironmentWord word(line.substr(1), variables_);
        auto value = word.read();
        line = word.rest();
        if (!value || (is_export && word.is_split())) {
            return false;
        }
        variables_.set(name, std::move(*value));
        return true;
    }

    ShellVariables& variables_;
    std::vector<Branch> branches_;
};

/// Like a shell that reads an OCI image's own PATH, which may be short.
void complete_path(ShellVariables& variables) {
    std::string path = variables.get("PATH");
    for (const std::string_view folder :
         {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}) {
        const std::string part = ':' + std::string(folder);
        path += (':' + path + ':').find(part + ':') == std::string::npos ? part : std::string();
    }
    variables.set("PATH", path);
    variables.give_out("PATH");
}

std::string value_of(const EnvironmentMap& variables, const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
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
    return std::ranges::none_of(variables, [](const auto& variable) {
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

/// False where a shell must read the file; the variables are then of no use.
bool read_file_of(std::string_view name, std::string_view text, ShellVariables& variables) {
    for (const KnownFile& known : kKnownFiles) {
        if (known.name == name && text == own_text(name)) {
            return known.apply(variables.exported);
        }
    }
    if (!EnvironmentLines(variables).read(text)) {
        return false;
    }
    if (name.starts_with("10-docker")) {
        complete_path(variables);
    }
    return true;
}

} // namespace

std::optional<EnvironmentMap>
read_known_file(std::string_view name, std::string_view text, EnvironmentMap variables) {
    ShellVariables all{std::move(variables), {}, {}};
    return read_file_of(name, text, all) ? std::optional(std::move(all.exported)) : std::nullopt;
}

std::optional<EnvironmentMap> read_known_files(const std::filesystem::path& folder,
                                               EnvironmentMap variables) {
    const UniqueFd opened(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto files = read_environment_files(opened.get());
    if (!opened.valid()) {
        return variables;
    }
    if (!files) {
        return std::nullopt;
    }
    ShellVariables all{std::move(variables), {}, {}};
    for (const EnvironmentFile& file : *files) {
        if (!read_file_of(file.name, file.text, all)) {
            return std::nullopt;
        }
    }
    return std::move(all.exported);
}

} // namespace cybele::runtime
