// SPDX-License-Identifier: Apache-2.0
#include "cli/cli11.hpp"
#include "cli/image_store.hpp"
#include "cli/inspect_print.hpp"
#include "cli/session.hpp"
#include "images/difference/diff.hpp"
#include "support/quote.hpp"

#include <array>
#include <memory>

#include <fmt/format.h>
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
    return *std::find_if(
        kMarks.begin(), kMarks.end(), [&](const Mark& mark) { return mark.change == change; });
}

std::string or_nothing(const std::string& text) {
    return text.empty() ? "nothing" : printable(text);
}

/// Differences as lines, a heading before each section.
class TextPrinter {
public:
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
                        ? or_nothing(field.before) + " -> " + or_nothing(field.after)
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

private:
    std::string section_;
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
    return options.sections.empty() ||
           std::find(options.sections.begin(), options.sections.end(), section) !=
               options.sections.end();
}

Result<int> diff(const Session& session, const DiffOptions& options) {
    CYBELE_TRY(const std::string first, image_path(session, options.before));
    CYBELE_TRY(const std::string second, image_path(session, options.after));
    CYBELE_TRY(const auto before, images::open_contents(first));
    CYBELE_TRY(const auto after, images::open_contents(second));
    session.doing("comparing " + printable(first) + " and " + printable(second));
    bool is_same = true;
    TextPrinter text;
    std::unique_ptr<Document> json;
    if (session.is_json()) {
        json = std::make_unique<Document>();
        json->begin_list("differences");
    }
    const auto notes = images::diff_contents(
        before, after, ignored_of(options), [&](const images::Difference& difference) {
            if (!is_wanted_section(options, difference.section)) {
                return;
            }
            is_same = false;
            if (json) {
                json->entry(difference_json(difference));
            } else {
                text.print(difference);
            }
        });
    if (json) {
        json->end_list();
        json->member("same", is_same && notes.has_value());
        json->member("notes", notes.value_or(std::vector<std::string>{}));
    }
    if (!notes) {
        return tl::unexpected<Error>(notes.error());
    }
    std::vector<Fault> faults;
    for (const auto& note : *notes) {
        Fault fault;
        fault.message = note;
        fault.is_warning = true;
        faults.push_back(std::move(fault));
    }
    if (!json) {
        session.note(faults);
    }
    return is_same ? 0 : kDifferent;
}

} // namespace

namespace {

void install_diff(CLI::App& verb, Session& session, const std::shared_ptr<DiffOptions>& options) {
    verb.add_option("before", options->before, "an image, store:NAME, a squashfs or a directory")
        ->required()
        ->type_name("A");
    verb.add_option("after", options->after, "the one to compare it with")
        ->required()
        ->type_name("B");
    verb.add_option("--ignore", options->ignored, "what may differ; can be given again")
        ->check(CLI::IsMember({"time", "id"}))
        ->allow_extra_args(false)
        ->type_name("WHAT");
    add_format(verb, session);
    verb.callback([&session, options] {
        session.action = [&session, options] { return diff(session, *options); };
    });
}

} // namespace

void install_sif_diff(CLI::App& sif, Session& session) {
    CLI::App* verb = add_verb(sif,
                              "diff",
                              "Compare two images down to their files. Exit status 0: equal; 4: "
                              "different; 3: unreadable.",
                              {"cybelectl sif diff old.sif new.sif",
                               "cybelectl sif diff --ignore time --ignore id a.sif b.sif",
                               "cybelectl sif diff a.sif rootfs/ --format json"});
    install_diff(*verb, session, std::make_shared<DiffOptions>());
}

void install_image_diff(CLI::App& image, Session& session) {
    auto options = std::make_shared<DiffOptions>();
    options->sections = {"package", "file"};
    CLI::App* verb = add_verb(image,
                              "diff",
                              "Compare the packages and files of two images. Exit status 0: equal; "
                              "4: different; 3: unreadable.",
                              {"cybelectl image diff store:app:1 store:app:2",
                               "cybelectl image diff old.sif new.sif --ignore time",
                               "cybelectl image diff a.sif b.sif --only package"});
    install_diff(*verb, session, options);
    verb->add_option("--only", options->sections, "package or file; both without it")
        ->check(CLI::IsMember({"package", "file"}))
        ->allow_extra_args(false)
        ->type_name("WHAT");
}

} // namespace cybele::cli
