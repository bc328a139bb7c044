// SPDX-License-Identifier: Apache-2.0
#include "images/inspect_json.hpp"

#include "images/metadata_labels.hpp"

#include <array>

namespace cybele::images {
namespace {

using Json = nlohmann::ordered_json;

struct Attribute {
    const char* key;
    std::string Inspection::*member;
    const char* file; ///< below /.singularity.d
};
// In the order of the reference's struct, behind apps, environment and labels.
constexpr std::array kAttributes = {
    Attribute{"runscript", &Inspection::runscript, "runscript"},
    Attribute{"test", &Inspection::test, "test"},
    Attribute{"helpfile", &Inspection::help, "runscript.help"},
    Attribute{"deffile", &Inspection::definition, "Singularity"},
    Attribute{"startscript", &Inspection::startscript, "startscript"},
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

std::string print_json(const Json& json, int tabs) {
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

std::string print_inspection(const Inspection& inspection) {
    Json attributes = Json::object();
    Json environment = Json::object();
    for (const auto& [path, text] : inspection.environment) {
        environment[path] = without_final_newlines(text);
    }
    if (!environment.empty()) {
        attributes["environment"] = std::move(environment);
    }
    if (!inspection.labels.empty()) {
        attributes["labels"] = inspection.labels;
    }
    for (const auto& attribute : kAttributes) {
        auto text = without_final_newlines(inspection.*attribute.member);
        if (!text.empty()) {
            attributes[attribute.key] = std::move(text);
        }
    }
    Json json;
    json["data"]["attributes"] = std::move(attributes);
    json["type"] = "container";
    return print_json(json, 0);
}

Result<Inspection> parse_inspection(std::string_view text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const auto data = json.is_object()
                          ? json.value("/data/attributes"_json_pointer, nlohmann::json())
                          : nlohmann::json();
    if (!data.is_object()) {
        return fail(ErrorCode::kInput,
                    "the metadata of the image cannot be read",
                    "its object inspect-metadata.json is no JSON with data.attributes");
    }
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

bool is_shown_environment(std::string_view name) {
    return (name.starts_with("10-docker") && name.ends_with(".sh")) ||
           (name.starts_with('9') && name.ends_with("-environment.sh"));
}

Result<Inspection> inspect_files(const FileSource& files) {
    Inspection inspection;
    const std::string folder = ".singularity.d/";
    CYBELE_TRY(const auto labels, files.read(folder + "labels.json"));
    if (labels) {
        CYBELE_TRY(inspection.labels, parse_labels(*labels));
    }
    for (const auto& attribute : kAttributes) {
        CYBELE_TRY(auto text, files.read(folder + attribute.file));
        inspection.*attribute.member = std::move(text).value_or(std::string{});
    }
    CYBELE_TRY(const auto names, files.list(folder + "env"));
    for (const auto& name : names) {
        if (is_shown_environment(name)) {
            CYBELE_TRY(auto text, files.read(folder + "env/" + name));
            inspection.environment["/.singularity.d/env/" + name] =
                std::move(text).value_or(std::string{});
        }
    }
    return inspection;
}

Result<Inspection> inspect_root(const RootDirectory& root) {
    FileSource files;
    files.read = [&root](std::string_view path) { return root.read(path); };
    files.list = [&root](std::string_view path) {
        return Result<std::vector<std::string>>(root.list(path));
    };
    return inspect_files(files);
}

} // namespace cybele::images
