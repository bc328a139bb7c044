// SPDX-License-Identifier: Apache-2.0
#include "cli/help/help_formatter.hpp"

#include "cli/help/advanced.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kOptionColumn = 28; ///< where the descriptions of options begin
constexpr std::size_t kCommandColumn = 14;

/// The commands of the program by task, in the order of the help.
constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kTasks{
    {{"init", "Build images"},
     {"build", "Build images"},
     {"recipe", "Build images"},
     {"def", "Build images"},
     {"generate", "Build images"},
     {"exec", "Run containers"},
     {"run", "Run containers"},
     {"shell", "Run containers"},
     {"submit", "Run jobs"},
     {"job", "Run jobs"},
     {"kube", "Run jobs"},
     {"bridge", "Run jobs"},
     {"sign", "Sign, inspect and store images"},
     {"verify", "Sign, inspect and store images"},
     {"key", "Sign, inspect and store images"},
     {"inspect", "Sign, inspect and store images"},
     {"image", "Sign, inspect and store images"},
     {"sif", "Sign, inspect and store images"},
     {"cache", "Sign, inspect and store images"},
     {"doctor", "This machine, settings and help"},
     {"site", "This machine, settings and help"},
     {"config", "This machine, settings and help"},
     {"explain", "This machine, settings and help"},
     {"help", "This machine, settings and help"}}};
constexpr std::string_view kOtherTask = "This machine, settings and help";

constexpr std::string_view kFirstSteps =
    "First steps: cybelectl init demo; cybelectl build demo; cybelectl submit demo -n 2 --wait\n";

bool is_number(std::string_view type) {
    return type == "UINT" || type == "INT" || type == "FLOAT";
}

/// CLI11's name of a type, `TEXT:{zstd,gzip}` or `UINT:INT in [1 - 64]`, in its two parts.
std::pair<std::string_view, std::string_view> parts_of(std::string_view type) {
    const std::size_t colon = std::min(type.find(':'), type.size());
    return {type.substr(0, colon), type.substr(std::min(colon + 1, type.size()))};
}

std::string term_of(const CLI::Option& option, bool is_positional) {
    if (is_positional) {
        return placeholder(option.get_name(true, false));
    }
    std::string names = option.get_name(false, true);
    for (std::size_t at = names.find(','); at != std::string::npos; at = names.find(',', at + 2)) {
        names.insert(at + 1, " ");
    }
    const std::string value = value_text(option);
    return value.empty() ? names : names + " " + value;
}

/// A term and its text, which is wrapped next to it.
std::string row(std::string_view term, std::string_view text, std::size_t begin) {
    std::string out = "  " + std::string(term);
    if (out.size() + 2 > begin) {
        out += "\n" + std::string(begin, ' ');
    } else {
        out.append(begin - out.size(), ' ');
    }
    std::size_t column = begin;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        if (column > begin && column + 1 + word.size() > kWidth) {
            out += "\n" + std::string(begin, ' ');
            column = begin;
        } else if (column > begin) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
    }
    return out + "\n";
}

bool is_shown(const CLI::Option& option) {
    return !option.get_group().empty();
}

/// The words after the image, which CLI11 does not read: they are cut off before.
std::string_view program_words(const CLI::App& verb) {
    const bool is_first =
        verb.get_parent() != nullptr && verb.get_parent()->get_parent() == nullptr;
    return !is_first                   ? ""
           : verb.get_name() == "exec" ? " PROGRAM [ARGUMENTS...]"
           : verb.get_name() == "run"  ? " [ARGUMENTS...]"
                                       : "";
}

class HelpFormatter : public CLI::Formatter {
public:
    HelpFormatter() {
        label("Positionals", "Arguments");
    }

    /// CLI11 leaves a line for a group of options that is not shown.
    std::string
    make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
        std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
        for (auto at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n")) {
            text.erase(at, 1);
        }
        return text;
    }

    std::string make_usage(const CLI::App* app, std::string name) const override {
        std::string usage = "Usage: " + std::move(name) + " [OPTIONS]";
        for (const CLI::Option* option : app->get_options()) {
            if (option->get_positional() && is_shown(*option)) {
                const std::string word = placeholder(option->get_name(true, false)) +
                                         (option->get_expected_max() > 1 ? "..." : "");
                usage += option->get_required() ? " " + word : " [" + word + "]";
            }
        }
        usage += program_words(*app);
        return usage + (app->get_subcommands({}).empty() ? "\n" : " COMMAND\n");
    }

    std::string make_option(const CLI::Option* option, bool is_positional) const override {
        return row(term_of(*option, is_positional), description_text(*option), kOptionColumn);
    }

    std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode /*mode*/) const override {
        const auto commands = app->get_subcommands({});
        const auto task_of = [&](const CLI::App* command) {
            const auto* task = std::ranges::find_if(
                kTasks, [&](const auto& known) { return known.first == command->get_name(); });
            return app->get_parent() != nullptr ? std::string_view("Commands")
                   : task == kTasks.end()       ? kOtherTask
                                                : task->second;
        };
        std::vector<std::string_view> tasks;
        tasks.reserve(kTasks.size());
        for (const auto& [command, task] : kTasks) {
            tasks.push_back(app->get_parent() != nullptr ? "Commands" : task);
        }
        tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
        const std::string family = app->get_parent() == nullptr ? "" : app->get_name() + " ";
        std::vector<std::string> rare;
        std::string out;
        for (const std::string_view task : tasks) {
            std::string rows;
            for (const CLI::App* command : commands) {
                // Who runs a bridge needs all of its commands; they are in the order of the work.
                if (family != "bridge " && is_advanced(family + command->get_name())) {
                    rare.push_back(command->get_name());
                } else if (task_of(command) == task) {
                    rows += row(command->get_name(), command->get_description(), kCommandColumn);
                }
            }
            out += rows.empty() ? rows : fmt::format("\n{}:\n{}", task, rows);
        }
        std::sort(rare.begin(), rare.end());
        rare.erase(std::unique(rare.begin(), rare.end()), rare.end()); // met once per task
        return rare.empty() || family.empty()
                   ? out
                   : out + fmt::format("\nRarely used: {} (cybelectl help --all)\n",
                                       fmt::join(rare, ", "));
    }

    std::string make_footer(const CLI::App* app) const override {
        if (app->get_parent() == nullptr) {
            return std::string(kFirstSteps);
        }
        return CLI::Formatter::make_footer(app);
    }
};

} // namespace

std::string value_text(const CLI::Option& option) {
    if (option.get_items_expected_max() == 0) {
        return {};
    }
    const std::string type = option.get_type_name();
    const auto [base, rest] = parts_of(type);
    std::string value(base);
    if (rest.starts_with('{') && rest.ends_with('}')) {
        value = rest.substr(1, rest.size() - 2);
        std::replace(value.begin(), value.end(), ',', '|');
    } else if (is_number(base)) {
        value = "N";
    } else if (base == "TEXT" || base.empty()) {
        const auto& names = option.get_lnames();
        value = names.empty() ? "TEXT" : placeholder(names.front());
    }
    return value + (option.get_expected_max() > 1 ? " ..." : "");
}

std::string description_text(const CLI::Option& option) {
    std::string text = option.get_description();
    const std::string type = option.get_type_name();
    const std::string_view rest = parts_of(type).second;
    const std::size_t open = rest.find('[');
    const std::size_t dash = rest.find(" - ");
    if (open != std::string_view::npos && dash != std::string_view::npos && rest.ends_with(']')) {
        text += fmt::format(" ({} to {})",
                            rest.substr(open + 1, dash - open - 1),
                            rest.substr(dash + 3, rest.size() - dash - 4));
    }
    const std::string otherwise = option.get_default_str();
    return otherwise.empty() ? text : fmt::format("{} (default: {})", text, otherwise);
}

std::string command_row(std::string_view command, std::string_view text) {
    constexpr std::size_t kLongCommandColumn = 18;
    return row(command, text, kLongCommandColumn);
}

std::string placeholder(std::string_view name) {
    std::string out(name);
    out = text::uppered(out);
    return out;
}

std::string called_as(const CLI::App& verb, const std::string& path) {
    constexpr std::string_view kBegin = "Usage: ";
    std::string usage = HelpFormatter().make_usage(&verb, path);
    usage.erase(0, kBegin.size());
    usage.erase(usage.find_last_not_of('\n') + 1);
    return usage;
}

std::shared_ptr<CLI::FormatterBase> make_help_formatter() {
    return std::make_shared<HelpFormatter>();
}

} // namespace cybele::cli
