// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/dockerfile_graph.hpp"

#include "recipes/forms/words.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

namespace cybele::recipes::dockerfile {
namespace {

constexpr std::size_t kMostStages = 128;

/// Arguments that BuildKit sets.
struct PlatformRow {
    std::string_view name;
    std::string_view value;
};
constexpr PlatformRow kPlatform[] = {{"BUILDPLATFORM", "linux/amd64"},
                                     {"BUILDOS", "linux"},
                                     {"BUILDARCH", "amd64"},
                                     {"BUILDVARIANT", ""},
                                     {"TARGETPLATFORM", "linux/amd64"},
                                     {"TARGETOS", "linux"},
                                     {"TARGETARCH", "amd64"},
                                     {"TARGETVARIANT", ""}};

/// `PIP_VERSION` → pip-version, where a step then sees the same name; else "".
std::string recipe_argument(std::string_view name) {
    std::string own;
    for (const char c : name) {
        if (is_lower(c)) {
            return {};
        }
        own += c == '_' ? '-' : text::lowered(std::string_view(&c, 1)).front();
    }
    const bool is_free = own != "path" && own != "home" && own != "ifs" && own != "sources";
    return is_name(own) && own.find("--") == std::string::npos && is_free ? own : std::string{};
}

/// HOST/NAME:TAG@DIGEST has these characters alone, and begins and ends with a letter or digit.
bool is_image_name(std::string_view text) {
    constexpr std::string_view kEnds =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const std::string all = std::string(kEnds) + "._/:@+-";
    return !text.empty() && text.find_first_not_of(all) == std::string_view::npos &&
           kEnds.find(text.front()) != std::string_view::npos &&
           kEnds.find(text.back()) != std::string_view::npos;
}

class GraphReader {
public:
    GraphReader(File& file, const Lexed& lexed)
        : file_(file), ledger_(file.ledger), lexed_(lexed) {}

    Graph run() {
        group();
        if (graph_.stages.empty() && !ledger_.is_refused()) {
            ledger_.refuse({1, 1},
                           {"there is no FROM",
                            "a Dockerfile has at least one stage",
                            "begin it with `FROM IMAGE`"});
        }
        if (ledger_.is_refused()) {
            return {};
        }
        collect_arguments();
        for (std::size_t i = 0; i < graph_.stages.size(); ++i) {
            read_from(i);
        }
        references();
        if (ledger_.is_refused()) {
            return {};
        }
        wanted();
        names();
        return std::move(graph_);
    }

private:
    void group() {
        const auto known = known_keywords();
        bool may_be_from = false; // a word that nobody knows stands where FROM should
        for (const auto& own : lexed_.instructions) {
            if (!contains(known, own.keyword)) {
                const std::string near = nearest(own.keyword, known);
                ledger_.refuse(own.mark(),
                               {"no instruction '" + printable(own.keyword) + "'",
                                "a builder stops at it",
                                near.empty() ? "remove it" : "did you mean `" + near + "`?"});
                may_be_from = true;
                continue;
            }
            if (own.rest.empty()) {
                ledger_.refuse(own.mark(),
                               {own.keyword + " says nothing",
                                "words must follow it",
                                "complete it, or remove it"});
                continue;
            }
            if (own.keyword == "FROM") {
                graph_.stages.emplace_back();
                graph_.stages.back().from = &own;
            } else if (!graph_.stages.empty()) {
                graph_.stages.back().body.push_back(&own);
            } else if (own.keyword == "ARG") {
                before_.push_back(&own);
            } else if (!may_be_from) {
                ledger_.refuse(own.mark(),
                               {own.keyword + " before the first FROM",
                                "only ARG may stand there",
                                "move it below FROM"});
            }
        }
        if (graph_.stages.size() > kMostStages) {
            ledger_.refuse(
                graph_.stages[kMostStages].from->mark(),
                {"more than 128 stages", "a Dockerfile of a person has fewer", "split the file"});
        }
    }

    /// Arguments with one default in the whole file become the Recipe's.
    void collect_arguments() {
        std::map<std::string, std::set<std::string>, std::less<>> defaults;
        const Lookup lookup = [&](std::string_view name) -> std::optional<Value> {
            return find_value(file_.global, name);
        };
        const auto look_at = [&](const Instruction& own, bool is_global) {
            for (const auto& [name, word] : argument_pairs(file_, own)) {
                std::string value = declared_value(file_, name, {});
                if (word) {
                    const Expansion expansion = expand(word->text, file_.escape, lookup);
                    value = declared_value(file_, name, expansion.value.plain);
                    defaults[name].insert(value);
                } else if (!file_.global.contains(name)) {
                    defaults[name].insert(value);
                }
                if (is_global) {
                    file_.global[name] = {value, literal(value)};
                }
            }
        };
        for (const auto& row : kPlatform) {
            file_.global[std::string(row.name)] = {std::string(row.value), std::string(row.value)};
        }
        for (const auto* own : before_) {
            look_at(*own, true);
        }
        for (const auto& stage : graph_.stages) {
            for (const auto* own : stage.body) {
                if (own->keyword == "ARG") {
                    look_at(*own, false);
                }
            }
        }
        for (const auto& [name, values] : defaults) {
            const std::string own = recipe_argument(name);
            if (values.size() != 1 || own.empty() ||
                values.begin()->find_first_of("\n\t") != std::string::npos ||
                values.begin()->find("@{") != std::string::npos) {
                continue;
            }
            file_.shared[name] = own;
            graph_.values[own] = *values.begin();
            if (auto found = file_.global.find(name); found != file_.global.end()) {
                found->second.text = "@{" + own + "}";
            }
        }
        for (const auto* own : before_) {
            ledger_.carry(own->lines);
            keep_comments(file_, *own);
        }
    }

    /// FROM [--platform=P] IMAGE [AS NAME]
    void read_from(std::size_t index) {
        Stage& stage = graph_.stages[index];
        const Instruction& own = *stage.from;
        const Lookup lookup = [&](std::string_view name) { return find_value(file_.global, name); };
        std::size_t rest = 0;
        const auto flags = take_flags(own.rest, rest);
        const auto words = split_words(std::string_view(own.rest).substr(rest), file_.escape);
        const bool has_alias = words.size() == 3 && text::lowered(words[1].text) == "as";
        if (words.size() != 1 && !has_alias) {
            ledger_.refuse(own.mark_at(rest),
                           {"FROM is not as `FROM IMAGE [AS NAME]`",
                            "an image, and a name for the stage or none",
                            "write it so"});
            return;
        }
        stage.alias = has_alias ? text::lowered(words[2].text) : "";
        const Expansion expansion = expand(words[0].text, file_.escape, lookup);
        if (!expansion.unknown.empty()) {
            ledger_.refuse(own.mark_at(rest + words[0].at),
                           {"FROM needs '" + printable(expansion.unknown) + "'",
                            "no ARG before the first FROM gives it a value",
                            "give it one: --build-arg " + printable(expansion.unknown) + "=VALUE"});
            return;
        }
        stage.image = expansion.value;
        stage.base = expansion.value.plain;
        for (const auto& flag : flags) {
            platform(own, flag, lookup);
        }
        for (std::size_t i = 0; i < index && has_alias; ++i) {
            if (graph_.stages[i].alias == stage.alias) {
                ledger_.refuse(own.mark_at(rest + words[2].at),
                               {"stage '" + printable(stage.alias) + "' appears two times",
                                "which one a later stage means depends on the builder",
                                "rename one of them"});
            }
        }
        for (std::size_t i = 0; i < index; ++i) {
            if (graph_.stages[i].alias == text::lowered(stage.base) && !stage.base.empty()) {
                stage.parent = i;
            }
        }
        if (!stage.parent) {
            check_image(own, stage, rest + words[0].at);
        }
    }

    void platform(const Instruction& own, const Flag& flag, const Lookup& lookup) {
        if (flag.name != "platform") {
            ledger_.refuse(
                own.mark_at(flag.at),
                {"FROM has no flag --" + printable(flag.name), "it has --platform", "remove it"});
            return;
        }
        const std::string wanted = expand(flag.value, file_.escape, lookup).value.plain;
        if (wanted != "linux/amd64") {
            ledger_.remark(own.mark_at(flag.at),
                           {"--platform=" + printable(wanted) + " is linux/amd64",
                            "images are built for the machine's own processors",
                            "build on a machine of that kind"});
        }
    }

    void check_image(const Instruction& own, Stage& stage, std::size_t at) {
        if (stage.base == "scratch") {
            ledger_.lose(own.lines,
                         own.mark_at(at),
                         {"FROM scratch",
                          "a Recipe's image has a base, for the shell that starts its program",
                          "the base is " + file_.request.base});
            stage.image = {file_.request.base, file_.request.base};
            stage.base = file_.request.base;
            return;
        }
        std::string help;
        const std::string fault = image_reference_fault("docker://" + stage.base, help);
        if (stage.base.empty() || !fault.empty() || !is_image_name(stage.base)) {
            ledger_.refuse(own.mark_at(at),
                           {"'" + printable(stage.base) + "' names no image",
                            fault.empty() ? "it has characters that no image's name has" : fault,
                            "write it as NAME:TAG"});
        }
    }

    /// Which stages an instruction takes files from.
    void references() {
        for (std::size_t i = 0; i < graph_.stages.size(); ++i) {
            for (const auto* own : graph_.stages[i].body) {
                if (own->keyword != "COPY") {
                    continue;
                }
                std::size_t rest = 0;
                for (const auto& flag : take_flags(own->rest, rest)) {
                    if (flag.name == "from") {
                        reference(i, *own, flag);
                    }
                }
            }
        }
    }

    void reference(std::size_t index, const Instruction& own, const Flag& flag) {
        const std::string wanted = text::lowered(flag.value);
        std::vector<std::string_view> earlier;
        for (std::size_t i = 0; i < graph_.stages.size(); ++i) {
            const bool is_it = wanted == std::to_string(i) || (!graph_.stages[i].alias.empty() &&
                                                               graph_.stages[i].alias == wanted);
            if (is_it && i >= index) {
                ledger_.refuse(
                    own.mark_at(flag.at),
                    {"stage '" + printable(flag.value) + "' does not come before this one",
                     "a stage copies files from those before it",
                     "move it up"});
                return;
            }
            if (is_it) {
                graph_.stages[index].takes.push_back(i);
                return;
            }
            if (i < index && !graph_.stages[i].alias.empty()) {
                earlier.push_back(graph_.stages[i].alias);
            }
        }
        const std::string near = nearest(wanted, earlier);
        std::string help;
        const bool is_number = wanted.find_first_not_of("0123456789") == std::string::npos;
        const bool is_image = !is_number && is_image_name(wanted) &&
                              image_reference_fault("docker://" + wanted, help).empty();
        const bool is_plain = wanted.find_first_of("/:@.") == std::string::npos;
        if (!is_image || (is_plain && !near.empty())) {
            ledger_.refuse(
                own.mark_at(flag.at),
                {"no stage '" + printable(flag.value) + "'",
                 "no FROM gives a stage this name, and it names no image",
                 near.empty() ? "name one of the stages" : "did you mean `" + near + "`?"});
            return;
        }
        if (is_plain) {
            ledger_.remark(own.mark_at(flag.at),
                           {"files of '" + printable(flag.value) + "'",
                            "no FROM gives a stage this name, so it is an image of that name",
                            "name one of the stages, or the image with its tag"});
        }
        graph_.stages[index].outside.push_back(flag.value);
    }

    /// The last stage, what it is made from, and what they take files from.
    void wanted() {
        std::vector<std::size_t> open{graph_.stages.size() - 1};
        while (!open.empty()) {
            Stage& stage = graph_.stages[open.back()];
            open.pop_back();
            if (stage.is_wanted) {
                continue;
            }
            stage.is_wanted = true;
            if (stage.parent) {
                open.push_back(*stage.parent);
            }
            graph_.outside.insert(stage.outside.begin(), stage.outside.end());
            for (const auto other : stage.takes) {
                graph_.stages[other].is_copied_from = true;
                open.push_back(other);
            }
        }
    }

    void names() {
        std::set<std::string> taken{"final", "probe"};
        const auto free_name = [&](std::string name) {
            name = name.empty() ? "stage" : name;
            std::string own = name;
            for (int i = 2; !taken.insert(own).second; ++i) {
                own = name.substr(0, 40) + "-" + std::to_string(i);
            }
            return own;
        };
        for (std::size_t i = 0; i < graph_.stages.size(); ++i) {
            Stage& stage = graph_.stages[i];
            const std::string alias =
                stage.alias.empty() ? "stage-" + std::to_string(i) : suggest_name(stage.alias);
            stage.name = free_name(alias);
            file_.stages[std::to_string(i)] = stage.name;
        }
        for (const auto& stage : graph_.stages) {
            if (!stage.alias.empty()) {
                file_.stages[stage.alias] = stage.name; // the last of the same name, as Docker
            }
        }
        for (const auto& image : graph_.outside) {
            const std::string name =
                image.substr(0, image.find_first_of(":@", image.rfind('/') + 1));
            const auto slash = name.rfind('/');
            const std::string own =
                suggest_name(slash == std::string::npos ? name : name.substr(slash + 1));
            file_.stages[text::lowered(image)] =
                free_name(own.empty() ? "image" : suggest_name("from-" + own));
        }
    }

    File& file_;
    Ledger& ledger_;
    const Lexed& lexed_;
    std::vector<const Instruction*> before_;
    Graph graph_;
};

} // namespace

Graph read_graph(File& file, const Lexed& lexed) {
    return GraphReader(file, lexed).run();
}

} // namespace cybele::recipes::dockerfile
