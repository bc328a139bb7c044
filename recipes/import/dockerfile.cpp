// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/dockerfile.hpp"

#include "recipes/forms/words.hpp"
#include "recipes/import/dockerfile_graph.hpp"
#include "recipes/import/import.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <set>

namespace cybele::recipes::dockerfile {
namespace {

/// Arguments that a builder accepts without an ARG.
constexpr std::string_view kOfEachDockerfile =
    "HTTP_PROXY http_proxy HTTPS_PROXY https_proxy FTP_PROXY ftp_proxy NO_PROXY no_proxy ALL_PROXY "
    "all_proxy SOURCE_DATE_EPOCH";

void set_image(DraftStage& draft, const Value& image) {
    for (const auto& row : distributions()) {
        if (row.image == image.plain) {
            draft.base =
                image.text == image.plain || row.id != row.image ? std::string(row.id) : image.text;
            return;
        }
    }
    draft.image = "docker://" + image.text;
}

class Importer {
public:
    Importer(const ImportRequest& request, Ledger& ledger)
        : ledger_(ledger), file_{request, ledger, '\\', {}, {}, {}} {}

    Draft run() {
        const Lexed lexed = read_instructions(ledger_);
        file_.escape = lexed.escape;
        refuse_unused(lexed);
        graph_ = read_graph(file_, lexed);
        return ledger_.is_refused() ? Draft{} : assembled();
    }

private:
    /// Values for arguments that no ARG names.
    void refuse_unused(const Lexed& lexed) {
        std::set<std::string> named;
        for (const auto& own : lexed.instructions) {
            if (own.keyword == "ARG") {
                for (const auto& [name, word] : argument_pairs(file_, own)) {
                    named.insert(name);
                }
            }
        }
        for (const auto& [name, value] : file_.request.build_arguments) {
            if (!named.contains(name) && !has_word(kOfEachDockerfile, name)) {
                ledger_.refuse({1, 1},
                               {"the build argument '" + printable(name) + "' is used nowhere",
                                "the file has no `ARG " + printable(name) + "`",
                                "remove it, or add that line"});
            }
        }
    }

    Draft assembled() {
        std::vector<State> states(graph_.stages.size());
        Draft draft;
        draft.args = graph_.values;
        for (const auto& image : graph_.outside) {
            DraftStage stage;
            set_image(stage, {image, literal(image)});
            stage.name = file_.stages[text::lowered(image)];
            draft.stages.push_back(std::move(stage));
        }
        for (std::size_t i = 0; i < graph_.stages.size(); ++i) {
            if (!graph_.stages[i].is_wanted) {
                lose_stage(graph_.stages[i]);
                continue;
            }
            states[i] = state_of(i, states);
            if (graph_.stages[i].is_copied_from) {
                DraftStage stage = states[i].draft;
                stage.name = graph_.stages[i].name;
                draft.stages.push_back(std::move(stage));
            }
        }
        const State& last = states.back();
        static_cast<DraftStage&>(draft) = last.draft;
        draft.name.clear();
        draft.labels = last.labels;
        carry_program(file_, last, draft);
        return draft;
    }

    State state_of(std::size_t index, const std::vector<State>& states) {
        const Stage& stage = graph_.stages[index];
        State state;
        ledger_.carry(stage.from->lines);
        keep_comments(file_, *stage.from);
        if (stage.parent) {
            state = states[*stage.parent];
        } else {
            set_image(state.draft, stage.image);
            state.image = stage.base;
        }
        const bool is_last = is_of_last(index);
        for (const auto* own : stage.body) {
            const std::string& word = own->keyword;
            const std::size_t before = state.draft.steps.size();
            const bool is_of_image =
                word == "CMD" || word == "ENTRYPOINT" || word == "LABEL" || word == "MAINTAINER";
            if (is_of_image && !is_last) {
                ledger_.lose(own->lines,
                             own->mark(),
                             {word + " of an earlier stage",
                              "only the last stage is converted",
                              "leave it out"});
                keep_comments(file_, *own);
                continue;
            }
            if (word == "ARG") {
                argument(*own, state);
            } else if (word == "RUN") {
                carry_run(file_, *own, state);
            } else if (word == "COPY" || word == "ADD") {
                carry_copy(file_, *own, state);
            } else {
                carry_other(file_, *own, state);
            }
            for (std::size_t i = before; i < state.draft.steps.size(); ++i) {
                state.draft.steps[i].line = own->mark().line;
            }
        }
        return state;
    }

    /// Whether the last stage is it, or is made from it.
    [[nodiscard]] bool is_of_last(std::size_t index) const {
        std::optional<std::size_t> at = graph_.stages.size() - 1;
        while (at && *at != index) {
            at = graph_.stages[*at].parent;
        }
        return at.has_value();
    }

    void argument(const Instruction& own, State& state) {
        ledger_.carry(own.lines);
        keep_comments(file_, own);
        for (const auto& [name, word] : argument_pairs(file_, own)) {
            if (!is_variable_name(name)) {
                ledger_.refuse(own.mark(),
                               {"'" + printable(name) + "' names no argument",
                                "a name has letters, digits and `_`",
                                "rename it"});
                continue;
            }
            Value value{declared_value(file_, name, {}), {}};
            value.text = literal(value.plain);
            if (word) {
                const auto given = value_of(file_, own, *word, state);
                if (!given) {
                    continue;
                }
                const std::string plain = declared_value(file_, name, given->plain);
                value = plain == given->plain ? *given : Value{plain, literal(plain)};
            } else if (const auto global = find_value(file_.global, name)) {
                value = *global;
            }
            if (const auto shared = file_.shared.find(name); shared != file_.shared.end()) {
                value.text = "@{" + shared->second + "}";
            } else {
                state.local[name] = value.plain;
            }
            state.arguments[name] = std::move(value);
        }
    }

    void lose_stage(const Stage& stage) {
        const std::string what = stage.alias.empty() ? "a stage without a name"
                                                     : "stage '" + printable(stage.alias) + "'";
        std::vector<const Instruction*> all{stage.from};
        all.insert(all.end(), stage.body.begin(), stage.body.end());
        for (const auto* own : all) {
            keep_comments(file_, *own);
        }
        const Words words{what,
                          "the last stage uses nothing from it, so no builder runs it",
                          "copy from it, or leave it out"};
        ledger_.lose({stage.from->lines.first, all.back()->lines.last}, stage.from->mark(), words);
    }

    Ledger& ledger_;
    File file_;
    Graph graph_;
};

} // namespace

std::string
declared_value(const File& file, const std::string& name, const std::string& by_default) {
    const auto& given = file.request.build_arguments;
    const auto found = given.find(name);
    return found != given.end() ? found->second : by_default;
}

std::vector<std::pair<std::string, std::optional<Word>>> argument_pairs(const File& file,
                                                                        const Instruction& own) {
    std::vector<std::pair<std::string, std::optional<Word>>> list;
    for (const auto& word : split_words(own.rest, file.escape)) {
        const auto equals = word.text.find('=');
        if (equals == std::string::npos) {
            list.emplace_back(word.text, std::nullopt);
        } else {
            list.emplace_back(word.text.substr(0, equals),
                              Word{word.text.substr(equals + 1), word.at + equals + 1});
        }
    }
    return list;
}

std::optional<Value> find_value(const std::map<std::string, Value, std::less<>>& map,
                                std::string_view name) {
    const auto found = map.find(name);
    return found == map.end() ? std::nullopt : std::optional(found->second);
}

void keep_comments(const File& file, const Instruction& instruction) {
    for (const auto& comment : instruction.comments) {
        file.ledger.keep(comment);
    }
}

Lookup lookup_of(const State& state) {
    return [&state](std::string_view name) -> std::optional<Value> {
        for (const auto* map : {&state.environment, &state.arguments}) {
            if (const auto found = map->find(name); found != map->end()) {
                return found->second;
            }
        }
        return std::nullopt;
    };
}

std::optional<Value>
value_of(const File& file, const Instruction& instruction, const Word& word, const State& state) {
    Expansion expansion = expand(word.text, file.escape, lookup_of(state));
    if (expansion.unknown.empty()) {
        return std::move(expansion.value);
    }
    file.ledger.lose(instruction.lines,
                     instruction.mark_at(word.at),
                     {instruction.keyword + " with '" + printable(expansion.unknown) + "'",
                      "nothing in this file gives it a value; the base image may",
                      "write the value into the Recipe"});
    return std::nullopt;
}

Draft import_dockerfile(const ImportRequest& request, Ledger& ledger) {
    return Importer(request, ledger).run();
}

} // namespace cybele::recipes::dockerfile
