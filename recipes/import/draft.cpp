// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/draft.hpp"

#include "recipes/model/tree.hpp"
#include "recipes/tables/tables.hpp"
#include "support/embedded.hpp"
#include "support/yaml_print.hpp"

#include <span>

#include <fmt/format.h>

namespace cybele::embedded {
std::span<const EmbeddedFile> recipe_files();
}

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = yaml::Node::Kind;

Node text_node(std::string text) {
    Node node;
    node.kind = Kind::kScalar;
    node.scalar = std::move(text);
    return node;
}

Node map_node() {
    Node node;
    node.kind = Kind::kMapping;
    return node;
}

void put(Node& map, const std::string& key, Node value) {
    map.entries.push_back({text_node(key), std::move(value)});
}

void put_text(Node& map, const std::string& key, const std::string& value) {
    if (!value.empty()) {
        put(map, key, text_node(value));
    }
}

void put_list(Node& map, const std::string& key, const std::vector<std::string>& items) {
    if (items.empty()) {
        return;
    }
    Node list;
    list.kind = Kind::kSequence;
    for (const auto& item : items) {
        list.items.push_back(text_node(item));
    }
    put(map, key, std::move(list));
}

void put_texts(Node& map, const std::string& key, const std::map<std::string, std::string>& texts) {
    if (texts.empty()) {
        return;
    }
    Node own = map_node();
    for (const auto& [name, value] : texts) {
        put(own, name, text_node(value));
    }
    put(map, key, std::move(own));
}

Node source_node(const SourcePackage& source) {
    Node node = map_node();
    put_text(node, "name", source.name);
    put_text(node, "url", source.url);
    put_text(node, "sha256", source.sha256);
    put_text(node, "git", source.git);
    put_text(node, "commit", source.commit);
    put_text(node, "build", source.build == "autotools" ? "" : source.build);
    put_list(node, "options", source.options);
    put_text(node, "script", source.script);
    return node;
}

void put_packages(Node& map, const Packages& packages) {
    Node own = map_node();
    put_text(own, "manager", packages.manager);
    put_text(own, "recommends", packages.recommends ? "true" : "");
    put_list(own, "system", packages.system);
    put_list(own, "needs", packages.needs);
    put_list(own, "pip", packages.pip);
    if (!packages.conda_packages.empty() || !packages.conda_channels.empty()) {
        Node conda = map_node();
        put_list(conda, "channels", packages.conda_channels);
        put_list(conda, "packages", packages.conda_packages);
        put(own, "conda", std::move(conda));
    }
    put_list(own, "spack", packages.spack);
    if (!packages.source.empty()) {
        Node list;
        list.kind = Kind::kSequence;
        for (const auto& source : packages.source) {
            list.items.push_back(source_node(source));
        }
        put(own, "source", std::move(list));
    }
    if (!own.entries.empty()) {
        put(map, "packages", std::move(own));
    }
}

void put_files(Node& map, const std::vector<FileCopy>& files) {
    if (files.empty()) {
        return;
    }
    Node list;
    list.kind = Kind::kSequence;
    for (const auto& file : files) {
        Node own = map_node();
        put_text(own, "from", file.from);
        put_text(own, "to", file.to);
        put_text(own, "mode", file.mode);
        put_text(own, "stage", file.stage);
        list.items.push_back(std::move(own));
    }
    put(map, "files", std::move(list));
}

void put_environment(Node& map, const std::map<std::string, EnvironmentValue>& environment) {
    if (environment.empty()) {
        return;
    }
    Node own = map_node();
    for (const auto& [name, value] : environment) {
        if (value.how == EnvironmentValue::How::kSet) {
            put(own, name, text_node(value.value));
            continue;
        }
        Node change = map_node();
        put_text(change,
                 value.how == EnvironmentValue::How::kPrepend ? "prepend" : "append",
                 value.value);
        put(own, name, std::move(change));
    }
    put(map, "environment", std::move(own));
}

/// The tree's text, each line behind `indent`.
std::string indented(const Node& node, const std::string& indent) {
    std::string text;
    std::string rest = yaml::to_text(node);
    std::size_t at = 0;
    while (at < rest.size()) {
        const auto end = rest.find('\n', at);
        if (end > at) {
            text += indent + rest.substr(at, end - at);
        }
        text += "\n";
        at = end + 1;
    }
    return text;
}

std::string steps_text(const std::vector<DraftStep>& steps, const std::string& indent) {
    if (steps.empty()) {
        return {};
    }
    std::string text = indent + "steps:\n";
    for (const auto& step : steps) {
        for (const auto& comment : step.comments) {
            text += fmt::format("{}  # {}\n", indent, comment);
        }
        Node item = map_node();
        if (step.shell == "sh" && step.workdir.empty() && step.has_environment) {
            item = text_node(step.run);
        } else {
            put_text(item, "workdir", step.workdir);
            put_text(item, "shell", step.shell == "sh" ? "" : step.shell);
            put_text(item, "environment", step.has_environment ? "" : "false");
            put_text(item, "run", step.run);
        }
        Node list;
        list.kind = Kind::kSequence;
        list.items.push_back(std::move(item));
        text += indented(list, indent + "  ");
    }
    return text;
}

Node base_node(const DraftStage& stage) {
    if (stage.image.empty()) {
        return text_node(stage.base);
    }
    Node node = map_node();
    put_text(node, "image", stage.image);
    return node;
}

std::string fields_text(const DraftStage& stage, const std::string& indent) {
    Node map = map_node();
    put_text(map, "mpi", stage.mpi.family);
    put_packages(map, stage.packages);
    put_files(map, stage.files);
    put_environment(map, stage.environment);
    return indented(map, indent) + steps_text(stage.steps, indent);
}

std::string stages_text(const Draft& draft) {
    if (draft.stages.empty()) {
        return {};
    }
    std::string text = "stages:\n";
    for (const auto& stage : draft.stages) {
        text += "  - name: " + stage.name + "\n";
        if (stage.base != draft.base || stage.image != draft.image) {
            Node map = map_node();
            put(map, "base", base_node(stage));
            text += indented(map, "    ");
        }
        text += fields_text(stage, "    ");
    }
    return text;
}

/// The fields that say what a program does, of the Recipe or of an app.
template <class Owner>
void put_program(Node& map, const Owner& owner) {
    put_list(map, "run", owner.run_argv);
    put_text(map, "run", owner.run_script);
    put_text(map, "test", owner.test);
    put_text(map, "help", owner.help);
    put_texts(map, "labels", owner.labels);
}

std::string apps_text(const Draft& draft) {
    if (draft.apps.empty()) {
        return {};
    }
    std::string text = "apps:\n";
    for (const auto& [name, app] : draft.apps) {
        Node map = map_node();
        put_files(map, app.files);
        put_environment(map, app.environment);
        put_program(map, app);
        const std::string steps = steps_text(app.steps, "    ");
        const bool is_empty = map.entries.empty() && steps.empty();
        Node key = map_node();
        put(key, name, text_node(""));
        const std::string line = yaml::to_text(key);
        text += "  " + line.substr(0, line.rfind(':')) + (is_empty ? ": {}\n" : ":\n");
        text += (map.entries.empty() ? "" : indented(map, "    ")) + steps;
    }
    return text;
}

/// What `recipe new` writes first for editors, where it does.
std::string editor_line() {
    constexpr std::string_view kStart = "# yaml-language-server:";
    for (const auto& file : embedded::recipe_files()) {
        if (file.name == "templates/new.yaml" && file.bytes.starts_with(kStart)) {
            return std::string(file.bytes.substr(0, file.bytes.find('\n') + 1));
        }
    }
    return {};
}

} // namespace

void set_base(DraftStage& stage, const std::string& name) {
    stage.base.clear();
    stage.image.clear();
    const bool is_release = find_distribution(name) != nullptr;
    const bool is_path = name.find("://") != std::string::npos || name.ends_with(".sif");
    if (is_release) {
        stage.base = name;
    } else {
        stage.image = is_path ? name : "docker://" + name;
    }
}

std::string print_draft(const Draft& draft, const std::vector<std::string>& head) {
    std::string text = editor_line();
    for (const auto& line : head) {
        text += line.empty() ? "#\n" : "# " + line + "\n";
    }
    Node first = map_node();
    put_text(first, "kind", "Recipe");
    put_text(first, "name", draft.name);
    put_text(first, "version", draft.version);
    put(first, "base", base_node(draft));
    put_texts(first, "args", draft.args);
    text += yaml::to_text(first) + stages_text(draft) + fields_text(draft, {});
    Node last = map_node();
    put_program(last, draft);
    return text + yaml::to_text(last) + apps_text(draft);
}

} // namespace cybele::recipes
