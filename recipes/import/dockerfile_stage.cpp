// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/dockerfile.hpp"
#include "recipes/stage/render_text.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::recipes::dockerfile {
namespace {

using How = EnvironmentValue::How;

/// Instructions that mean nothing here.
struct LostRow {
    std::string_view keyword;
    Words words;
};
const LostRow kLost[] = {
    {"EXPOSE",
     {"EXPOSE",
      "a container of a batch job has the ports of its machine",
      "nothing is to be done"}},
    {"VOLUME",
     {"VOLUME", "folders of the machine are bound when it runs", "name them in the Job's `binds`"}},
    {"STOPSIGNAL",
     {"STOPSIGNAL", "the scheduler decides how a job is stopped", "use the Job's `signal`"}},
    {"HEALTHCHECK",
     {"HEALTHCHECK",
      "no daemon asks how a batch job is",
      "make a check of the image of it: the Recipe's `test`"}},
    {"ONBUILD",
     {"ONBUILD",
      "a Recipe with this image as its base runs nothing automatically",
      "put the command into that Recipe, or `include` this one there"}},
    {"USER",
     {"USER",
      "a program runs as who starts it, and steps run as root",
      "make sure every user can read its files"}},
};

constexpr std::string_view kKeywords[] = {"ADD",
                                          "ARG",
                                          "CMD",
                                          "COPY",
                                          "ENTRYPOINT",
                                          "ENV",
                                          "EXPOSE",
                                          "FROM",
                                          "HEALTHCHECK",
                                          "LABEL",
                                          "MAINTAINER",
                                          "ONBUILD",
                                          "RUN",
                                          "SHELL",
                                          "STOPSIGNAL",
                                          "USER",
                                          "VOLUME",
                                          "WORKDIR"};

bool has_line_end(std::string_view text) {
    return text.find_first_of("\n\t") != std::string_view::npos;
}

void lose(const File& file, const Instruction& own, std::size_t at, Words words) {
    file.ledger.lose(own.lines, own.mark_at(at), std::move(words));
}

/// `K=V K2="V 2"`, or the old form `K V`.
std::vector<std::pair<std::string, Word>> pairs_of(const File& file, const Instruction& own) {
    std::vector<std::pair<std::string, Word>> pairs;
    const auto words = split_words(own.rest, file.escape);
    if (words.front().text.find('=') == std::string::npos) {
        if (words.size() > 1) {
            pairs.emplace_back(words[0].text, Word{own.rest.substr(words[1].at), words[1].at});
        }
        return pairs;
    }
    for (const auto& word : words) {
        const auto equals = word.text.find('=');
        pairs.emplace_back(word.text.substr(0, equals),
                           equals == std::string::npos
                               ? Word{{}, word.at}
                               : Word{word.text.substr(equals + 1), word.at + equals + 1});
    }
    return pairs;
}

/// One variable of ENV.
class Variable {
public:
    Variable(const File& file, const Instruction& own, State& state)
        : file_(file), own_(own), state_(state) {}

    void set(const std::string& name, const Word& word, const Lookup& before) {
        if (!is_variable_name(name)) {
            lose(file_,
                 own_,
                 word.at,
                 {"the variable '" + printable(name) + "'", "no shell can set it", "rename it"});
            return;
        }
        const Expansion expansion = expand(word.text, file_.escape, before);
        if (has_line_end(expansion.value.plain)) {
            lose(file_,
                 own_,
                 word.at,
                 {"the value of " + name, "it has line ends or tabs", "set it in `run`"});
            return;
        }
        if (expansion.unknown.empty()) {
            if (!is_usable(name, expansion.value, word.at)) {
                return;
            }
            put(name, How::kSet, expansion.value);
            state_.environment[name] = expansion.value;
            note_secret(name, expansion.value.plain, word.at);
        } else if (!extends(name, word, before)) {
            lose(file_,
                 own_,
                 word.at,
                 {"the value of " + name,
                  "nothing in this file gives '" + printable(expansion.unknown) +
                      "' a value; the base image may",
                  "write the value into the Recipe's `environment`"});
        }
    }

private:
    void note_secret(const std::string& name, const std::string& value, std::size_t at) {
        if (is_secret_name(name) && !value.empty() && !is_switch(value)) {
            file_.ledger.remark(own_.mark_at(at),
                                {"the value of " + name,
                                 "it looks like a secret, and who has the image can read it",
                                 "remove it from `environment`, and set it when the job runs"});
        }
    }

    /// A Recipe has search paths of absolute folders alone; else it says so here, at the line.
    bool is_usable(const std::string& name, const Value& value, std::size_t at) {
        if (name != "PATH" && name != "LD_LIBRARY_PATH") {
            return true;
        }
        const std::string parts = ":" + value.plain;
        for (auto colon = parts.find(':'); colon != std::string::npos;
             colon = parts.find(':', colon + 1)) {
            if (parts.compare(colon + 1, 1, "/") != 0) {
                lose(file_,
                     own_,
                     at,
                     {"the value of " + name,
                      "one of its parts does not begin with `/`",
                      "write the complete paths of its folders, without an empty part"});
                return false;
            }
        }
        return true;
    }

    void put(const std::string& name, How how, const Value& value) {
        if (state_.has_steps) {
            file_.ledger.remark(own_.mark(),
                                {name + " is set in earlier steps too",
                                 "`environment` holds for all steps",
                                 "unset it in those that must not see it"});
        }
        state_.draft.environment[name] = {how, value.text};
        file_.ledger.carry(own_.lines);
    }

    /// `NAME=new:$NAME` and `NAME=$NAME:new`, where the base image may have set NAME.
    bool extends(const std::string& name, const Word& word, const Lookup& before) {
        constexpr std::string_view kForms[] = {
            "${@:+:$@}", "${@:+:${@}}", ":${@}", ":$@", "${@:+${@}:}", "${@:+$@:}", "${@}:", "$@:"};
        std::string text = word.text;
        if (text.size() > 1 && text.front() == '"' && text.back() == '"') {
            text = text.substr(1, text.size() - 2);
        }
        for (std::size_t i = 0; i < std::size(kForms); ++i) {
            std::string form(kForms[i]);
            for (auto at = form.find('@'); at != std::string::npos; at = form.find('@', at + 1)) {
                form.replace(at, 1, name);
            }
            const bool is_prepend = i < 4;
            if (is_prepend ? !text.ends_with(form) : !text.starts_with(form)) {
                continue;
            }
            const std::string part =
                is_prepend ? text.substr(0, text.size() - form.size()) : text.substr(form.size());
            Expansion own = expand(part, file_.escape, before);
            if (!own.unknown.empty() || own.value.plain.empty()) {
                return false;
            }
            if (!is_usable(name, own.value, word.at)) {
                return true; // it is said
            }
            return extend(name, is_prepend ? How::kPrepend : How::kAppend, std::move(own.value));
        }
        return false;
    }

    bool extend(const std::string& name, How how, Value value) {
        const auto found = state_.draft.environment.find(name);
        if (found != state_.draft.environment.end()) {
            if (found->second.how != how) {
                return false;
            }
            value.text = how == How::kPrepend ? value.text + ":" + found->second.value
                                              : found->second.value + ":" + value.text;
        }
        put(name, how, value);
        return true;
    }

    const File& file_;
    const Instruction& own_;
    State& state_;
};

void carry_environment(const File& file, const Instruction& own, State& state) {
    const auto pairs = pairs_of(file, own);
    if (pairs.empty()) {
        file.ledger.refuse(own.mark_at(0),
                           {"ENV gives '" + printable(own.rest) + "' no value",
                            "a variable is written with its value",
                            "write `ENV NAME=VALUE`"});
        return;
    }
    const State before = [&] {
        State seen;
        seen.environment = state.environment;
        seen.arguments = state.arguments;
        return seen;
    }();
    const Lookup lookup = lookup_of(before);
    for (const auto& [name, word] : pairs) {
        Variable(file, own, state).set(name, word, lookup);
    }
}

void carry_label(const File& file,
                 const Instruction& own,
                 State& state,
                 const std::string& key,
                 const Word& word) {
    const Expansion name = expand(key, file.escape, lookup_of(state));
    const auto found = value_of(file, own, word, state);
    if (!found) {
        return;
    }
    const Value& value = *found;
    const auto complaint = check_label(name.value.plain);
    const bool has_end = has_line_end(value.plain);
    if (!complaint.because.empty() || !name.unknown.empty() || has_end) {
        lose(file,
             own,
             word.at,
             {"the label '" + printable(name.value.plain) + "'",
              has_end ? "its value has line ends or tabs" : complaint.because,
              "rename it"});
        return;
    }
    if (!is_plain_payload("x " + value.plain)) {
        lose(file,
             own,
             word.at,
             {"the label '" + name.value.plain + "'",
              "a definition file cannot carry its value",
              "write it without `{{`"});
        return;
    }
    state.labels[name.value.plain] = value.text;
    file.ledger.carry(own.lines);
}

void carry_labels(const File& file, const Instruction& own, State& state) {
    auto pairs = pairs_of(file, own);
    if (own.keyword == "MAINTAINER") {
        pairs.assign(1, {"maintainer", Word{own.rest, 0}});
    }
    for (const auto& [key, word] : pairs) {
        carry_label(file, own, state, key, word);
    }
}

void carry_workdir(const File& file, const Instruction& own, State& state) {
    const auto path = value_of(file, own, {own.rest, 0}, state);
    if (!path) {
        return;
    }
    const Value whole = absolute(state, *path);
    file.ledger.carry(own.lines);
    state.workdir = whole;
    state.has_workdir = true;
    if (whole.plain == "/" || !state.made.insert(whole.plain).second) {
        return;
    }
    DraftStep step{"mkdir -p " + shell_text(whole) + "\n", "sh", {}, {}};
    step.run.pop_back();
    state.draft.steps.push_back(std::move(step));
}

void carry_shell(const File& file, const Instruction& own, State& state) {
    auto words = read_json_words(own.rest);
    if (!words || words->empty()) {
        file.ledger.refuse(own.mark_at(0),
                           {"SHELL is not a list of words",
                            "it is written as JSON",
                            "write for example `SHELL [\"/bin/bash\", \"-c\"]`"});
        return;
    }
    state.shell = std::move(*words);
    file.ledger.carry(own.lines);
}

void carry_program_of(const File& file, const Instruction& own, State& state) {
    const bool is_command = own.keyword == "CMD";
    Program program;
    program.is_set = true;
    program.lines = own.lines;
    if (auto words = read_json_words(own.rest)) {
        program.words = std::move(*words);
        program.is_set = !program.words.empty();
    } else {
        program.shell = own.shell_text;
    }
    Program& place = is_command ? state.command : state.entrypoint;
    if (place.is_set) {
        file.ledger.lose(place.lines,
                         {place.lines.first, 1},
                         {"an earlier " + own.keyword,
                          "line " + std::to_string(own.lines.first) + " is used in its place",
                          "remove it"});
    }
    place = std::move(program);
}

/// A program's words for `exec` and `set --`.
std::string words_text(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) {
        text += (text.empty() ? "" : " ") + definition_quote(word);
    }
    return text;
}

std::vector<std::string> argv_of(const Program& program, const State& state) {
    if (!program.words.empty()) {
        return program.words;
    }
    std::vector<std::string> words = state.shell;
    words.push_back(program.shell);
    return words;
}

} // namespace

const DistributionRow* row_of(const State& state) {
    const auto* row = find_distribution(state.draft.base);
    return row != nullptr ? row : distribution_of_image(state.image);
}

const Words* words_of_lost(std::string_view keyword) {
    for (const auto& row : kLost) {
        if (row.keyword == keyword) {
            return &row.words;
        }
    }
    return nullptr;
}

std::vector<std::string_view> known_keywords() {
    return {std::begin(kKeywords), std::end(kKeywords)};
}

void add_step(State& state, DraftStep step) {
    if (step.workdir.empty() && state.workdir.plain != "/") {
        step.workdir = state.workdir.text;
    }
    if (step.workdir == "/") {
        step.workdir.clear();
    }
    std::string head;
    for (const auto& [name, value] : state.local) {
        head += "export " + name + "=" + shell_quote(value) + "\n";
    }
    step.run = head + step.run;
    if (step.run.find('\n') != std::string::npos && !step.run.ends_with('\n')) {
        step.run += '\n';
    }
    state.has_steps = true;
    state.draft.steps.push_back(std::move(step));
}

void carry_other(const File& file, const Instruction& own, State& state) {
    keep_comments(file, own);
    if (const Words* words = words_of_lost(own.keyword)) {
        if (own.keyword == "USER" && (own.rest == "root" || own.rest == "0" || own.rest == "0:0")) {
            file.ledger.carry(own.lines);
            return;
        }
        Words said = *words;
        said.what = own.keyword + " " + own.rest;
        lose(file, own, 0, std::move(said));
    } else if (own.keyword == "ENV") {
        carry_environment(file, own, state);
    } else if (own.keyword == "LABEL" || own.keyword == "MAINTAINER") {
        carry_labels(file, own, state);
    } else if (own.keyword == "WORKDIR") {
        carry_workdir(file, own, state);
    } else if (own.keyword == "SHELL") {
        carry_shell(file, own, state);
    } else {
        carry_program_of(file, own, state);
    }
}

void carry_program(const File& file, const State& state, Draft& draft) {
    const Program& entry = state.entrypoint;
    const Program& command = state.command;
    if (!entry.is_set && !command.is_set) {
        return;
    }
    const auto first = argv_of(entry, state);
    std::string script = state.has_workdir && state.workdir.plain != "/"
                             ? "cd " + definition_quote(state.workdir.plain) + "\n"
                             : std::string{};
    const bool is_simple =
        script.empty() && !command.is_set && entry.is_set && !entry.words.empty() &&
        std::ranges::none_of(entry.words, has_line_end) && !entry.words.front().empty();
    if (!script.empty()) {
        file.ledger.remark({(entry.is_set ? entry : command).lines.first, 1},
                           {"the program runs in " + state.workdir.plain,
                            "WORKDIR says so; relative paths of who starts it mean files there",
                            "remove `cd` from `run` to keep the caller's directory"});
    }
    if (entry.is_set && entry.words.empty()) {
        script += "exec " + words_text(first) + "\n"; // the shell form takes no arguments
    } else {
        if (command.is_set) {
            script += "[ \"$#\" -gt 0 ] || set -- " + words_text(argv_of(command, state)) + "\n";
        }
        script += "exec " + (entry.is_set ? words_text(first) + " " : "") + "\"$@\"\n";
    }
    for (const Program* program : {&entry, &command}) {
        if (program->is_set && (is_simple || is_plain_payload(script))) {
            file.ledger.carry(program->lines);
        } else if (program->is_set) {
            file.ledger.lose(program->lines,
                             {program->lines.first, 1},
                             {program == &entry ? "ENTRYPOINT" : "CMD",
                              "a definition file cannot carry this text",
                              "put it into a file, copy that with `files` and run it"});
        }
    }
    if (is_simple) {
        for (const auto& word : entry.words) {
            draft.run_argv.push_back(literal(word));
        }
    } else if (is_plain_payload(script)) {
        draft.run_script = script;
    }
}

} // namespace cybele::recipes::dockerfile
