// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/refusal.hpp"
#include "cli/common/session.hpp"
#include "cli/help/topic_words.hpp"
#include "definitions/grammar/rules.hpp"
#include "kubernetes/check/rules.hpp"
#include "launchers/mpi/rules.hpp"
#include "pipeline/schemas.hpp"
#include "schedulers/reading/invariants.hpp"
#include "schedulers/reading/symptoms.hpp"
#include "support/characters.hpp"
#include "support/embedded.hpp"
#include "support/linter.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::embedded {
std::span<const EmbeddedFile> reference_pages();
}

namespace cybele::cli {

namespace {

/// "../docs/reference/job.md" → "job".
std::string_view page_name(std::string_view file) {
    const std::size_t begin = file.rfind('/') + 1;
    return file.substr(begin, file.rfind('.') - begin);
}

bool is_page(std::string_view name) {
    const auto pages = embedded::reference_pages();
    return std::ranges::any_of(
        pages, [&](const EmbeddedFile& page) { return page_name(page.name) == name; });
}

std::string_view page_text(std::string_view name) {
    for (const EmbeddedFile& page : embedded::reference_pages()) {
        if (page_name(page.name) == name) {
            return page.bytes;
        }
    }
    return {};
}

/// The anchor of a heading, as web pages of repositories make it.
std::string anchor_of(std::string_view heading) {
    std::string anchor;
    for (const char c : text::lowered(heading)) {
        const bool is_kept = is_lower_or_digit(c) || c == '-' || c == '_';
        anchor += c == ' ' ? "-" : is_kept ? std::string(1, c) : std::string();
    }
    return anchor;
}

/// The symptom of the failure that a heading of docs/failures.md describes; empty: none.
std::string_view symptom_at(std::string_view anchor) {
    constexpr std::string_view kHeading = "\n### ";
    constexpr std::string_view kSymptom = "\nSymptom: `";
    const std::string_view page = page_text("failures");
    for (std::size_t at = page.find(kHeading); at != std::string_view::npos;
         at = page.find(kHeading, at + 1)) {
        const std::size_t begin = at + kHeading.size();
        const std::string_view section = page.substr(begin, page.find(kHeading, begin) - begin);
        const std::size_t name = section.find(kSymptom);
        if (name != std::string_view::npos &&
            anchor_of(section.substr(0, section.find('\n'))) == anchor) {
            const std::string_view rest = section.substr(name + kSymptom.size());
            return rest.substr(0, rest.find('`'));
        }
    }
    return {};
}

/// What a terminal shows in place of `[words](target)`: a page by the command that prints it.
std::string link_text(std::string_view words, std::string_view target) {
    constexpr std::string_view kSuffix = ".md";
    const std::string_view file = target.substr(0, target.find('#'));
    if (file.empty()) {
        const std::string_view symptom = symptom_at(target.substr(std::min(target.size(), 1UL)));
        return symptom.empty() ? std::string(words)
                               : fmt::format("{} (`cybelectl explain {}`)", words, symptom);
    }
    if (!file.ends_with(kSuffix) || !is_page(page_name(file))) {
        return fmt::format("[{}]({})", words, target);
    }
    const std::string command = fmt::format("`cybelectl explain {}`", page_name(file));
    return words == page_name(file) ? command : fmt::format("{} ({})", words, command);
}

/// Markdown as a terminal shows it, where nothing follows a link.
std::string for_terminal(std::string_view page) {
    constexpr std::string_view kMiddle = "](";
    std::string text;
    for (std::size_t middle = page.find(kMiddle); middle != std::string_view::npos;
         middle = page.find(kMiddle)) {
        const std::size_t begin = page.substr(0, middle).rfind('[');
        const std::size_t end = page.find(')', middle);
        if (begin == std::string_view::npos || end == std::string_view::npos) {
            text += page.substr(0, middle + kMiddle.size());
            page.remove_prefix(middle + kMiddle.size());
            continue;
        }
        text += page.substr(0, begin);
        text += link_text(page.substr(begin + 1, middle - begin - 1),
                          page.substr(middle + kMiddle.size(), end - middle - kMiddle.size()));
        page.remove_prefix(end + 1);
    }
    text += page;
    return text;
}

/// The title of a page; of one whose title is its name, its first sentence.
std::string page_summary(std::string_view name, std::string_view text) {
    const std::string_view first = text.substr(0, text.find('\n'));
    std::string title(first.substr(std::min(first.find_first_not_of("# "), first.size())));
    std::string low = title;
    low = text::lowered(low);
    if (low != name) {
        return title;
    }
    std::string_view rest = text.substr(std::min(first.size(), text.size()));
    rest.remove_prefix(std::min(rest.find_first_not_of('\n'), rest.size()));
    std::string sentence(rest.substr(0, rest.find("\n\n")));
    std::replace(sentence.begin(), sentence.end(), '\n', ' ');
    if (sentence.find_first_of("[#|`") == 0 || sentence.find("](") != std::string::npos) {
        return title;
    }
    constexpr std::size_t kMostOfSummary = 120;
    sentence.resize(std::min(sentence.find(". "), sentence.size()));
    if (sentence.size() > kMostOfSummary) {
        sentence.resize(std::min(sentence.find_last_of(",:;", kMostOfSummary), kMostOfSummary));
    }
    if (sentence.ends_with('.')) {
        sentence.pop_back();
    }
    return sentence;
}

/// Ids below the place where they are named, in lines of a terminal's width.
std::string ids_lines(std::string_view where, const std::vector<std::string_view>& ids) {
    constexpr std::size_t kWidth = 100;
    std::string text = fmt::format("\n{}:\n", where);
    std::string line = " ";
    for (auto id = ids.begin(); id != ids.end(); ++id) {
        if (std::find(ids.begin(), id, *id) != id) {
            continue; // several rows of a table share one
        }
        if (line.size() + id->size() >= kWidth) {
            text += line + "\n";
            line = " ";
        }
        line += " " + std::string(*id);
    }
    return text + line + "\n";
}

std::string rule_ids() {
    std::vector<std::string_view> definition;
    for (const definitions::Rule* rule : definitions::all_rules()) {
        definition.push_back(rule->id);
    }
    std::vector<std::string_view> object;
    for (const lint::Rule* rule : kubernetes::check_rules()) {
        object.push_back(rule->id);
    }
    std::vector<std::string_view> script;
    for (const lint::Rule& rule : schedulers::invariants()) {
        script.push_back(rule.id);
    }
    std::vector<std::string_view> log;
    for (const schedulers::Symptom& symptom : schedulers::symptoms()) {
        log.push_back(symptom.id);
    }
    std::vector<std::string_view> launch;
    for (const compatibility::Rule* rule : compatibility::all_rules()) {
        launch.push_back(rule->id);
    }
    return ids_lines("rules of `def check`", definition) +
           ids_lines("rules of `kube check`", object) +
           ids_lines("rules of `job explain`", script) +
           ids_lines("symptoms of `job explain --log`", log) +
           ids_lines("rules of `job check` about MPI", launch);
}

/// Words that people try, and the page that is meant.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"ci", "generate"},          {"github", "generate"},   {"gitlab", "generate"},
    {"pre-commit", "generate"},  {"settings", "project"},  {"migrate", "move-scripts"},
    {"convert", "move-scripts"}, {"qsub", "move-scripts"}, {"sbatch", "move-scripts"},
    {"config", "project"},       {"oom", "out-of-memory"}, {"killed", "exit-137"},
    {"serial", "launch"},        {"mpi-bind", "launch"},   {"horovod", "launch"},
    {"torch", "launch"},         {"spark", "launch"},      {"subuid", "no-subordinate-ids"},
    {"137", "exit-137"},         {"139", "exit-139"},      {"143", "exit-143"},
    {"126", "exit-126"},         {"127", "exit-126"},      {"124", "exit-124"},
    {"125", "exit-124"},
};

Result<int> list_topics() {
    std::vector<std::pair<std::string, std::string>> pages;
    std::size_t width = 0;
    for (const EmbeddedFile& page : embedded::reference_pages()) {
        const std::string_view name = page_name(page.name);
        pages.emplace_back(name, page_summary(name, page.bytes));
        width = std::max(width, name.size());
    }
    std::sort(pages.begin(), pages.end());
    std::string text = "cybelectl explain TOPIC, where TOPIC is a page:\n";
    for (const auto& [name, summary] : pages) {
        text += fmt::format("  {:<{}}  {}\n", name, width, summary);
    }
    text += "other words for pages:\n";
    for (const auto& [word, page] : kAliases) {
        text += fmt::format("  {:<{}}  see {}\n", word, width, page);
    }
    Session::print(text + rule_ids());
    return 0;
}

std::vector<std::string> schema_kinds() {
    std::vector<std::string> names;
    for (const document::Kind* kind : pipeline::document_kinds()) {
        names.push_back(text::lowered(kind->name));
    }
    return names;
}

/// For editors.
Result<int> print_schema(const std::string& kind) {
    if (kind.empty()) {
        Session::print(fmt::format("cybelectl explain KIND --schema, where KIND is one of: {}\n",
                                   fmt::join(schema_kinds(), ", ")));
        return 0;
    }
    const auto schema = pipeline::schema_of(kind);
    if (!schema) {
        const std::vector<std::string> kinds = schema_kinds();
        const std::vector<std::string_view> known(kinds.begin(), kinds.end());
        const std::string meant = nearest(kind, known);
        const std::string all = fmt::format("{}", fmt::join(kinds, ", "));
        return fail(
            ErrorCode::kUsage,
            problem("document-kind-unknown", "there is no document '" + printable(kind) + "'"),
            "there are " + all,
            meant.empty() ? "name one of them, as `cybelectl explain job --schema`"
                          : "did you mean '" + meant + "'?");
    }
    Session::print(*schema);
    return 0;
}

/// What docs/failures.md says of a symptom, from its heading to the next one.
std::string failure_section(std::string_view symptom) {
    const std::string_view page = page_text("failures");
    const std::size_t name = page.find(fmt::format("Symptom: `{}`\n", symptom));
    if (name == std::string_view::npos) {
        return {};
    }
    const std::size_t begin = page.rfind("\n### ", name) + 1;
    return std::string(page.substr(begin, page.find("\n##", name) - begin)) + "\n";
}

std::vector<std::string_view> split_cells(std::string_view row) {
    constexpr std::string_view kBetween = " | ";
    std::vector<std::string_view> cells;
    while (true) {
        const std::size_t end = std::min(row.find(kBetween), row.size());
        cells.push_back(row.substr(0, end));
        if (end == row.size()) {
            return cells;
        }
        row.remove_prefix(end + kBetween.size());
    }
}

/// A kind of error or warning by its name, from its row of docs/reference/errors.md.
std::string error_text(std::string_view id) {
    const std::string_view page = page_text("errors");
    const std::string first = fmt::format("\n| `{}` | ", id);
    const std::size_t begin = page.find(first);
    if (begin == std::string_view::npos) {
        return {};
    }
    std::string_view row = page.substr(begin + first.size());
    row = row.substr(0, row.find(" |\n"));
    const auto cells = split_cells(row);
    if (cells.size() < 4) {
        return {};
    }
    std::string text = cells[0].empty() ? fmt::format("{}: a warning\n", id)
                                        : fmt::format("{}: exit code {}\n", id, cells[0]);
    constexpr std::array<std::string_view, 3> kTitles{"message", "because", "help"};
    for (std::size_t at = 0; at < kTitles.size(); ++at) {
        if (!cells[at + 1].empty()) {
            text += fmt::format("{}: {}\n", kTitles.at(at), cells[at + 1]);
        }
    }
    Fault fault;
    fault.id = id;
    fault.code = cells[0] == "4" ? ErrorCode::kVerification : ErrorCode::kInput;
    if (const std::string_view about = page_about(fault); !about.empty()) {
        text += fmt::format("more: cybelectl explain {}\n", about);
    }
    return text + "`…` stands for what only the run knows.\n";
}

/// The names of all kinds of errors.
std::vector<std::string_view> error_ids() {
    constexpr std::string_view kBegin = "\n| `";
    const std::string_view page = page_text("errors");
    std::vector<std::string_view> ids;
    for (std::size_t at = page.find(kBegin); at != std::string_view::npos;
         at = page.find(kBegin, at + 1)) {
        const std::size_t begin = at + kBegin.size();
        ids.push_back(page.substr(begin, page.find('`', begin) - begin));
    }
    return ids;
}

/// A function or variable of the batch scripts, from its row of docs/reference/scripts.md; "" where
/// it is none.
std::string function_text(std::string_view name) {
    const std::string_view page = page_text("scripts");
    const std::string cell = fmt::format("`{}`", name);
    bool is_variable = false;
    for (const std::string_view line : text::split(page, '\n')) {
        is_variable = line == "| name | is |" || (is_variable && !line.empty());
        const std::size_t middle = line.find("` | ");
        if (line.starts_with("| `") && middle != std::string_view::npos &&
            line.substr(0, middle + 1).find(cell) != std::string_view::npos) {
            const std::string_view names = line.substr(2, middle - 1);
            return fmt::format(
                "{}: a {} of batch scripts{}:\n{}\nmore: cybelectl explain scripts\n",
                name,
                is_variable ? "variable" : "function",
                names == cell ? "" : fmt::format(", one of {}", names),
                line.substr(middle + 4, line.rfind(" |") - middle - 4));
        }
    }
    return {};
}

/// What the page of failures says of the messages in a line of a log; "" where it knows none.
std::string message_text(std::string_view line) {
    const std::string code = line.starts_with("code ") ? "exit " : ""; // `code 137`
    std::string text;
    for (const schedulers::Finding& finding :
         schedulers::find_symptoms(code + std::string(line), schedulers::LogPart::kOneMessage)) {
        text += (text.empty() ? "" : "\n") + for_terminal(failure_section(finding.symptom->id));
    }
    return text;
}

/// A rule by its id, whoever tells it; "" where there is none.
std::string rule_text(const std::string& id) {
    if (const definitions::Rule* rule = definitions::find_rule(id)) {
        return lint::explain(*rule);
    }
    if (const lint::Rule* rule = kubernetes::find_check_rule(id)) {
        return lint::explain(*rule);
    }
    if (const compatibility::Rule* rule = compatibility::find_rule(id)) {
        return compatibility::explain_rule(*rule);
    }
    if (const lint::Rule* rule = schedulers::find_invariant(id)) {
        return schedulers::explain_invariant(*rule);
    }
    for (const schedulers::Symptom& symptom : schedulers::symptoms()) {
        if (symptom.id == id) {
            return for_terminal(failure_section(symptom.id));
        }
    }
    return {};
}

/// A field of a document, as `job.resources.time`.
Result<int> print_field(const document::Kind& kind, std::string_view path) {
    const auto text = document::explain_field(kind, path);
    CYBELE_CHECK(text);
    Session::print(for_terminal(*text));
    return 0;
}

Result<int> explain_topic(const CLI::App& all, std::string topic) {
    const std::size_t dot = std::min(topic.find('.'), topic.size());
    const bool is_message = topic.find(' ') != std::string::npos; // "job.sh: line 3: …" of a log
    if (const auto* kind = pipeline::find_document_kind(topic.substr(0, dot));
        kind != nullptr && dot + 1 < topic.size() && !is_message) {
        return print_field(*kind, topic.substr(dot + 1));
    }
    for (const document::Kind* own : pipeline::document_kinds()) {
        const auto text = dot < topic.size() && !is_message ? document::explain_field(*own, topic)
                                                            : Result<std::string>(std::string());
        if (text && !text->empty()) { // `resources.time`
            Session::print(for_terminal(*text));
            return 0;
        }
    }
    for (const auto& [word, page] : kAliases) {
        topic = text::lowered(topic) == word ? std::string(page) : topic;
    }
    if (const std::string text = rule_text(topic); !text.empty()) {
        Session::print(text);
        return 0;
    }
    std::vector<std::string_view> topics;
    for (const EmbeddedFile& page : embedded::reference_pages()) {
        if (page_name(page.name) == topic || page_name(page.name) == text::lowered(topic)) {
            Session::print(for_terminal(page.bytes));
            return 0;
        }
        topics.push_back(page_name(page.name));
    }
    const std::string_view glossary = page_text("glossary");
    for (const std::string& text : {error_text(topic),
                                    function_text(topic),
                                    message_text(topic),
                                    word_text(all, glossary, topic)}) {
        if (!text.empty()) {
            Session::print(text);
            return 0;
        }
    }
    for (const schedulers::Symptom& symptom : schedulers::symptoms()) {
        topics.push_back(symptom.id);
    }
    const std::vector<std::string_view> ids = error_ids();
    topics.insert(topics.end(), ids.begin(), ids.end());
    const std::vector<std::string> words = known_words(all, glossary);
    topics.insert(topics.end(), words.begin(), words.end());
    const std::string meant = nearest(topic, topics);
    return fail(
        ErrorCode::kUsage,
        problem("topic-unknown", "no help page for '" + printable(topic) + "'"),
        "a topic is a page, a field, a command, a term of the glossary, the id of a rule, the name "
        "of a symptom or an error, a function of a script, or a message of a log",
        meant.empty() ? "`cybelectl explain` lists all topics" : "did you mean '" + meant + "'?");
}

} // namespace

void install_explain(CLI::App& app, Session& session) {
    auto topic = std::make_shared<std::string>();
    auto is_schema = std::make_shared<bool>(false);
    CLI::App* verb = add_verb(app,
                              "explain",
                              "Show a reference page or a rule; without a topic, list all.",
                              {"cybelectl explain",
                               "cybelectl explain job",
                               "cybelectl explain job.resources.time",
                               "cybelectl explain CD012",
                               "cybelectl explain K19",
                               "cybelectl explain bind/libc-newer",
                               "cybelectl explain no-user-namespaces",
                               "cybelectl explain lock-stale",
                               "cybelectl explain job --schema > job.schema.json"});
    verb->add_option(
            "topic",
            *topic,
            "page, field, command, term, rule or error, for example exit-codes or job.launch; "
            "without one, all topics are listed")
        ->type_name("TOPIC");
    verb->add_flag("--schema", *is_schema, "print the JSON schema of the document, for editors");
    verb->callback([&app, &session, topic, is_schema] {
        session.action = [&app, topic, is_schema] {
            return *is_schema       ? print_schema(*topic)
                   : topic->empty() ? list_topics()
                                    : explain_topic(app, *topic);
        };
    });
}

} // namespace cybele::cli
