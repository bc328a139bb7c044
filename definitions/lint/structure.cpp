// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/lines.hpp"
#include "definitions/grammar/tree.hpp"
#include "definitions/lint/context.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

/// Sizes above this are told before they become a refusal.
constexpr std::size_t kNearLimit = 64000;

void header_line(Lint& lint,
                 std::size_t number,
                 std::string_view line,
                 std::set<std::string>& seen) {
    const std::size_t colon = line.find(':');
    const std::string_view trimmed = trim(line);
    if (trimmed.empty() || trimmed.starts_with('#') || colon == std::string_view::npos) {
        return;
    }
    const std::string key = lower(trim(line.substr(0, colon)));
    if (!is_header_key(key)) {
        return; // refused already, or the rest of a continued value
    }
    const std::size_t hash = line.find('#');
    if (hash != std::string_view::npos && hash > colon + 1 &&
        blank_length(line.substr(hash - 1)) == 0) {
        lint.tell("CD012",
                  {number, hash + 1},
                  fmt::format("the value of '{}' ends before this #", header_spelling(key)));
    }
    if (!seen.insert(key).second) {
        lint.tell(
            "CD014", {number, 0}, fmt::format("'{}' stands here again", header_spelling(key)));
    }
    if (key == "bootstrap" &&
        trim(line.substr(colon + 1, hash == std::string_view::npos ? hash : hash - colon - 1))
            .empty()) {
        lint.tell("CD025", {number, 0}, "'Bootstrap' names no agent");
    }
}

void check_header(Lint& lint, const TreeBlock& block) {
    std::set<std::string> seen;
    std::size_t last = 0;
    for (std::size_t i = 0; i < block.lines.size(); ++i) {
        header_line(lint, block.line + i, block.lines[i].text, seen);
        last = trim(block.lines[i].text).empty() ? last : i;
    }
    const std::string_view text = block.lines[last].text;
    if (trim(text.substr(0, text.find('#'))).ends_with('\\') && !trim(text).starts_with('#') &&
        has(lint.options().parse.dialect, Feature::kHeaderContinuation)) {
        lint.tell("CD008",
                  {block.line + last, 0},
                  "the continued value at the end of the header is dropped with its key");
    }
}

bool reads_argument(std::string_view name) {
    return name == "post" || name == "pre" || name == "setup" || name == "runscript" ||
           name == "startscript" || name == "test";
}

void check_section(Lint& lint, const TreeBlock& block, std::map<std::string, std::string>& seen) {
    const std::string name = block.name();
    std::size_t size = 0;
    for (const TreeLine& line : block.lines) {
        size += line.text.size() + line.end.size();
    }
    const auto& refusals = lint.outcome().refusals; // which name the sections that are over it
    const bool is_refused =
        std::ranges::any_of(refusals, [](const auto& refusal) { return refusal.rule == "CD007"; });
    if (size > kNearLimit && !is_refused) {
        lint.tell("CD007", {block.line, 0}, fmt::format("this section has {} bytes", size));
    }
    if (name == "files") {
        Section files;
        files.arguments = block.argument();
        if (files_origin(files).kind == FilesOrigin::Kind::kSkipped) {
            lint.tell("CD017",
                      {block.line, 0},
                      "this %files section is skipped",
                      trim(files.arguments).empty() ? "two spaces after %files are an argument to "
                                                      "Apptainer"
                                                    : "");
        } else if (files_origin(files).kind == FilesOrigin::Kind::kStage &&
                   !trim(files.arguments).starts_with("from")) {
            lint.tell("CD017",
                      {block.line, 0},
                      fmt::format("the first word of '%files {}' is not 'from'",
                                  printable(files.arguments)),
                      "Apptainer reads the second of two words as a stage, whatever the first "
                      "one is");
        }
        return;
    }
    if (is_app_section(name)) {
        return;
    }
    // Other sections ignore what stands on their line; a comment there is one.
    const std::string written = block.argument();
    const std::string argument = reads_argument(name)
                                     ? std::string(trim(written.substr(0, written.find('#'))))
                                     : std::string();
    const auto [found, is_new] = seen.emplace(name, argument);
    if (!is_new && found->second != argument) {
        lint.tell("CD016",
                  {block.line, 0},
                  fmt::format("this '%{}' has another argument than the one above", name));
    } else if (!is_new && name != "post" && name != "arguments" && is_section(name)) {
        lint.tell("CD015", {block.line, 0}, fmt::format("'%{}' stands here again", name));
    }
}

void data_lines(Lint& lint, const TreeBlock& block) {
    const std::string name = block.name();
    for (std::size_t i = 1; i < block.lines.size(); ++i) {
        const std::string_view line = block.lines[i].text;
        const std::string_view trimmed = trim(line);
        if (trimmed.empty() || trimmed.starts_with('#')) {
            continue;
        }
        if (name == "arguments" && trimmed.find(" #") != std::string_view::npos) {
            lint.tell("CD020",
                      {block.line + i, line.find(" #") + 2},
                      "this comment is a part of the value");
        }
        if (name == "labels" && trimmed.find(' ') == std::string_view::npos &&
            trimmed.find_first_of("=\t") != std::string_view::npos) {
            lint.tell("CD023",
                      {block.line + i, line.find_first_of("=\t", line.find(trimmed.front())) + 1},
                      fmt::format("the complete '{}' is the label's key", printable(trimmed)),
                      "",
                      "write a blank between key and value");
        }
    }
}

void stages_by_name(Lint& lint) {
    std::set<std::string> names;
    const auto& stages = lint.stages();
    for (std::size_t which = 0; which < stages.size(); ++which) {
        for (const Section& files : stages[which].sections) {
            const FilesOrigin from = files_origin(files);
            const auto has_name = [&](const Stage& stage) { return stage.name() == from.stage; };
            if (files.name == "files" && from.kind == FilesOrigin::Kind::kStage &&
                !names.contains(from.stage) && std::ranges::any_of(stages, has_name)) {
                lint.tell("CD018",
                          {files.line, 0},
                          fmt::format("the stage '{}' is not built yet", printable(from.stage)),
                          "files are copied while it is still empty",
                          "move that stage above this one");
            }
        }
        const std::string name = stages[which].name();
        if (!name.empty() && !names.insert(name).second) {
            lint.tell("CD019",
                      {stages[which].line, 0},
                      fmt::format("a stage named '{}' stands above", printable(name)));
        }
    }
}

/// What older releases than Apptainer read otherwise, without refusing it.
void dialect(Lint& lint) {
    const Dialect& target = lint.options().parse.dialect;
    const auto tell = [&](Feature feature, std::size_t line, std::string message) {
        if (!has(target, feature)) {
            lint.tell("CD022",
                      {line, 0},
                      std::move(message),
                      fmt::format("{} is known since {}",
                                  feature_row(feature).what,
                                  feature_row(feature).since.describe()),
                      fmt::format("do without it for {}", target.name()));
        }
    };
    for (std::size_t i = 0; i < lint.lines().size(); ++i) {
        const std::string_view line = lint.lines()[i];
        if (line.find("{{") != std::string_view::npos &&
            line.find("}}") != std::string_view::npos) {
            tell(Feature::kTemplates, i + 1, "the braces are plain text to this dialect");
        }
        if (line.find("$APPTAINER_") != std::string_view::npos ||
            line.find("${APPTAINER_") != std::string_view::npos) {
            tell(Feature::kApptainerVariables, i + 1, "this variable is unset in this dialect");
        }
    }
    for (const Stage& stage : lint.stages()) {
        for (const Section& files : stage.sections) {
            const std::size_t quote =
                files.name == "files" ? files.text.find('"') : std::string::npos;
            if (quote != std::string::npos) {
                tell(Feature::kQuotedFiles,
                     files.line + 1 +
                         static_cast<std::size_t>(
                             std::count(files.text.begin(),
                                        files.text.begin() + static_cast<std::ptrdiff_t>(quote),
                                        '\n')),
                     "the quotes are a part of the name to this dialect");
            }
        }
    }
}

/// A stage that looks as if a line of a script had begun it.
void accidental_stages(Lint& lint, const Tree& tree) {
    for (std::size_t i = 1; i < tree.stages.size(); ++i) {
        const auto& before = tree.stages[i - 1].blocks;
        if (before.empty() || !before.back().is_section) {
            continue;
        }
        std::string body;
        for (std::size_t k = 1; k < before.back().lines.size(); ++k) {
            body += before.back().lines[k].text + "\n";
        }
        const std::size_t document = body.rfind("<<");
        if (document == std::string::npos) {
            continue;
        }
        std::string word =
            body.substr(body.find_first_not_of("-'\" ", std::min(document + 2, body.size() - 1)));
        word.resize(std::min(word.find_first_of("'\" \n;|&)"), word.size()));
        std::string ends = body.substr(document); // `<<-` strips tabs
        for (std::size_t tab = ends.find("\n\t");
             body.compare(document, 3, "<<-") == 0 && tab != std::string::npos;
             tab = ends.find("\n\t", tab)) {
            ends.erase(tab + 1, 1);
        }
        if (!word.empty() && ends.find("\n" + word + "\n") == std::string::npos) {
            lint.tell("CD002",
                      {tree.stages[i].line, 0},
                      fmt::format("this line ends the here-document '{}' above and begins a stage",
                                  printable(word)));
        }
    }
}

/// Keys that the stage's agent does not read.
void unread_keys(Lint& lint) {
    for (const Stage& stage : lint.stages()) {
        const std::string agent = stage.header_value("bootstrap");
        for (const auto& [key, line] : stage.header_lines) {
            if (is_agent(agent) && !agent_reads(agent, key)) {
                lint.tell("CD028",
                          {line.number, 0},
                          fmt::format("'{}' has no effect with 'Bootstrap: {}'",
                                      header_spelling(key),
                                      agent));
            }
        }
    }
}

/// Agents that build from an image, and have none.
void missing_images(Lint& lint) {
    constexpr std::array<std::string_view, 9> kFromImages = {"docker",
                                                             "library",
                                                             "shub",
                                                             "oras",
                                                             "localimage",
                                                             "oci",
                                                             "oci-archive",
                                                             "docker-archive",
                                                             "docker-daemon"};
    const auto& stages = lint.stages();
    const bool is_refused = !lint.outcome().refusals.empty(); // for its headers, it may be
    for (std::size_t i = 0; i < stages.size() && !is_refused; ++i) {
        const Stage& stage = stages[i];
        const std::string agent = stage.header_value("bootstrap");
        if (!stage.header_value("from").empty() || !contains(kFromImages, agent)) {
            continue;
        }
        const bool is_repeated = stage.sections.empty() && i + 1 < stages.size();
        const auto line = stage.header_lines.find("bootstrap");
        if (const auto from = stage.header_lines.find("from"); from != stage.header_lines.end()) {
            lint.tell("CD029",
                      {from->second.number, 0},
                      "'From' is empty",
                      "its build argument has no value",
                      "give the argument a value: --build-arg NAME=VALUE");
            continue;
        }
        lint.tell("CD029",
                  {line == stage.header_lines.end() ? stage.line : line->second.number, 0},
                  fmt::format("'Bootstrap: {}' has no From", agent),
                  is_repeated ? fmt::format("the Bootstrap of line {} begins another stage",
                                            stages[i + 1].line)
                              : "",
                  is_repeated ? "remove one of the two, or give this one From" : "");
    }
}

} // namespace

void lint_structure(Lint& lint) {
    const Tree tree = read_tree(lint.text());
    for (const TreeStage& stage : tree.stages) {
        std::map<std::string, std::string> seen;
        for (const TreeBlock& block : stage.blocks) {
            if (block.is_section) {
                check_section(lint, block, seen);
                data_lines(lint, block);
            } else {
                check_header(lint, block);
            }
        }
    }
    accidental_stages(lint, tree);
    stages_by_name(lint);
    unread_keys(lint);
    missing_images(lint);
    dialect(lint);
}

} // namespace cybele::definitions
