// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/commands.hpp"

#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace cybele::recipes::dockerfile {
namespace {

/// How a manager's calls are recognised. Lists have blanks between.
struct ManagerCalls {
    std::string_view manager;
    std::string_view programs;
    std::string_view install;
    std::string_view flags;      ///< that change nothing
    std::string_view exact;      ///< that make it the same as the Recipe's; all of `|` wanted
    std::string_view idle;       ///< subcommands that leave nothing behind
    std::string_view idle_paths; ///< what may be removed
};
constexpr std::array kCalls{
    ManagerCalls{
        "apt",
        "apt-get apt",
        "install",
        "-y -yy --yes --assume-yes -q -qq --quiet -qqy -yq -yqq -qy --no-install-suggests "
        "-oDpkg::Use-Pty=0 -o=Dpkg::Use-Pty=0",
        "--no-install-recommends",
        "update clean autoclean",
        "/var/lib/apt/lists/* /var/lib/apt/lists /var/cache/apt/* /var/cache/apt/archives/*"},
    ManagerCalls{"dnf",
                 "dnf yum",
                 "install",
                 "-y --assumeyes -q --quiet -yq -qy",
                 "--setopt=install_weak_deps=False|--nodocs",
                 "clean makecache",
                 "/var/cache/dnf /var/cache/yum /var/cache/dnf/* /var/cache/yum/*"},
    ManagerCalls{"yum",
                 "yum",
                 "install",
                 "-y --assumeyes -q --quiet -yq -qy",
                 "--nodocs",
                 "clean makecache",
                 "/var/cache/yum /var/cache/yum/*"},
    ManagerCalls{"zypper",
                 "zypper",
                 "install in",
                 "-y --non-interactive -n -q --quiet --no-confirm",
                 "--no-recommends",
                 "refresh ref clean",
                 "/var/cache/zypp/*"},
    ManagerCalls{
        "apk", "apk", "add", "--no-cache -q --quiet --update -U", "", "update", "/var/cache/apk/*"},
};

/// Spellings of one option.
std::string canonical(const std::string& option) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kSame{{
        {"--setopt=install_weak_deps=0", "--setopt=install_weak_deps=False"},
        {"--setopt=install_weak_deps=false", "--setopt=install_weak_deps=False"},
        {"--setopt=tsflags=nodocs", "--nodocs"},
        {"--no-install-recommends=true", "--no-install-recommends"},
        {"-oAPT::Install-Recommends=false", "--no-install-recommends"},
        {"-oAPT::Install-Recommends=0", "--no-install-recommends"},
    }};
    for (const auto& [from, to] : kSame) {
        if (option == from) {
            return std::string(to);
        }
    }
    return option;
}

/// The commands of a list, where `&&` (or, after `set -e`, `;`) joins them and nothing else.
struct ShellCommand {
    std::size_t begin = 0;
    std::size_t end = 0;
};

class Splitter {
public:
    explicit Splitter(std::string_view text) : text_(text) {}

    /// nullopt where a later command depends on an earlier one's failure.
    std::optional<std::vector<ShellCommand>> run() {
        for (std::size_t i = 0; i < text_.size(); ++i) {
            if (!step(i)) {
                return std::nullopt;
            }
        }
        close(text_.size());
        return quote_ == 0 && depth_ == 0 ? std::optional(std::move(commands_)) : std::nullopt;
    }

private:
    bool step(std::size_t& i) {
        const char c = text_[i];
        const char next = i + 1 < text_.size() ? text_[i + 1] : '\0';
        if (quote_ != 0) {
            i += c == '\\' && quote_ == '"' ? 1 : 0;
            quote_ = c == quote_ ? static_cast<char>(0) : quote_;
        } else if (c == '\\') {
            ++i;
        } else if (c == '"' || c == '\'' || c == '`') {
            quote_ = c;
        } else if (c == '(' || c == ')') {
            depth_ += c == '(' ? 1 : -1;
        } else if (depth_ != 0) {
            return depth_ > 0;
        } else if (c == '&' && next == '&') {
            close(i);
            begin_ = i + 2;
            ++i;
        } else if (c == '&') {
            return next == '>' || (i > 0 && text_[i - 1] == '>');
        } else if (c == ';') {
            close(i);
            begin_ = i + 1;
            return stops_;
        } else {
            const bool is_or = c == '|' && next == '|';
            return !is_or && c != '\n' && c != '#';
        }
        return true;
    }

    void close(std::size_t end) {
        ShellCommand command{begin_, end};
        while (command.begin < command.end && text_[command.begin] == ' ') {
            ++command.begin;
        }
        while (command.end > command.begin && text_[command.end - 1] == ' ') {
            --command.end;
        }
        if (command.begin == command.end) {
            return;
        }
        const std::string_view own = text_.substr(command.begin, command.end - command.begin);
        if (commands_.empty() && own.starts_with("set -") &&
            own.substr(4, own.find(' ', 4) - 4).find('e') != std::string_view::npos) {
            stops_ = true;
        }
        commands_.push_back(command);
    }

    std::string_view text_;
    std::vector<ShellCommand> commands_;
    std::size_t begin_ = 0;
    int depth_ = 0;
    char quote_ = 0;
    bool stops_ = false; ///< `set -e` came first
};

enum class Meaning { kUnknown, kIdle, kKept, kSystem, kPip };

class Lifter {
public:
    Lifter(std::string_view text, const InstallContext& context) : text_(text), context_(context) {}

    PackageInstalls run() {
        const auto commands = Splitter(text_).run();
        if (!commands) {
            return {};
        }
        std::string kept;
        std::size_t done = 0;
        for (; done < commands->size(); ++done) {
            const auto [begin, end] = (*commands)[done];
            const std::string own(text_.substr(begin, end - begin));
            const Meaning meaning = judge(own);
            if (meaning == Meaning::kUnknown) {
                break;
            }
            if (meaning == Meaning::kKept) {
                kept += own + " && ";
            }
        }
        if (lift_.system.empty() && lift_.pip.empty()) {
            PackageInstalls nothing;
            nothing.is_idle = !commands->empty() && done == commands->size() && kept.empty();
            nothing.why_not = lift_.why_not;
            return nothing;
        }
        if (done < commands->size()) {
            lift_.rest = kept + std::string(text_.substr((*commands)[done].begin));
            if (calls_manager(text_.substr((*commands)[done].begin))) {
                PackageInstalls nothing;
                nothing.why_not = "the package manager is called again after other commands";
                return nothing;
            }
        }
        lift_.why_not.clear();
        lift_.is_lifted = true;
        return std::move(lift_);
    }

private:
    [[nodiscard]] const ManagerCalls* calls() const {
        for (const auto& row : kCalls) {
            if (row.manager == context_.manager) {
                return &row;
            }
        }
        return nullptr;
    }

    [[nodiscard]] bool calls_manager(std::string_view rest) const {
        for (const auto& word : split_words(rest, '\\')) {
            if (calls() != nullptr && has_word(calls()->programs, word.text)) {
                return true;
            }
        }
        return false;
    }

    /// A word without quotes; nullopt where a shell would make something else of it.
    [[nodiscard]] std::optional<Value> word(const std::string& raw) const {
        if (raw.find_first_of("*?[]`<>|&(){}!~") != std::string::npos &&
            raw.find('$') == std::string::npos) {
            return raw.find_first_of("'\"") == std::string::npos ? std::nullopt : plain(raw);
        }
        if (raw.find("$(") != std::string::npos ||
            raw.find_first_of("`<>|&()") != std::string::npos) {
            return std::nullopt;
        }
        return plain(raw);
    }

    [[nodiscard]] std::optional<Value> plain(const std::string& raw) const {
        Expansion expansion = expand(raw, '\\', context_.lookup);
        return expansion.unknown.empty() ? std::optional(std::move(expansion.value)) : std::nullopt;
    }

    Meaning judge(const std::string& command) {
        auto words = split_words(command, '\\');
        std::size_t at = 0;
        while (at < words.size() &&
               (words[at].text.starts_with("DEBIAN_FRONTEND=") ||
                words[at].text.starts_with("LC_ALL=") || words[at].text.starts_with("PIP_"))) {
            ++at;
        }
        if (at == words.size()) {
            return Meaning::kUnknown;
        }
        words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at));
        const std::string& program = words.front().text;
        if (program == "set" || (program == "export" && words.size() == 2 &&
                                 words[1].text.starts_with("DEBIAN_FRONTEND="))) {
            return Meaning::kKept;
        }
        const ManagerCalls* own = calls();
        if (program == "rm" && own != nullptr) {
            return removes_caches(words, *own) ? Meaning::kIdle : Meaning::kUnknown;
        }
        if (own != nullptr && has_word(own->programs, program)) {
            return manager(words, *own);
        }
        return pip(words);
    }

    static bool removes_caches(const std::vector<Word>& words, const ManagerCalls& own) {
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::string& word = words[i].text;
            if (!has_word("-r -f -rf -fr", word) && !has_word(own.idle_paths, word)) {
                return false;
            }
        }
        return words.size() > 2;
    }

    Meaning manager(const std::vector<Word>& words, const ManagerCalls& own) {
        std::vector<std::string> flags;
        std::vector<Value> names;
        std::string verb;
        for (std::size_t i = 1; i < words.size(); ++i) {
            std::string raw = words[i].text;
            if (raw == "-o" && i + 1 < words.size()) {
                raw += words[++i].text;
            }
            const auto value = word(raw);
            if (!value) {
                return stays("a word of the installation is only known when it runs");
            }
            if (value->plain.starts_with('-')) {
                flags.push_back(canonical(value->plain));
            } else if (verb.empty()) {
                verb = value->plain;
            } else {
                names.push_back(*value);
            }
        }
        if (has_word(own.idle, verb)) {
            return Meaning::kIdle;
        }
        return has_word(own.install, verb) ? install(own, flags, names) : Meaning::kUnknown;
    }

    Meaning install(const ManagerCalls& own,
                    const std::vector<std::string>& flags,
                    const std::vector<Value>& names) {
        for (const auto& flag : flags) {
            if (!has_word(own.flags, flag) && !has_word(own.exact, flag)) {
                return stays("`packages.system` has no word for " + flag);
            }
        }
        for (const auto& name : names) {
            if (!check_package(name.plain).because.empty()) {
                return stays("'" + name.plain + "' is not a package NAME or NAME=VERSION");
            }
        }
        std::string_view wanted = own.exact;
        const bool has_exact =
            std::ranges::any_of(flags, [&](const auto& flag) { return has_word(own.exact, flag); });
        if (context_.may_recommend && !wanted.empty() && !has_exact) {
            wanted = {};
            lift_.recommends = true;
        }
        while (!wanted.empty()) {
            const auto end = wanted.find('|');
            const std::string option(wanted.substr(0, end));
            if (!contains(flags, option)) {
                if (!context_.lifts_all) {
                    return stays("without " + option +
                                 " more is installed than `packages.system` does");
                }
                lift_.differs = "installed with " + option;
            }
            wanted = end == std::string_view::npos ? std::string_view{} : wanted.substr(end + 1);
        }
        for (const auto& name : names) {
            lift_.system.push_back(name.text);
        }
        return names.empty() ? Meaning::kIdle : Meaning::kSystem;
    }

    Meaning pip(const std::vector<Word>& words) {
        std::size_t at = has_word("pip pip3", words.front().text) ? 1U : 0U;
        if (at == 0 && has_word("python python3", words.front().text) && words.size() > 2 &&
            words[1].text == "-m" && words[2].text == "pip") {
            at = 3;
        }
        if (at == 0 || at >= words.size() || words[at].text != "install") {
            return Meaning::kUnknown;
        }
        if (!context_.lifts_all) {
            return stays(
                "`packages.pip` installs into a virtual environment, not into the system's Python");
        }
        std::vector<std::string> lines;
        for (++at; at < words.size(); ++at) {
            const auto value = word(words[at].text);
            if (!value) {
                return stays("a word of the installation is only known when it runs");
            }
            if (has_word("--no-cache-dir -q --quiet --disable-pip-version-check "
                         "--break-system-packages --no-input",
                         value->plain)) {
                continue;
            }
            const bool is_requirement = !value->plain.empty() && value->plain.front() != '-' &&
                                        value->plain.front() != '.' &&
                                        value->plain.find('/') == std::string::npos;
            if (!is_requirement) {
                return stays("`packages.pip` has no word for " + value->plain);
            }
            lines.push_back(value->text);
        }
        lift_.pip.insert(lift_.pip.end(), lines.begin(), lines.end());
        lift_.differs = "installed into the virtual environment /opt/venv";
        return lines.empty() ? Meaning::kUnknown : Meaning::kPip;
    }

    Meaning stays(std::string why) {
        if (lift_.why_not.empty()) {
            lift_.why_not = std::move(why);
        }
        return Meaning::kUnknown;
    }

    std::string_view text_;
    const InstallContext& context_;
    PackageInstalls lift_;
};

/// A variable that may be unset when it is used.
bool uses_unset(std::string_view text, const Lookup& lookup) {
    bool is_single = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\'') {
            is_single = !is_single;
        } else if (text[i] == '\\') {
            ++i;
        } else if (text[i] == '$' && !is_single && i + 1 < text.size()) {
            std::size_t at = i + (text[i + 1] == '{' ? 2U : 1U);
            const std::size_t name = at;
            while (at < text.size() &&
                   (at > name ? is_word_character(text[at]) : is_word_start(text[at]))) {
                ++at;
            }
            const bool has_default =
                text[i + 1] == '{' && at < text.size() &&
                std::string_view(":-+=").find(text[at]) != std::string_view::npos;
            if (at > name && !has_default && !lookup(text.substr(name, at - name))) {
                return true;
            }
        }
    }
    return false;
}

} // namespace

PackageInstalls split_installs(std::string_view text, const InstallContext& context) {
    return Lifter(text, context).run();
}

std::string loose_flags(std::string_view text, const Lookup& lookup) {
    std::string_view set;
    if (text.starts_with("set -")) {
        set = text.substr(5, text.find_first_of(" ;&\n", 5) - 5);
    }
    std::string flags;
    if (text.find_first_of(";\n&") != std::string_view::npos &&
        set.find('e') == std::string_view::npos) {
        // `&&` alone stops by itself
        const bool is_chain =
            Splitter(text).run().has_value() && text.find_first_of(";\n") == std::string_view::npos;
        flags += is_chain ? "" : "e";
    }
    if (set.find('u') == std::string_view::npos && uses_unset(text, lookup)) {
        flags += "u";
    }
    return flags;
}

bool has_pipe(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '|' && (i + 1 == text.size() || text[i + 1] != '|') &&
            (i == 0 || text[i - 1] != '|')) {
            return true;
        }
    }
    return false;
}

} // namespace cybele::recipes::dockerfile
