// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/diff.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/date_text.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/session.hpp"
#include "cli/image/inspect_print.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

// As diff's 1, apart from an input that is unusable (3): the comparison does not hold.
constexpr int kDifferent = 4;

struct DiffOptions {
    std::string before;
    std::string after;
    std::vector<std::string> ignored;
    std::vector<std::string> sections; ///< empty: all
    bool is_summary = false;           ///< numbers only
    bool lists_times = false;          ///< files that differ in their times only, too
};

struct Mark {
    images::Change change;
    char sign;
    const char* word;
};
constexpr std::array kMarks = {
    Mark{images::Change::kAdded, '+', "added"},
    Mark{images::Change::kRemoved, '-', "removed"},
    Mark{images::Change::kChanged, '~', "changed"},
};

const Mark& mark_of(images::Change change) {
    return *std::ranges::find(kMarks, change, &Mark::change);
}

std::string or_nothing(const std::string& text) {
    return text.empty() ? "nothing" : printable(text);
}

bool is_time(const images::Difference& difference, const images::FieldChange& field) {
    const std::string& name = field.field.empty() ? difference.name : field.field;
    return name == "time" || name == "created" || name == "modified";
}

/// `2026-11-24T20:15:00Z` of Unix seconds, so that the year 1 of images without times is seen.
std::string shown_value(const std::string& text, bool is_time) {
    std::int64_t seconds = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, seconds);
    if (!is_time || error != std::errc() || end != last) {
        return or_nothing(text);
    }
    return seconds == 0 ? "1970-01-01T00:00:00Z" : date_text(seconds);
}

/// A file whose content and rights are the same.
bool is_time_only(const images::Difference& difference) {
    return difference.section == "file" && difference.change == images::Change::kChanged &&
           difference.lines.empty() &&
           std::ranges::all_of(difference.fields, [](const images::FieldChange& field) {
               return field.field == "time";
           });
}

/// How many things of each section differ.
class SectionCounts {
public:
    void add(const images::Difference& difference) {
        const std::string word =
            is_time_only(difference) ? "time-only" : mark_of(difference.change).word;
        if (sections_.empty() || sections_.back().first != difference.section) {
            sections_.emplace_back(difference.section, Section{});
        }
        ++sections_.back().second[word];
    }
    [[nodiscard]] std::string text() const {
        std::string text;
        for (const auto& [name, numbers] : sections_) {
            std::string separator = ": ";
            text += name;
            for (const char* const word : kWords) {
                if (const auto found = numbers.find(word); found != numbers.end()) {
                    text += fmt::format("{}{} {}", separator, found->second, word);
                    separator = ", ";
                }
            }
            text += "\n";
        }
        return text;
    }
    [[nodiscard]] nlohmann::ordered_json json() const {
        nlohmann::ordered_json json = nlohmann::ordered_json::object();
        for (const auto& [name, numbers] : sections_) {
            for (const char* const word : kWords) {
                const auto found = numbers.find(word);
                json[name][word] = found == numbers.end() ? 0 : found->second;
            }
        }
        return json;
    }

private:
    static constexpr std::array kWords = {"added", "removed", "changed", "time-only"};
    using Section = std::map<std::string, std::size_t>;
    std::vector<std::pair<std::string, Section>> sections_; ///< in the order that they come in
};

/// Differences as lines, a heading before each section.
class TextPrinter {
public:
    explicit TextPrinter(bool lists_times) : lists_times_(lists_times) {}

    /// Files that differ in their times only are counted, unless they are asked for.
    void add(const images::Difference& difference) {
        if (is_time_only(difference) && !lists_times_) {
            ++time_only_;
        } else {
            print(difference);
        }
    }
    void end() const {
        if (time_only_ != 0) {
            Session::print(fmt::format("{}  {} file{} in the time only; --times lists {}\n",
                                       section_ == "file" ? "" : "file:\n",
                                       time_only_,
                                       time_only_ == 1 ? " differs" : "s differ",
                                       time_only_ == 1 ? "it" : "them"));
        }
    }

private:
    void print(const images::Difference& difference) {
        if (difference.section != section_) {
            section_ = difference.section;
            Session::print(section_ + ":\n");
        }
        std::string text =
            fmt::format("  {} {}", mark_of(difference.change).sign, printable(difference.name));
        std::string separator = ": ";
        for (const auto& field : difference.fields) {
            text += separator + (field.field.empty() ? "" : field.field + " ");
            text += difference.change == images::Change::kChanged
                        ? shown_value(field.before, is_time(difference, field)) + " -> " +
                              shown_value(field.after, is_time(difference, field))
                        : printable(field.before + field.after);
            separator = ", ";
        }
        text += "\n";
        for (std::size_t at = 0; at < difference.lines.size();) {
            const auto end = difference.lines.find('\n', at);
            text += "    " + printable(difference.lines.substr(at, end - at)) + "\n";
            at = end + 1;
        }
        Session::print(text);
    }

    std::string section_;
    bool lists_times_;
    std::size_t time_only_ = 0;
};

nlohmann::ordered_json difference_json(const images::Difference& difference) {
    nlohmann::ordered_json json;
    json["section"] = difference.section;
    json["change"] = mark_of(difference.change).word;
    json["name"] = difference.name;
    for (const auto& field : difference.fields) {
        if (field.field.empty() && difference.change != images::Change::kChanged) {
            json["what"] = field.before + field.after;
        } else {
            json["fields"].push_back({{"field", field.field.empty() ? "value" : field.field},
                                      {"before", field.before},
                                      {"after", field.after}});
        }
    }
    if (!difference.lines.empty()) {
        json["diff"] = difference.lines;
    }
    return json;
}

images::DiffOptions ignored_of(const DiffOptions& options) {
    images::DiffOptions ignored;
    for (const auto& word : options.ignored) {
        ignored.ignore_time = ignored.ignore_time || word == "time";
        ignored.ignore_id = ignored.ignore_id || word == "id";
    }
    return ignored;
}

bool is_wanted_section(const DiffOptions& options, const std::string& section) {
    return options.sections.empty() || contains(options.sections, section);
}

/// An image without files and a folder: "equal" would say that something was compared.
bool is_incomparable(const std::vector<std::string>& notes) {
    const auto says = [&](std::string_view begin) {
        return std::ranges::any_of(
            notes, [&](const std::string& note) { return note.starts_with(begin); });
    };
    return says("header and objects are not compared") &&
           says("files and packages are not compared");
}

Result<int> diff(const Session& session, const DiffOptions& options) {
    CYBELE_TRY(const std::string first, image_path(session, options.before));
    CYBELE_TRY(const std::string second, image_path(session, options.after));
    CYBELE_TRY(const auto before, images::open_contents(first));
    CYBELE_TRY(const auto after, images::open_contents(second));
    session.doing("comparing " + printable(first) + " and " + printable(second));
    bool is_same = true;
    TextPrinter text(options.lists_times);
    SectionCounts counts;
    std::unique_ptr<Document> json;
    if (session.is_json()) {
        json = std::make_unique<Document>();
        if (!options.is_summary) {
            json->begin_list("differences");
        }
    }
    const auto notes = images::diff_contents(
        before, after, ignored_of(options), [&](const images::Difference& difference) {
            if (!is_wanted_section(options, difference.section)) {
                return;
            }
            is_same = false;
            if (options.is_summary) {
                counts.add(difference);
            } else if (json) {
                json->entry(difference_json(difference));
            } else {
                text.add(difference);
            }
        });
    if (json) {
        if (options.is_summary) {
            json->member("summary", counts.json());
        } else {
            json->end_list();
        }
        json->member("same", is_same && notes.has_value());
        json->member("notes", notes.value_or(std::vector<std::string>{}));
    }
    if (!notes) {
        return tl::unexpected<Error>(notes.error());
    }
    if (is_same && is_incomparable(*notes)) {
        return fail(ErrorCode::kInput,
                    problem("nothing-compared",
                            printable(options.before) + " and " + printable(options.after) +
                                " have nothing that can be compared"),
                    printable(fmt::format("{}", fmt::join(*notes, "; "))),
                    "name two images, or two folders");
    }
    if (!json && options.is_summary) {
        Session::print(counts.text());
    } else if (!json) {
        text.end();
    }
    std::vector<Fault> faults;
    for (const auto& note : *notes) {
        faults.push_back(warning(ErrorCode::kInternal, problem("diff-note", note)));
    }
    if (!json) {
        session.note(faults);
    }
    return is_same ? 0 : kDifferent;
}

} // namespace

void install_image_diff(CLI::App& image, Session& session) {
    const auto options = std::make_shared<DiffOptions>();
    CLI::App* verb = add_verb(image,
                              "diff",
                              "Compare two images down to their files. Exit status 0: equal; 4: "
                              "different; 3: unreadable.",
                              {"cybelectl image diff store:app:1 store:app:2",
                               "cybelectl image diff --ignore time --ignore id a.sif b.sif",
                               "cybelectl image diff a.sif b.sif --only package --only file",
                               "cybelectl image diff a.sif rootfs/ --format json"});
    verb->add_option("before", options->before, "an image, store:NAME, a squashfs or a directory")
        ->required()
        ->type_name("A");
    verb->add_option("after", options->after, "the one to compare it with")
        ->required()
        ->type_name("B");
    verb->add_option("--ignore", options->ignored, "differences to ignore; can be given again")
        ->check(CLI::IsMember({"time", "id"}))
        ->allow_extra_args(false)
        ->type_name("WHAT");
    verb->add_option("--only", options->sections, "compare this section only; can be given again")
        ->check(CLI::IsMember({"header",
                               "object",
                               "label",
                               "environment",
                               "script",
                               "definition",
                               "package",
                               "file"}))
        ->allow_extra_args(false)
        ->type_name("SECTION");
    auto* const times =
        verb->add_flag("--times",
                       options->lists_times,
                       "list files that differ only in their times (default: count them)");
    verb->add_flag("--summary", options->is_summary, "print the number of differences of each kind")
        ->excludes(times);
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return diff(session, *options); };
    });
}

} // namespace cybele::cli
