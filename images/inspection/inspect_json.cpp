// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/inspect_json.hpp"

#include "images/inspection/labels.hpp"
#include "support/json.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::images {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Attribute {
    const char* key;
    std::string Inspection::*member;
    const char* file;     ///< below /.singularity.d
    const char* app_file; ///< below /scif/apps/NAME/scif; null: apps have none
};
// In the order of Apptainer's struct, behind apps, environment and labels.
constexpr std::array kAttributes = {
    Attribute{"runscript", &Inspection::runscript, "runscript", "runscript"},
    Attribute{"test", &Inspection::test, "test", "test"},
    Attribute{"helpfile", &Inspection::help, "runscript.help", "runscript.help"},
    Attribute{"deffile", &Inspection::definition, "Singularity", nullptr},
    Attribute{"startscript", &Inspection::startscript, "startscript", "startscript"},
};

struct Escape {
    std::string_view bytes;
    std::string_view escaped;
};
// Only strings hold these bytes, so they can be replaced in the finished text.
constexpr std::array kEscapes = {
    Escape{"<", "\\u003c"},
    Escape{">", "\\u003e"},
    Escape{"&", "\\u0026"},
    Escape{"\xE2\x80\xA8", "\\u2028"},
    Escape{"\xE2\x80\xA9", "\\u2029"},
};

std::string without_final_newlines(std::string text) {
    text.erase(text.find_last_not_of('\n') + 1);
    return text;
}

std::map<std::string, std::string> strings_of(const nlohmann::json& object, const char* key) {
    std::map<std::string, std::string> strings;
    const auto found = object.find(key);
    if (found == object.end() || !found->is_object()) {
        return strings;
    }
    for (const auto& [name, value] : found->items()) {
        if (value.is_string()) {
            strings[name] = value.get<std::string>();
        }
    }
    return strings;
}

} // namespace

std::string print_json(const OrderedJson& json, int tabs) {
    const auto text = json.dump(tabs == 0 ? -1 : tabs, '\t', false, kReplaceBadUtf8);
    std::string escaped;
    escaped.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto rest = std::string_view(text).substr(at);
        const Escape* match = nullptr;
        for (const auto& escape : kEscapes) {
            match = rest.starts_with(escape.bytes) ? &escape : match;
        }
        escaped += match != nullptr ? match->escaped : rest.substr(0, 1);
        at += match != nullptr ? match->bytes.size() : 1;
    }
    return escaped;
}

namespace {

enum class Inspected { kContainer, kApp };

/// A container and an application have the start script in different places.
OrderedJson attributes_json(const Inspection& inspection, Inspected kind) {
    OrderedJson attributes = OrderedJson::object();
    OrderedJson apps = OrderedJson::object();
    for (const auto& [name, app] : inspection.apps) {
        apps[name] = attributes_json(app, Inspected::kApp);
    }
    if (!apps.empty()) {
        attributes["apps"] = std::move(apps);
    }
    OrderedJson environment = OrderedJson::object();
    for (const auto& [path, text] : inspection.environment) {
        environment[path] = without_final_newlines(text);
    }
    if (!environment.empty()) {
        attributes["environment"] = std::move(environment);
    }
    if (!inspection.labels.empty()) {
        attributes["labels"] = inspection.labels;
    }
    const auto add = [&](const Attribute& attribute) {
        auto text = without_final_newlines(inspection.*attribute.member);
        if (!text.empty()) {
            attributes[attribute.key] = std::move(text);
        }
    };
    for (std::size_t at = 0; at < kAttributes.size(); ++at) {
        if (at == 1 && kind == Inspected::kApp) {
            add(kAttributes.back());
        }
        add(kAttributes.at(at));
    }
    return attributes;
}

Inspection parse_attributes(const nlohmann::json& data) {
    Inspection inspection;
    inspection.labels = strings_of(data, "labels");
    inspection.environment = strings_of(data, "environment");
    for (const auto& attribute : kAttributes) {
        const auto found = data.find(attribute.key);
        if (found != data.end() && found->is_string()) {
            inspection.*attribute.member = found->get<std::string>();
        }
    }
    return inspection;
}

} // namespace

OrderedJson inspection_json(const Inspection& inspection) {
    OrderedJson json;
    json["data"]["attributes"] = attributes_json(inspection, Inspected::kContainer);
    json["type"] = "container";
    return json;
}

std::string print_inspection(const Inspection& inspection) {
    return print_json(inspection_json(inspection), 0);
}

Result<Inspection> parse_inspection(std::string_view text) {
    const auto json = parse_json(text);
    const auto data = json.is_object()
                          ? json.value("/data/attributes"_json_pointer, nlohmann::json())
                          : nlohmann::json();
    if (!data.is_object()) {
        return fail(
            ErrorCode::kInput,
            problem("image-metadata-unreadable", "the metadata of the image cannot be read"),
            "its object inspect-metadata.json is not JSON with data.attributes");
    }
    auto inspection = parse_attributes(data);
    const auto apps = data.find("apps");
    if (apps != data.end() && apps->is_object()) {
        for (const auto& [name, app] : apps->items()) {
            if (app.is_object()) {
                inspection.apps[name] = parse_attributes(app);
            }
        }
    }
    return inspection;
}

bool is_shown_environment(std::string_view name) {
    return (name.starts_with("10-docker") && name.ends_with(".sh")) ||
           (name.starts_with('9') && name.ends_with("-environment.sh"));
}

namespace {

constexpr std::string_view kApps = "/scif/apps";

// Of a container and of an app alike: labels, scripts and shown files of the environment, below
// `folder`, which ends with a slash.
Result<Inspection>
inspect_folder(const FilePointer& root, const std::string& folder, const char* Attribute::*file) {
    Inspection inspection;
    CYBELE_TRY(const auto labels, read_file_at(root, folder + "labels.json"));
    if (labels && labels->find_first_not_of(" \t\r\n") != std::string::npos) {
        CYBELE_TRY(inspection.labels, parse_labels(*labels));
    }
    for (const auto& attribute : kAttributes) {
        if (attribute.*file != nullptr) {
            CYBELE_TRY(auto text, read_file_at(root, folder + attribute.*file));
            inspection.*attribute.member = std::move(text).value_or(std::string{});
        }
    }
    CYBELE_TRY(const auto environment, find_file(root, folder + "env"));
    if (environment) {
        CYBELE_TRY(const auto files, environment->children());
        for (const auto& shown : files) {
            if (is_shown_environment(shown->name())) {
                const auto path = folder + "env/" + shown->name();
                CYBELE_TRY(auto text, read_file_at(root, path));
                inspection.environment[path] = std::move(text).value_or(std::string{});
            }
        }
    }
    return inspection;
}

} // namespace

Result<Inspection> inspect_files(const FilePointer& root) {
    CYBELE_TRY(auto inspection, inspect_folder(root, "/.singularity.d/", &Attribute::file));
    CYBELE_TRY(const auto apps, find_file(root, kApps));
    if (apps) {
        CYBELE_TRY(const auto found, apps->children());
        for (const auto& app : found) {
            const auto folder = fmt::format("{}/{}/scif/", kApps, app->name());
            CYBELE_TRY(auto inside, inspect_folder(root, folder, &Attribute::app_file));
            inspection.apps[app->name()] = std::move(inside);
        }
    }
    return inspection;
}

Result<Inspection> inspect_root(const RootDirectory& root) {
    CYBELE_TRY(const auto files, open_directory(root.path().native()));
    return inspect_files(files);
}

} // namespace cybele::images
