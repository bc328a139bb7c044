// SPDX-License-Identifier: Apache-2.0
#include "pipeline/r_imports.hpp"

#include "pipeline/evidence.hpp"
#include "support/characters.hpp"
#include "support/name.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

/// Packages of r-base-core, without which R does not start or which come with it.
constexpr std::string_view kOwnPackages =
    "base compiler datasets graphics grDevices grid methods parallel splines stats stats4 tcltk "
    "tools translations utils";

/// Functions whose first argument is a package; those of the second list take a text alone.
constexpr std::string_view kLoaders = "library require";
constexpr std::string_view kTextLoaders = "loadNamespace requireNamespace";

bool is_name_character(char c) {
    return is_word_character(c) || c == '.';
}

/// Reads the words of a program in R.
class RReader {
public:
    RReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    std::vector<RUse> read() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c == '"' || c == '\'' || c == '`') {
                quoted();
            } else if (is_name_character(c)) {
                const std::string_view word = name();
                if (text_.substr(at_).starts_with("::")) {
                    add(word);
                } else {
                    call(word);
                }
            } else {
                step();
            }
        }
        return std::move(uses_);
    }

private:
    void step() {
        line_ += text_[at_] == '\n' ? 1U : 0U;
        ++at_;
    }
    void blanks() {
        while (at_ < text_.size() &&
               std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
            step();
        }
    }
    std::string_view name() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_name_character(text_[at_])) {
            ++at_;
        }
        return text_.substr(begin, at_ - begin);
    }
    /// What is between two quotes; the position is behind the second.
    std::string_view quoted() {
        const char quote = text_[at_];
        const std::size_t begin = ++at_;
        while (at_ < text_.size() && text_[at_] != quote) {
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
                step();
            }
            step();
        }
        const std::size_t end = at_;
        at_ = std::min(at_ + 1, text_.size());
        return text_.substr(begin, end - begin);
    }
    void call(std::string_view word) {
        const bool is_loader = is_named_like(word, kLoaders);
        const std::size_t open = text_.find_first_not_of(" \t", at_);
        if ((!is_loader && !is_named_like(word, kTextLoaders)) || open == std::string_view::npos ||
            text_[open] != '(') {
            return;
        }
        at_ = open + 1;
        blanks();
        if (text_.substr(at_).starts_with("package")) {
            const std::size_t back = at_;
            at_ += std::string_view("package").size();
            blanks();
            if (at_ < text_.size() && text_[at_] == '=') {
                ++at_;
                blanks();
            } else {
                at_ = back;
            }
        }
        if (at_ >= text_.size()) {
            return;
        }
        if (text_[at_] == '"' || text_[at_] == '\'') {
            add(quoted());
            return;
        }
        const std::string_view rest = text_.substr(at_, text_.find(')', at_) - at_);
        const std::string_view own = name();
        blanks();
        const bool is_whole = at_ < text_.size() && (text_[at_] == ')' || text_[at_] == ',');
        if (is_loader && is_whole && rest.find("character.only") == std::string_view::npos) {
            add(own);
        }
    }
    void add(std::string_view package) {
        const bool is_name =
            package.size() > 1 && !is_digit(package.front()) && package.front() != '.' &&
            package.front() != '_' &&
            std::ranges::all_of(package, [](char c) { return is_name_character(c); });
        if (is_name && known_.insert(package).second) {
            uses_.push_back({std::string(package), file_, line_});
        }
    }

    std::string_view text_;
    const std::string& file_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::set<std::string_view> known_;
    std::vector<RUse> uses_;
};

} // namespace

std::vector<RUse> packages_loaded(std::string_view text, const std::string& file) {
    return RReader(text, file).read();
}

bool is_own_package(std::string_view package) {
    return is_named_like(package, kOwnPackages);
}

std::vector<RUse> foreign_packages(const SourceFolder& folder) {
    constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
    std::map<std::string, RUse> found;
    std::size_t bytes = 0;
    for (const std::string& file : folder.files) {
        const std::string name = fs::path(file).filename().native();
        const bool is_test = is_named_like(file, "tests/* vignettes/*");
        if (!is_named_like(name, "*.R *.r") || name == "install.R" || is_test ||
            bytes > kMostBytes) {
            continue;
        }
        const auto text = read_source_text(folder, file);
        if (!text) {
            continue; // the evidence names it
        }
        bytes += text->size();
        for (RUse& use : packages_loaded(*text, file)) {
            if (!is_own_package(use.package)) {
                found.try_emplace(use.package, use);
            }
        }
    }
    std::vector<RUse> all;
    all.reserve(found.size());
    for (auto& [package, use] : found) {
        all.push_back(std::move(use));
    }
    return all;
}

RDescription read_description(std::string_view text) {
    RDescription description;
    std::string field;
    std::map<std::string, std::string> fields;
    for (const std::string_view row : text::split_terminated(text, '\n')) {
        const bool is_more = row.starts_with(' ') || row.starts_with('\t');
        const std::size_t colon = row.find(':');
        if (!is_more && colon != std::string_view::npos) {
            field = row.substr(0, colon);
            fields[field] = text::trimmed(row.substr(colon + 1));
        } else if (is_more && !field.empty()) {
            fields[field] += " " + std::string(text::trimmed(row));
        }
    }
    description.package = fields["Package"];
    for (const char* name : {"Depends", "Imports", "LinkingTo"}) {
        for (const std::string_view item : text::split_terminated(fields[name], ',')) {
            const std::size_t open = item.find('(');
            const std::string_view package = text::trimmed(item.substr(0, open));
            std::string_view condition =
                open == std::string_view::npos ? std::string_view() : item.substr(open + 1);
            condition = text::trimmed(condition.substr(0, condition.find(')')));
            if (!package.empty()) {
                description.items.push_back({std::string(package), std::string(condition)});
            }
        }
    }
    return description;
}

} // namespace cybele::pipeline
