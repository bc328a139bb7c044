// SPDX-License-Identifier: Apache-2.0
#include "cli/image/inspect_print.hpp"

#include "cli/common/session.hpp"
#include "images/inspection/inspect_json.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Part {
    const char* key;
    bool MetadataChoice::*choice;
    std::string images::Inspection::*text;
};
// In the order in which Apptainer prints them.
constexpr std::array kParts = {
    Part{"deffile", &MetadataChoice::deffile, &images::Inspection::definition},
    Part{"runscript", &MetadataChoice::runscript, &images::Inspection::runscript},
    Part{"startscript", &MetadataChoice::startscript, &images::Inspection::startscript},
    Part{"test", &MetadataChoice::test, &images::Inspection::test},
    Part{"helpfile", &MetadataChoice::helpfile, &images::Inspection::help},
};

// What a stranger wrote must not move the cursor, also of a terminal behind a pipe.
std::string visible(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find_first_of("\n\t", at), text.size());
        out += printable(text.substr(at, end - at));
        out += end < text.size() ? text.substr(end, 1) : "";
        at = end + 1;
    }
    return out;
}

std::string dumped(const Json& json, int indent) {
    return json_text(json, indent);
}

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : printable(text);
}

using PartitionRow = std::vector<std::string>;

// Columns as wide as their widest entry; the last is not padded.
std::string table(const std::vector<PartitionRow>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t column = 0; column < row.size(); ++column) {
            widths[column] = std::max(widths[column], row[column].size());
        }
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t column = 0; column < row.size(); ++column) {
            const bool is_last = column + 1 == row.size();
            text +=
                is_last ? row[column] + "\n" : fmt::format("{:<{}}  ", row[column], widths[column]);
        }
    }
    return text;
}

} // namespace

images::Inspection chosen(const images::Inspection& inspection, const MetadataChoice& choice) {
    images::Inspection shown;
    for (const auto& part : kParts) {
        if (choice.*part.choice) {
            shown.*part.text = inspection.*part.text;
        }
    }
    if (choice.labels) {
        shown.labels = inspection.labels;
    }
    if (choice.environment) {
        shown.environment = inspection.environment;
    }
    return shown;
}

void print_metadata(const images::Inspection& inspection,
                    const MetadataChoice& choice,
                    bool is_trimmed) {
    for (const auto& part : kParts) {
        std::string text = inspection.*part.text;
        if (is_trimmed) {
            text.erase(text.find_last_not_of('\n') + 1);
        }
        if (choice.*part.choice && !text.empty()) {
            // A file gets the definition as it is, to build from.
            const bool is_exact =
                part.text == &images::Inspection::definition && ::isatty(STDOUT_FILENO) == 0;
            Session::print((is_exact ? text : visible(text)) + (text.back() == '\n' ? "" : "\n"));
        }
    }
    if (choice.environment) {
        for (const auto& [path, text] : inspection.environment) {
            const auto end = text.find_last_not_of('\n') + 1;
            Session::print(
                fmt::format("=== {} ===\n{}\n\n", printable(path), visible(text.substr(0, end))));
        }
    }
    if (choice.labels) {
        for (const auto& [name, value] : inspection.labels) {
            Session::print(fmt::format("{}: {}\n", printable(name), visible(value)));
        }
    }
}

std::string apptainer_json(const images::Inspection& inspection) {
    return images::print_json(images::inspection_json(inspection), 1) + "\n";
}

Document::Document() {
    Session::print("{\n  \"format\": 1");
}

Document::~Document() {
    finish();
}

void Document::member(std::string_view name, const Json& value) {
    auto text = dumped(value, 2);
    for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
        text.insert(at + 1, "  "); // a line end inside a string is escaped
    }
    Session::print(fmt::format(",\n  \"{}\": {}", name, text));
}

void Document::begin_list(std::string_view name) {
    Session::print(fmt::format(",\n  \"{}\": [", name));
    is_first_entry_ = true;
}

void Document::entry(const Json& value) {
    Session::print(fmt::format("{}\n    {}", is_first_entry_ ? "" : ",", dumped(value, -1)));
    is_first_entry_ = false;
}

void Document::end_list() {
    Session::print(is_first_entry_ ? "]" : "\n  ]");
}

void Document::finish() {
    if (!is_finished_) {
        Session::print("\n}\n");
    }
    is_finished_ = true;
}

void metadata_members(Document& document, const images::Inspection& inspection) {
    document.member("labels", inspection.labels);
    for (const auto& part : kParts) {
        if (!(inspection.*part.text).empty()) {
            document.member(part.key, inspection.*part.text);
        }
    }
    if (!inspection.environment.empty()) {
        document.member("environment", inspection.environment);
    }
    if (!inspection.apps.empty()) {
        document.member("apps", images::inspection_json(inspection)["data"]["attributes"]["apps"]);
    }
}

Json file_json(const std::string& path, const images::FileStatus& status) {
    Json json;
    json["path"] = path;
    if (!is_utf8(path)) {
        json["path-base64"] = base64(path);
    }
    json["type"] = images::type_name(status.mode);
    json["mode"] = fmt::format("{:04o}", status.mode & 07777U);
    json["uid"] = status.uid;
    json["gid"] = status.gid;
    json["size"] = status.size;
    json["time"] = status.mtime;
    if (status.is_link()) {
        json["target"] = status.target;
    }
    if (images::type_name(status.mode).ends_with(" device")) {
        json["device"] = {status.major, status.minor};
    }
    return json;
}

Json packages_json(const images::PackageList& list) {
    auto packages = Json::array();
    for (const auto& package : list.packages) {
        packages.push_back({{"manager", package.manager},
                            {"name", package.name},
                            {"version", package.version},
                            {"architecture", package.architecture}});
    }
    return packages;
}

std::string packages_text(const images::PackageList& list) {
    std::vector<PartitionRow> rows;
    rows.reserve(list.packages.size());
    for (const auto& package : list.packages) {
        rows.push_back({package.manager,
                        printable(package.name),
                        printable(package.version),
                        or_dash(package.architecture)});
    }
    return table(rows);
}

Json facts_json(const std::vector<images::CheckedFact>& facts) {
    Json json = Json::object();
    for (const auto& fact : facts) {
        json[fact.name] = {{"label", fact.label},
                           {"found", fact.found},
                           {"path", fact.path},
                           {"verdict", images::verdict_name(fact.verdict)}};
    }
    return json;
}

std::string facts_text(const std::vector<images::CheckedFact>& facts) {
    std::vector<PartitionRow> rows{{"FACT", "LABEL", "FILES", "VERDICT"}};
    for (const auto& fact : facts) {
        rows.push_back({fact.name,
                        or_dash(fact.label),
                        or_dash(fact.found),
                        std::string(images::verdict_name(fact.verdict))});
    }
    return table(rows);
}

Result<void> check_has_shell(const std::string& path, const images::Contents& contents) {
    std::error_code failed;
    if (contents.image || !contents.root || std::filesystem::is_directory(path, failed)) {
        return {};
    }
    CYBELE_TRY(const auto shell, images::find_file(contents.root, "/bin/sh"));
    if (shell) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("inspect-without-shell",
                        "could not inspect container: '" + printable(path) + "' has no /bin/sh"),
                "the metadata of a bare file system is shown by its own shell",
                "`cybelectl inspect` reads it without one");
}

} // namespace cybele::cli
