// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/definition.hpp"

#include "definitions/grammar/lines.hpp"
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/definition_base.hpp"
#include "recipes/import/dockerfile_words.hpp"
#include "recipes/import/shell_lines.hpp"
#include "recipes/render/render_stage.hpp"
#include "recipes/stage/render_text.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace cybele::recipes::definition_file {
namespace {

using definitions::Section;
using definitions::Stage;

/// Sections that no Recipe has.
struct LostRow {
    std::string_view section;
    Words words;
};
const LostRow kLost[] = {
    {"pre",
     {"%pre",
      "it runs on the host before the base is fetched",
      "run its commands before the build"}},
    {"appstart",
     {"%appstart", "an app of a Recipe has no instance", "start it with the app's `run`"}},
};

/// What a script becomes: a program, or a text for /bin/sh.
struct Script {
    std::vector<std::string> program;
    std::string text;
};

class Importer {
public:
    Importer(const ImportRequest& request, Ledger& ledger) : request_(request), ledger_(ledger) {}

    Result<Draft> run() {
        const std::string file = request_.file.native();
        definitions::ParseOptions options;
        options.arguments = request_.build_arguments;
        auto outcome = definitions::read_definition(request_.text, file, options);
        CYBELE_CHECK(definitions::as_error(outcome.refusals));
        CYBELE_CHECK(definitions::as_error(
            definitions::unused_arguments(request_.build_arguments, outcome, request_.text, file)));
        definition_ = std::move(outcome.definition);
        used_ = std::move(outcome.used_arguments);
        find_ends();
        name_stages();
        Draft draft;
        for (std::size_t i = 0; i < definition_.stages.size(); ++i) {
            stage(i, draft);
        }
        remark_arguments();
        if (ledger_.is_refused()) {
            return fail(ledger_.take_faults());
        }
        return draft;
    }

private:
    /// Each section ends where the next section or stage begins.
    void find_ends() {
        for (const auto& stage : definition_.stages) {
            starts_.insert(stage.line);
            for (const auto& section : stage.sections) {
                starts_.insert(section.line);
            }
        }
    }

    [[nodiscard]] Lines lines_after(std::size_t first) const {
        const auto next = starts_.upper_bound(first);
        const std::size_t last = next == starts_.end() ? lines_of(request_.text).size() : *next - 1;
        return {first, std::max(first, last)};
    }

    [[nodiscard]] Joined
    joined(const Stage& stage, std::string_view name, std::string_view app = {}) const {
        Joined joined;
        Stage own;
        for (const auto& section : stage.sections) {
            if (section.name == name && (app.empty() || section.arguments == app)) {
                joined.parts.push_back({&section, lines_after(section.line)});
                joined.arguments = section.arguments.empty() ? joined.arguments : section.arguments;
                own.sections.push_back(section);
            }
        }
        joined.text = own.joined(name);
        return joined;
    }

    /// Names as a Recipe has them; the last stage has none.
    void name_stages() {
        std::set<std::string> taken{std::string(kFinalStage), std::string(kProbeStage)};
        for (const auto& stage : definition_.stages) {
            const std::string name = stage.name();
            std::string own = is_name(name) ? name : suggest_name(name);
            own = own.empty() ? "stage" : own;
            for (int i = 2; taken.contains(own); ++i) {
                own = (is_name(name) ? name : "stage") + "-" + std::to_string(i);
            }
            taken.insert(own);
            all_names_.push_back(own);
        }
    }

    void stage(std::size_t index, Draft& draft) {
        const Stage& stage = definition_.stages[index];
        const bool is_last = index + 1 == definition_.stages.size();
        if (!is_last && stage.name().empty()) {
            lose_unnamed(stage);
            return;
        }
        DraftStage own;
        State state{request_, ledger_, is_last ? draft : own, false, {}};
        const Lines own_lines = lines_after(stage.line);
        carry_header(state, stage, {index == 0 ? 1 : own_lines.first, own_lines.last});
        const Joined setup = joined(stage, "setup");
        carry_setup(state, setup);
        files(state, stage);
        if (is_last) {
            image(state, stage, draft);
        } else {
            lose_of_image(stage);
        }
        auto& steps = state.stage.steps;
        steps = std::move(state.before);
        carry_post(state, joined(stage, "post"), state.stage.environment);
        std::move(state.after.begin(), state.after.end(), std::back_inserter(steps));
        for (const auto& row : kLost) {
            const Joined lost = joined(stage, row.section);
            lose(ledger_, lost, row.words);
        }
        carry(ledger_, joined(stage, "arguments"));
        if (!is_last) {
            own.name = all_names_[index];
            names_[stage.name()] = own.name;
            draft.stages.push_back(std::move(own));
        }
    }

    /// %files, and the step for those that wait.
    void files(State& state, const Stage& stage) {
        bool is_any_waiting = false;
        for (const auto& section : stage.sections) {
            if (section.name != "files") {
                continue;
            }
            for (auto& file : read_files(ledger_, {&section, lines_after(section.line)}, names_)) {
                state.has_system_files = state.has_system_files || is_system_copy(file);
                const bool waits = file.to.starts_with(kWaitingFiles);
                if (state.made_folders.contains(file.to.substr(waits ? kWaitingFiles.size() : 0))) {
                    file.to += '/'; // %setup makes the folder before
                }
                is_any_waiting = is_any_waiting || waits;
                state.stage.files.push_back(std::move(file));
            }
        }
        if (is_any_waiting) {
            state.before.push_back(move_waiting());
        }
    }

    void lose_unnamed(const Stage& stage) {
        if (stage.sections.empty()) {
            ledger_.refuse({definition_.stages.back().line, 1},
                           {"a second `Bootstrap:`",
                            "the stage before it has no name and no section",
                            "remove the header that is not meant"});
            return;
        }
        const Lines lines{stage.line, lines_after(stage.sections.back().line).last};
        ledger_.lose(lines,
                     {stage.line, 1},
                     {"a stage without a name",
                      "no later stage can copy from it",
                      "give it a name with `Stage:`, or leave it out"});
    }

    void lose_of_image(const Stage& stage) {
        for (const auto& section : stage.sections) {
            if (section.name != "files" && section.name != "setup" && section.name != "post" &&
                section.name != "pre" && section.name != "arguments") {
                ledger_.lose(lines_after(section.line),
                             {section.line, 1},
                             {"%" + section.name + " of an earlier stage",
                              "only the last stage becomes the image",
                              "move it to the last stage"});
            }
        }
    }

    /// Sections that say what the image does.
    void image(State& state, const Stage& stage, Draft& draft) {
        environment(state, joined(stage, "environment"));
        script(state, joined(stage, "runscript"), "runscript", draft);
        script(state, joined(stage, "test"), "test", draft);
        const Joined start = joined(stage, "startscript");
        carry(ledger_, start);
        if (!start.is_blank()) {
            state.before.push_back({executable_lines(
                "/.singularity.d/startscript",
                (interpreter_of(start.text).empty() ? "#!/bin/sh\n" : "") + start.text)});
        }
        const Joined help = joined(stage, "help");
        draft.help = help_text(help);
        const auto labels = read_labels(ledger_, joined(stage, "labels"));
        draft.labels.insert(labels.begin(), labels.end());
        apps(stage, draft);
    }

    std::string help_text(const Joined& help) {
        if (help.is_blank()) {
            carry(ledger_, help);
            return {};
        }
        Draft piece;
        std::size_t count = 0;
        for (const auto& line : lines_of(help.text)) {
            std::string text(trimmed(line));
            std::replace(text.begin(), text.end(), '\t', ' ');
            count += text.empty() ? 0U : 1U;
            piece.help += (piece.help.empty() || text.empty() ? "" : " ") + text;
        }
        piece.help = literal(piece.help);
        if (const auto fault = fault_of(piece)) {
            lose(ledger_, help, {"%help", fault->message, fault->help});
            return {};
        }
        carry(ledger_, help);
        if (count > 1) {
            ledger_.remark(help.mark(),
                           {"%help in one line",
                            "`help` of a Recipe is one line",
                            "copy a longer text with `files`, and name its path in `help`"});
        }
        return piece.help;
    }

    void environment(State& state, const Joined& own) {
        carry(ledger_, own);
        if (own.is_blank()) {
            return;
        }
        const auto fields = read_assignments(own.text);
        Draft piece;
        if (fields) {
            piece.environment = *fields;
        }
        if (fields && !fault_of(piece)) {
            for (const auto& line : lines_of(own.text)) {
                const auto text = trimmed(line);
                if (text.starts_with('#')) {
                    ledger_.keep(std::string(trimmed(text, "# \t")));
                }
            }
            state.stage.environment = *fields;
            return;
        }
        state.after.push_back({environment_lines(own.text)});
    }

    /// %runscript and %test: a program, or a script as it is written.
    void script(State& state, const Joined& own, const std::string& name, Draft& draft) {
        carry(ledger_, own);
        if (own.is_blank()) {
            return;
        }
        const std::string path = "/opt/cybelectl/import/" + name;
        const std::string interpreter = interpreter_of(own.text);
        const auto program = name == "runscript" ? program_of(own.text) : std::nullopt;
        Draft piece;
        piece.run_argv = program.value_or(std::vector<std::string>{});
        piece.run_script =
            program ? "" : without_last_blanks("set +eu\n" + without_indent(own.text));
        const bool is_sh = interpreter.empty() || interpreter == "/bin/sh";
        const bool is_expressible = (is_sh || program.has_value()) && !fault_of(piece);
        if (!is_expressible) {
            state.before.push_back(
                {executable_lines(path, (interpreter.empty() ? "#!/bin/sh\n" : "") + own.text)});
            piece.run_argv = {path};
            piece.run_script.clear();
        }
        if (name == "runscript") {
            draft.run_argv = piece.run_argv;
            draft.run_script = piece.run_script;
        } else {
            draft.test = is_expressible ? piece.run_script : path + "\n";
        }
    }

    void apps(const Stage& stage, Draft& draft) {
        std::set<std::string> names;
        for (const auto& section : stage.sections) {
            if (section.name.starts_with("app")) {
                names.insert(section.arguments);
            }
        }
        for (const auto& name : names) {
            app(stage, name, draft);
        }
    }

    void app(const Stage& stage, const std::string& name, Draft& draft) {
        DraftApp own;
        for (const auto& section : stage.sections) {
            if (section.name == "appfiles" && section.arguments == name) {
                Section plain = section;
                plain.arguments.clear();
                const auto files = read_files(ledger_, {&plain, lines_after(section.line)}, names_);
                own.files.insert(own.files.end(), files.begin(), files.end());
            }
        }
        own.labels = read_labels(ledger_, joined(stage, "applabels", name));
        own.help = help_text(joined(stage, "apphelp", name));
        app_environment(joined(stage, "appenv", name), name, own);
        app_scripts(stage, name, own);
        Draft piece;
        piece.apps[name] = own;
        if (const auto fault = fault_of(piece)) {
            ledger_.refuse(
                app_mark(stage, name),
                {"app '" + printable(name) + "': " + fault->message, fault->because, fault->help});
            return;
        }
        draft.apps[name] = std::move(own);
    }

    void app_environment(const Joined& environment, const std::string& name, DraftApp& own) {
        const auto fields = read_assignments(environment.text);
        const bool has_fields = fields && std::ranges::all_of(*fields, [](auto& one) {
                                    return one.second.how == EnvironmentValue::How::kSet;
                                });
        if (has_fields || environment.is_blank()) {
            carry(ledger_, environment);
            own.environment = environment.is_blank() || !fields ? own.environment : *fields;
        } else {
            lose(ledger_,
                 environment,
                 {"%appenv " + printable(name),
                  "the environment of an app is a list of fixed values",
                  "set the variables in the app's `run`"});
        }
    }

    void app_scripts(const Stage& stage, const std::string& name, DraftApp& own) {
        const Joined run = joined(stage, "apprun", name);
        carry(ledger_, run);
        if (!run.is_blank()) {
            const auto program = program_of(run.text);
            own.run_argv = program.value_or(std::vector<std::string>{});
            own.run_script =
                program ? "" : without_last_blanks("set +eu\n" + without_indent(run.text));
        }
        const Joined test = joined(stage, "apptest", name);
        carry(ledger_, test);
        own.test =
            test.is_blank() ? "" : without_last_blanks("set +eu\n" + without_indent(test.text));
        const Joined install = joined(stage, "appinstall", name);
        if (const auto line = open_of(install)) {
            ledger_.refuse({install.mark().line + 1 + *line, 1},
                           {"a here-document has no end",
                            "the line with its delimiter alone is missing",
                            "add that line, without blanks before it"});
        }
        carry(ledger_, install);
        if (!install.is_blank()) {
            own.steps.push_back(
                {without_last_blanks("set +u\numask 0002\n" + without_indent(install.text)),
                 "sh",
                 "/scif/apps/" + name,
                 {},
                 own.environment.empty()});
        }
    }

    static std::optional<std::size_t> open_of(const Joined& install) {
        return open_document(install.text);
    }

    static yaml::Mark app_mark(const Stage& stage, const std::string& name) {
        for (const auto& section : stage.sections) {
            if (section.name.starts_with("app") && section.arguments == name) {
                return {section.line, 1};
            }
        }
        return {stage.line, 1};
    }

    void remark_arguments() {
        const auto lines = lines_of(request_.text);
        for (const auto& name : used_) {
            std::size_t at = 0;
            while (at < lines.size() && lines[at].find("{{") == std::string::npos) {
                ++at;
            }
            while (at < lines.size() && (lines[at].find("{{") == std::string::npos ||
                                         lines[at].find(name) == std::string::npos)) {
                ++at;
            }
            ledger_.remark({at < lines.size() ? at + 1 : 1, 1},
                           {"`{{ " + name + " }}` is replaced by its value",
                            "an argument of a Recipe is a variable of its scripts",
                            "import with --build-arg " + name + "=VALUE for another value"});
        }
    }

    const ImportRequest& request_;
    Ledger& ledger_;
    definitions::Definition definition_;
    std::set<std::string> used_;
    std::set<std::size_t> starts_;
    std::vector<std::string> all_names_;
    std::map<std::string, std::string> names_; ///< of the stages before
};

} // namespace

bool Joined::is_blank() const {
    return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

yaml::Mark Joined::mark() const {
    return {parts.empty() ? 1 : parts.front().section->line, 1};
}

void carry(Ledger& ledger, const Joined& joined) {
    for (const auto& part : joined.parts) {
        ledger.carry(part.lines);
    }
}

void lose(Ledger& ledger, const Joined& joined, const Words& words) {
    if (joined.is_blank()) {
        carry(ledger, joined); // it means nothing
        return;
    }
    for (const auto& part : joined.parts) {
        ledger.lose(part.lines, {part.section->line, 1}, words);
    }
}

void lose_line(Ledger& ledger, const Part& part, std::size_t line, Words words) {
    const std::size_t at = part.section->line + 1 + line;
    ledger.lose({at, at}, {at, 1}, std::move(words));
}

std::optional<Fault> fault_of(const Draft& piece) {
    Draft draft = piece;
    draft.name = "piece";
    draft.base = "debian:12";
    const auto recipe = read_recipe(print_draft(draft, {}), "piece.yaml");
    if (!recipe) {
        return recipe.error().faults().front();
    }
    RenderOptions options;
    options.may_be_unverified = true;
    const auto rendered = render_definition(*recipe, options);
    return rendered ? std::nullopt : std::optional(rendered.error().faults().front());
}

Result<Draft> import_definition(const ImportRequest& request, Ledger& ledger) {
    return Importer(request, ledger).run();
}

} // namespace cybele::recipes::definition_file
