// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/requirements.hpp"

#include "recipes/forms/marker.hpp"
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <set>

namespace cybele::recipes {
namespace {

constexpr std::string_view kRequirementBlanks = " \t";

/// Options of requirement files that mean something to the whole installation.
struct OptionRow {
    std::string_view names; ///< with blanks between
    bool is_carried;
    std::string_view because;
    std::string_view help;
};
constexpr OptionRow kOptions[] = {
    {"--require-hashes", true, "", ""},
    {"--prefer-binary", true, "", ""},
    {"-c --constraint",
     false,
     "`packages.pip` holds requirements alone",
     "write the versions into the requirements, or run `cybelectl recipe lock`"},
    {"-e --editable",
     false,
     "an editable installation belongs to a folder that the image does not have",
     "copy the folder with `files` and install it in a step"},
    {"-i --index-url --pypi-url --extra-index-url -f --find-links --no-index --trusted-host",
     false,
     "addresses are inputs, never part of a Recipe",
     "give it when it is locked: `cybelectl recipe lock --pip-index URL`"},
    {"--no-binary --only-binary --pre --use-feature --config-settings --global-option",
     false,
     "`packages.pip` holds requirements alone",
     "pin the version that is meant with `cybelectl recipe lock`"},
};

/// One requirement: `name[extra]==1.2 ; marker --hash=sha256:…`.
class Requirement {
public:
    Requirement(Ledger& ledger, const RequirementLine& line) : ledger_(ledger), line_(line) {}

    void carry(std::vector<std::string>& pip) {
        if (line_.text.front() == '-') {
            option();
        } else if (is_address()) {
            lose(0,
                 "'" + printable(line_.text) + "'",
                 "it names a file or an address, not a package of an index",
                 "name it in `packages.source`, or install it in a step");
        } else if (line_.text.find("${") != std::string::npos) {
            lose(line_.text.find("${"),
                 "'" + printable(line_.text) + "'",
                 "it reads a variable of the machine that installs",
                 "write the value");
        } else if (read_name() && read_versions() && read_hashes()) {
            pip.push_back(literal(joined()));
            ledger_.carry(line_.lines);
        }
    }

private:
    [[nodiscard]] yaml::Mark at(std::size_t offset) const {
        yaml::Mark mark = line_.mark;
        if (line_.lines.first == line_.lines.last) {
            mark.column += offset;
        }
        return mark;
    }

    bool refuse(std::size_t offset, std::string what, std::string because, std::string help) {
        ledger_.refuse(at(offset), {std::move(what), std::move(because), std::move(help)});
        return false;
    }

    bool lose(std::size_t offset, std::string what, std::string because, std::string help) {
        ledger_.lose(
            line_.lines, at(offset), {std::move(what), std::move(because), std::move(help)});
        return false;
    }

    void option() {
        const auto end = std::min(line_.text.find_first_of(" \t="), line_.text.size());
        std::string name = line_.text.substr(0, end);
        std::vector<std::string_view> known;
        for (const auto& row : kOptions) {
            std::string_view rest = row.names;
            while (!rest.empty()) {
                const auto blank = rest.find(' ');
                known.push_back(rest.substr(0, blank));
                rest =
                    blank == std::string_view::npos ? std::string_view{} : rest.substr(blank + 1);
            }
        }
        if (name.size() > 2 && name[1] != '-') {
            name.resize(2); // -eDIR
        }
        for (const auto& row : kOptions) {
            if (has_word(row.names, name)) {
                if (row.is_carried) {
                    ledger_.carry(line_.lines);
                } else {
                    lose(0,
                         "'" + printable(line_.text) + "'",
                         std::string(row.because),
                         std::string(row.help));
                }
                return;
            }
        }
        const std::string near = nearest(name, known);
        refuse(0,
               "no option '" + printable(name) + "'",
               "pip stops at it",
               near.empty() ? "remove it" : "did you mean `" + near + "`?");
    }

    [[nodiscard]] bool is_address() const {
        const std::string_view text = line_.text;
        const std::string_view first = text.substr(0, text.find_first_of(" \t;"));
        return first.find("://") != std::string_view::npos || first.starts_with("file:") ||
               first.starts_with("git+") || first.front() == '.' || first.front() == '/' ||
               first.ends_with(".whl") || first.ends_with(".tar.gz") || first.ends_with(".zip");
    }

    bool read_name() {
        const std::string& text = line_.text;
        while (end_ < text.size() && (is_alphanumeric(text[end_]) || text[end_] == '.' ||
                                      text[end_] == '_' || text[end_] == '-')) {
            ++end_;
        }
        if (end_ == 0 || !is_alphanumeric(text[0]) || !is_alphanumeric(text[end_ - 1])) {
            return refuse(0,
                          "'" + printable(text) + "' names no package",
                          "a name has letters, digits, `.`, `_` and `-`, and letters or digits at "
                          "its ends",
                          "write it as NAME==VERSION");
        }
        skip_blanks();
        if (end_ < text.size() && text[end_] == '[') {
            const auto close = text.find(']', end_);
            if (close == std::string::npos) {
                return refuse(end_, "`[` is not closed", "extras stand in brackets", "add `]`");
            }
            end_ = close + 1;
            skip_blanks();
        }
        return true;
    }

    void skip_blanks() {
        while (end_ < line_.text.size() &&
               kRequirementBlanks.find(line_.text[end_]) != std::string_view::npos) {
            ++end_;
        }
    }

    /// Up to a marker, the options, or the line's end.
    bool read_versions() {
        const std::string& text = line_.text;
        if (end_ < text.size() && text[end_] == '@') {
            return read_url();
        }
        const std::size_t begin = end_;
        const bool has_parenthesis = end_ < text.size() && text[end_] == '(';
        end_ += has_parenthesis ? 1U : 0U;
        skip_blanks();
        bool is_parted = true; // a comma may stand behind the last one
        while (!is_behind_versions()) {
            if (!is_parted) {
                return refuse(end_,
                              "no comma before '" + printable(text.substr(end_, 12)) + "'",
                              "all versions are one list",
                              "part them by commas");
            }
            if (!read_version()) {
                return false;
            }
            skip_blanks();
            is_parted = end_ < text.size() && text[end_] == ',';
            end_ += is_parted ? 1U : 0U;
            skip_blanks();
        }
        const bool is_closed = end_ < text.size() && text[end_] == ')';
        if (has_parenthesis != is_closed) {
            return refuse(has_parenthesis ? begin : end_,
                          has_parenthesis ? "`(` is not closed" : "`)` closes nothing",
                          "parentheses stand around all versions, or none",
                          "leave them out");
        }
        end_ += is_closed ? 1U : 0U;
        skip_blanks();
        return read_marker();
    }

    [[nodiscard]] bool is_behind_versions() const {
        const std::string& text = line_.text;
        return end_ >= text.size() || text[end_] == ';' || text[end_] == ')' ||
               text.compare(end_, 2, "--") == 0;
    }

    bool read_version() {
        constexpr std::string_view kOperators[] = {"===", "==", "!=", "<=", ">=", "~=", "<", ">"};
        const std::string& text = line_.text;
        for (const auto sign : kOperators) {
            if (text.compare(end_, sign.size(), sign) != 0) {
                continue;
            }
            end_ += sign.size();
            skip_blanks();
            const std::size_t begin = end_;
            while (end_ < text.size() &&
                   (is_alphanumeric(text[end_]) ||
                    std::string_view(".*+!_-").find(text[end_]) != std::string_view::npos)) {
                ++end_;
            }
            return end_ > begin || refuse(begin,
                                          "no version follows `" + std::string(sign) + "`",
                                          "it compares with one",
                                          "add a version");
        }
        return refuse(end_,
                      "'" + printable(text.substr(end_, 12)) + "' compares with no version",
                      "versions follow `==`, `>=`, `<=`, `~=`, `!=`, `<` or `>`",
                      text[end_] == '=' ? "write `=" + printable(text.substr(end_)) + "`"
                                        : "correct it");
    }

    bool read_marker() {
        const std::string& text = line_.text;
        if (end_ < text.size() && text[end_] == ';') {
            const std::size_t begin = end_ + 1;
            end_ = std::min(text.find(" --", end_), text.size());
            if (const auto fault =
                    marker_fault(std::string_view(text).substr(begin, end_ - begin))) {
                return refuse(begin + *fault,
                              "what follows `;` is not an environment marker",
                              "it compares variables of PEP 508 with texts in quotes",
                              "write for example `; python_version < \"3.11\"`");
            }
        }
        return true;
    }

    /// NAME @ URL
    bool read_url() {
        const std::string& text = line_.text;
        ++end_;
        skip_blanks();
        const std::size_t begin = end_;
        end_ = std::min(text.find_first_of(kRequirementBlanks, end_), text.size());
        const std::string url = text.substr(begin, end_ - begin);
        const auto sum = url.find("#sha256=");
        if (sum != std::string::npos) {
            fragment_ = url.substr(sum + 8);
        }
        const bool is_file = url.starts_with("http://") || url.starts_with("https://");
        if (!is_file || (fragment_.empty() && text.find("--hash") == std::string::npos)) {
            return lose(begin,
                        "'" + printable(text) + "'",
                        is_file ? "what is downloaded must be known by its checksum"
                                : "only archives can be known by their checksum",
                        "add `--hash=sha256:…`, or build it from `packages.source`");
        }
        if (!fragment_.empty() && !check_hex_digest(fragment_).because.empty()) {
            return refuse(begin + sum,
                          "`#sha256=` is followed by no SHA-256",
                          "it has 64 digits",
                          "copy all of it");
        }
        skip_blanks();
        return read_marker();
    }

    bool read_hashes() {
        const std::string& text = line_.text;
        requirement_ = std::string(trimmed(std::string_view(text).substr(0, end_)));
        if (!fragment_.empty()) {
            hashes_.insert("--hash=sha256:" + fragment_);
        }
        bool has_other = false;
        while (true) {
            skip_blanks();
            if (end_ >= text.size()) {
                break;
            }
            const std::size_t begin = end_;
            end_ = std::min(text.find_first_of(kRequirementBlanks, end_), text.size());
            std::string word = text.substr(begin, end_ - begin);
            if (word == "--hash") {
                skip_blanks();
                const std::size_t value = end_;
                end_ = std::min(text.find_first_of(kRequirementBlanks, end_), text.size());
                word += "=" + text.substr(value, end_ - value);
            }
            if (!word.starts_with("--hash=")) {
                return refuse(begin,
                              "'" + printable(word) + "' after a requirement",
                              "only `--hash=…` may stand there",
                              "remove it");
            }
            if (!word.starts_with("--hash=sha256:")) {
                has_other = true;
            } else if (!check_digest(word.substr(7)).because.empty()) {
                return refuse(begin,
                              "'" + printable(word) + "' is not a SHA-256",
                              "it has 64 lower-case hexadecimal digits",
                              "copy all of it");
            } else {
                hashes_.insert(word);
            }
        }
        if (has_other && hashes_.empty()) {
            ledger_.remark(line_.mark,
                           {"the checksum of " + requirement_name(requirement_),
                            "only SHA-256 is compared",
                            "run `cybelectl recipe lock`"});
        }
        return true;
    }

    [[nodiscard]] std::string joined() const {
        std::string text;
        for (const char c : requirement_) {
            const bool is_blank = c == ' ' || c == '\t';
            if (!is_blank || (!text.empty() && text.back() != ' ')) {
                text += is_blank ? ' ' : c;
            }
        }
        for (const auto& hash : hashes_) {
            text += " " + hash;
        }
        return text;
    }

    Ledger& ledger_;
    const RequirementLine& line_;
    std::size_t end_ = 0;
    std::string requirement_;
    std::string fragment_;
    std::set<std::string> hashes_;
};

} // namespace

std::string requirement_name(std::string_view line) {
    const auto end = line.find_first_of(" =<>!~[;@");
    std::string name(line.substr(0, end));
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
        return c == '_' || c == '.' ? '-' : to_lower(c);
    });
    return name;
}

void carry_requirement(Ledger& ledger, const RequirementLine& line, std::vector<std::string>& pip) {
    Requirement(ledger, line).carry(pip);
}

std::optional<Words> requirement_fault(const std::string& text) {
    const std::string shown = "'" + printable(text) + "' is not a requirement";
    if (trimmed(text) != text || text.empty() || !is_text_line(text)) {
        return Words{shown, "it is one line without blanks at its ends", "write NAME==VERSION"};
    }
    Ledger ledger(yaml::Source("packages.pip", text));
    std::vector<std::string> pip;
    carry_requirement(ledger, {text, {}, {}}, pip);
    if (ledger.is_refused()) {
        const Fault fault = ledger.take_faults().faults().front();
        return Words{fault.message, fault.because, fault.help};
    }
    if (ledger.lost() > 0) {
        const Fault& note = ledger.notes().front();
        return Words{shown, note.because, note.help};
    }
    if (pip.empty()) {
        return Words{shown, "options of pip are not preserved", "name packages only"};
    }
    return std::nullopt;
}

} // namespace cybele::recipes
