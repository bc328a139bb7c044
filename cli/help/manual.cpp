// SPDX-License-Identifier: Apache-2.0
#include "cli/help/manual.hpp"

#include "cli/common/cli11.hpp"
#include "cli/help/help_formatter.hpp"
#include "support/embedded.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace cybele::embedded {
std::span<const EmbeddedFile> reference_pages();
}

namespace cybele::cli {

namespace {

constexpr std::string_view kExitCodes = "exit-codes.md";

/// Text as man(7) prints it: no request at a line's begin, hyphens that can be copied.
std::string roff(std::string_view text) {
    std::string out;
    bool is_line_begin = true;
    for (const char c : text) {
        if (is_line_begin && (c == '.' || c == '\'')) {
            out += "\\&";
        }
        is_line_begin = c == '\n';
        switch (c) {
        case '\\':
            out += "\\e";
            break;
        case '-':
            out += "\\-";
            break;
        case '`':
            out += "\\(ga";
            break;
        case '\'':
            out += "\\(aq";
            break;
        case '^':
            out += "\\(ha";
            break;
        case '~':
            out += "\\(ti";
            break;
        default:
            out += c;
        }
    }
    return out;
}

/// A cell of our Markdown: words between backticks are bold.
std::string roff_of_markdown(std::string_view text) {
    std::string out;
    bool is_code = false;
    while (true) {
        const auto tick = text.find('`');
        out += roff(text.substr(0, tick));
        if (tick == std::string_view::npos) {
            return out;
        }
        is_code = !is_code;
        out += is_code ? "\\fB" : "\\fR";
        text.remove_prefix(tick + 1);
    }
}

std::string words_of(const VerbPath& path, std::string_view between) {
    std::string words;
    for (const CLI::App* verb : path) {
        words += (words.empty() ? "" : std::string(between)) + verb->get_name();
    }
    return words;
}

std::string_view first_line(std::string_view text) {
    return text.substr(0, text.find('\n'));
}

std::string without_stop(std::string_view sentence) {
    if (sentence.ends_with('.')) {
        sentence.remove_suffix(1);
    }
    return std::string(sentence);
}

std::string names_of(const CLI::Option& option) {
    std::string names;
    for (const std::string& name : option.get_snames()) {
        names += (names.empty() ? "-" : ", -") + name;
    }
    for (const std::string& name : option.get_lnames()) {
        names += (names.empty() ? "--" : ", --") + name;
    }
    return names.empty() ? option.get_name() : names;
}

std::string entry(std::string_view term, std::string_view value, std::string_view text) {
    std::string out = ".TP\n\\fB" + roff(term) + "\\fR";
    if (!value.empty()) {
        out += " \\fI" + roff(value) + "\\fR";
    }
    return out + "\n" + roff(text) + "\n";
}

std::string options(const CLI::App& verb, bool is_positional) {
    std::string out;
    for (const CLI::Option* option : verb.get_options()) {
        if (option->get_positional() == is_positional) {
            out += entry(names_of(*option), value_text(*option), description_text(*option));
        }
    }
    return out;
}

std::string synopsis(const VerbPath& path) {
    const CLI::App& verb = *path.back();
    std::string out = ".SH SYNOPSIS\n\\fB" + roff(words_of(path, " ")) + "\\fR [\\fIOPTIONS\\fR]";
    for (const CLI::Option* option : verb.get_options()) {
        if (!option->get_positional()) {
            continue;
        }
        const std::string name = "\\fI" + roff(option->get_name()) + "\\fR" +
                                 (option->get_expected_max() > 1 ? " ..." : "");
        out += option->get_required() ? " " + name : " [" + name + "]";
    }
    if (!verb.get_subcommands({}).empty()) {
        out += " \\fIVERB\\fR";
    }
    return out + "\n";
}

std::string verbs_below(const CLI::App& verb) {
    std::string out;
    for (const CLI::App* below : verb.get_subcommands({})) {
        out += entry(below->get_name(), "", first_line(below->get_description()));
    }
    return out.empty() ? out : ".SH VERBS\n" + out;
}

/// The rows of the reference page: `| code | meaning |`.
std::string exit_codes() {
    std::string out = ".SH \"EXIT STATUS\"\n";
    for (const EmbeddedFile& page : embedded::reference_pages()) {
        if (!page.name.ends_with(kExitCodes)) {
            continue;
        }
        std::string_view rest = page.bytes;
        for (std::size_t row = 0; !rest.empty();) {
            const std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(line.size() + 1, rest.size()));
            const auto middle = line.find(" | ");
            if (!line.starts_with("| ") || middle == std::string_view::npos || ++row == 1) {
                continue; // the first row names the columns
            }
            const auto meaning = line.substr(middle + 3, line.size() - middle - 5);
            out += ".TP\n\\fB" + roff(line.substr(2, middle - 2)) + "\\fR\n" +
                   roff_of_markdown(meaning) + "\n";
        }
    }
    return out;
}

std::string examples(const CLI::App& verb) {
    std::string footer = verb.get_footer();
    if (footer.empty()) {
        return {};
    }
    footer.erase(0, footer.find('\n') + 1); // "Examples:"
    return ".SH EXAMPLES\n.nf\n" + roff(footer) + "\n.fi\n";
}

std::string see_also(const VerbPath& path) {
    std::string out;
    const auto add = [&out](const VerbPath& other) {
        out += (out.empty() ? "" : ",\n") + std::string(".BR ") + roff(page_of(other)) + " (1)";
    };
    if (path.size() > 1) {
        add({path.begin(), path.end() - 1});
    }
    for (const CLI::App* below : path.back()->get_subcommands({})) {
        VerbPath longer = path;
        longer.push_back(below);
        add(longer);
    }
    return out.empty() ? out : ".SH \"SEE ALSO\"\n" + out + "\n";
}

void collect_pages(const VerbPath& path, std::vector<VerbPath>& all) {
    all.push_back(path);
    for (const CLI::App* below : path.back()->get_subcommands({})) {
        VerbPath longer = path;
        longer.push_back(below);
        collect_pages(longer, all);
    }
}

} // namespace

std::vector<VerbPath> all_verbs(const CLI::App& program) {
    std::vector<VerbPath> all;
    collect_pages({&program}, all);
    return all;
}

std::string page_of(const VerbPath& path) {
    return words_of(path, "-");
}

std::string man_page(const VerbPath& path) {
    const CLI::App& verb = *path.back();
    const std::string page = page_of(path);
    std::string title = page;
    title = text::uppered(title);
    std::string out = fmt::format(".TH {} 1 \"\" \"cybelectl {}\" \"cybelectl\"\n"
                                  ".SH NAME\n{} \\- {}\n",
                                  roff(title),
                                  CYBELE_VERSION,
                                  roff(page),
                                  roff(without_stop(first_line(verb.get_description()))));
    out += synopsis(path) + ".SH DESCRIPTION\n" + roff(verb.get_description()) + "\n";
    if (const std::string positionals = options(verb, true); !positionals.empty()) {
        out += ".SH ARGUMENTS\n" + positionals;
    }
    out += ".SH OPTIONS\n" + options(verb, false);
    return out + verbs_below(verb) + exit_codes() + examples(verb) + see_also(path);
}

} // namespace cybele::cli
