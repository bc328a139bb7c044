// SPDX-License-Identifier: Apache-2.0
#include "pipeline/settings.hpp"

#include "support/find.hpp"
#include "support/own_path.hpp"
#include "support/presence.hpp"
#include "support/quote.hpp"
#include "support/trusted_folders.hpp"
#include "support/yaml.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace cybele::pipeline {

namespace fs = std::filesystem;

const std::vector<SettingRow>& setting_rows() {
    static const std::vector<SettingRow> rows = {
        {"scheduler",
         "CYBELE_SCHEDULER",
         "",
         "dialect of `job render` and `submit` without a Site",
         false},
        {"site", "CYBELE_SITE", "", "path of the Site file"},
        {"builder", "CYBELE_BUILDER", "embedded", "embedded, apptainer or singularity"},
        {"mirror", "CYBELE_MIRROR", "", "package mirror of builds (default: the machine's)"},
        {"ca-file", "CYBELE_CA_FILE", "", "certificates that build steps trust"},
        {"cache-dir", "CYBELE_CACHE_DIR", "", "bases, packages and steps of earlier builds"},
        {"store", "CYBELE_STORE", "", "folder of the local store of images"},
        {"library", "CYBELE_LIBRARY", "", "host of library:// images that name none"},
        {"stall-limit",
         "CYBELE_STALL_LIMIT",
         "30 s",
         "a download without a byte for this long is continued by another request",
         false},
        {"tmpdir", "CYBELE_TMPDIR", "", "where trees are built and unpacked"},
        {"sign-key", "CYBELE_SIGN_KEY", "", "private key that `build` and `sign` use"},
        {"verify-key", "CYBELE_VERIFY_KEY", "", "public key that `verify` uses"},
    };
    return rows;
}

namespace {

/// A value of a settings file, and where it stands.
struct FoundValue {
    std::string value;
    Place where;
};
using Values = std::map<std::string, FoundValue>;

const SettingRow* row_of(std::string_view name) {
    const auto& rows = setting_rows();
    return find_row(rows, name, &SettingRow::name);
}

Fault unknown(const yaml::Document& document, const yaml::Node& key) {
    std::vector<std::string_view> names;
    for (const SettingRow& row : setting_rows()) {
        names.push_back(row.name);
    }
    Fault fault;
    fault.code = ErrorCode::kInput;
    fault.set(problem("setting-unknown", "unknown setting '" + printable(key.scalar) + "'"));
    fault.where = document.source.place(key.mark);
    const std::string meant = nearest(key.scalar, names);
    fault.help = meant.empty() ? "`cybelectl config show` lists the settings"
                               : "did you mean '" + meant + "'?";
    return fault;
}

constexpr std::string_view kPaths[] = {
    "site", "ca-file", "cache-dir", "store", "tmpdir", "sign-key", "verify-key"};

/// A relative path of a settings file begins at that file's folder, wherever the program is called.
std::string
value_in_file(const std::string& name, const std::string& value, const fs::path& settings) {
    const bool is_path = contains(kPaths, name);
    if (!is_path || value.empty() || value.front() == '/' || value.front() == '~') {
        return value;
    }
    return (settings.parent_path() / value).lexically_normal().native();
}

/// A list of one item has the value; another list or a map does not say which one was meant.
std::string help_for_one_value(const std::string& name, const yaml::Node& value) {
    if (value.kind == yaml::Node::Kind::kSequence && value.items.size() == 1 &&
        value.items.front().kind == yaml::Node::Kind::kScalar) {
        return "write `" + printable(value.items.front().scalar) + "`";
    }
    return "remove `" + name + "`, or write one value for it";
}

/// Nothing but blank lines and comments: a file that was made and not filled yet, or emptied.
bool is_without_settings(std::string_view text) {
    bool is_comment = false;
    return std::ranges::all_of(text, [&](char c) {
        is_comment = c != '\n' && (is_comment || c == '#');
        return is_comment || c == ' ' || c == '\t' || c == '\r' || c == '\n';
    });
}

Result<Values> read_values(std::string text, const fs::path& path) {
    if (is_without_settings(text)) {
        return Values();
    }
    CYBELE_TRY(const yaml::Document document, yaml::parse(std::move(text), path.native()));
    Faults faults;
    const auto wrong = [&](std::string message, const yaml::Node& node, std::string help) {
        faults.add(Fault(ErrorCode::kInput,
                         problem("setting-malformed", std::move(message)),
                         {},
                         std::move(help),
                         document.source.place(node.mark)));
    };
    Values values;
    if (document.root.kind != yaml::Node::Kind::kMapping) {
        wrong("settings are `name: value` lines",
              document.root,
              "write for example `scheduler: slurm`");
    }
    for (const auto& [key, value] : document.root.entries) {
        if (row_of(key.scalar) == nullptr) {
            faults.add(unknown(document, key));
        } else if (value.kind != yaml::Node::Kind::kScalar) {
            wrong("'" + key.scalar + "' requires one value, which is text",
                  value,
                  help_for_one_value(key.scalar, value));
        } else {
            values[key.scalar] = {value_in_file(key.scalar, value.scalar, path),
                                  document.source.place(value.mark)};
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return values;
}

/// A file of the user's, the machine's or an allowed folder; missing: no values.
Result<std::optional<Values>> read_trusted(const fs::path& path, std::string_view whose) {
    CYBELE_TRY(const bool is_there, is_present(path, whose));
    if (!is_there) {
        return std::nullopt;
    }
    CYBELE_TRY(std::string text, read_own_file(path));
    CYBELE_TRY(Values values, read_values(std::move(text), path));
    return std::optional(std::move(values));
}

/// The `.cybelectl.yaml` files in the folder and above it, the nearest first.
Result<std::vector<fs::path>> project_files(const fs::path& folder, const TrustedFolders& trusted) {
    std::vector<fs::path> files;
    std::error_code error;
    fs::path place = fs::absolute(folder, error).lexically_normal();
    if (!place.has_filename()) { // of `.`
        place = place.parent_path();
    }
    for (;; place = place.parent_path()) {
        fs::path file = place / ".cybelectl.yaml";
        const auto is_there = is_present(file, "the settings of a folder that you trust");
        if (!is_there && trusted.allows(place)) {
            return fail(is_there.error());
        }
        if (is_there.value_or(false)) {
            files.push_back(std::move(file));
        }
        if (place == place.root_path()) {
            return files;
        }
    }
}

Fault ignored(const fs::path& file, const std::string& what, const std::string& help) {
    return warning(ErrorCode::kInput,
                   problem("settings-file-ignored",
                           printable(file.native()) + " is ignored (" + what + "); " + help));
}

/// Of a file whose folder is not allowed: what is harmless, and a warning where something is not.
struct Untrusted {
    Values harmless;
    std::optional<Fault> note;
};
Untrusted read_untrusted(const fs::path& file) {
    const std::string allow =
        "to use it, run: cybelectl config trust " + shell_quote(file.parent_path().native());
    const auto text = read_own_file(file);
    if (!text) {
        const Fault& fault = text.error().faults().front();
        return {{},
                ignored(file, fault.because.empty() ? fault.message : fault.because, fault.help)};
    }
    auto values = read_values(*text, file);
    if (!values) { // to allow its folder would not help
        const Fault& fault = values.error().faults().front();
        return {{},
                ignored(file,
                        fault.where ? fmt::format("line {}: {}", fault.where->line, fault.message)
                                    : fault.message,
                        fault.help)};
    }
    Untrusted result;
    std::string names;
    for (const auto& [name, value] : *values) {
        if (row_of(name)->needs_trust) {
            names += (names.empty() ? "" : ", ") + name;
        } else {
            result.harmless[name] = value;
        }
    }
    if (!names.empty()) {
        result.note = ignored(file, names + ": the folder is not trusted", allow);
    }
    return result;
}

/// The layers of project files, the strongest last.
struct ProjectLayers {
    std::vector<std::pair<fs::path, Values>> layers;
    std::vector<Fault> notes;
};

/// An allowed file rules, whatever lies nearer: another one could hide it.
Result<ProjectLayers> read_project(const fs::path& folder, const TrustedFolders& trusted) {
    ProjectLayers found;
    CYBELE_TRY(const std::vector<fs::path> files, project_files(folder, trusted));
    for (const fs::path& file : files) {
        if (trusted.allows(file.parent_path())) {
            auto values = read_trusted(file, "the settings of a folder that you trust");
            if (!values && values.error().code() == ErrorCode::kInput) {
                return fail(std::move(values).error());
            }
            if (auto given = std::move(values).value_or(std::nullopt)) {
                found.layers.emplace_back(file, std::move(*given));
                break;
            }
        }
        Untrusted untrusted = read_untrusted(file);
        if (untrusted.note) {
            found.notes.push_back(std::move(*untrusted.note));
        }
        if (!untrusted.harmless.empty()) {
            found.layers.emplace_back(file, std::move(untrusted.harmless));
        }
    }
    std::reverse(found.layers.begin(), found.layers.end());
    return found;
}

/// `config.yml` in place of `config.yaml`: nothing reads it.
std::optional<Fault> misnamed(const fs::path& file) {
    std::error_code error;
    fs::path other = file;
    other.replace_extension(".yml");
    if (fs::exists(file, error) || !fs::exists(other, error)) {
        return std::nullopt;
    }
    return ignored(other,
                   "its name must end with .yaml",
                   "to use it, run: mv " + shell_quote(other.native()) + " " +
                       shell_quote(file.native()));
}

} // namespace

Result<Settings> Settings::load(const Environment& environment,
                                const fs::path& folder,
                                const fs::path& machine_file) {
    Settings settings;
    Faults faults;
    std::vector<std::pair<fs::path, Values>> layers; // the strongest last
    for (const auto& [file, whose] :
         {std::pair(machine_file, "the settings of this machine"),
          std::pair(environment.config_directory() / "config.yaml", "your settings")}) {
        auto values = read_trusted(file, whose);
        if (auto note = misnamed(file)) {
            settings.notes_.push_back(std::move(*note));
        }
        if (!values) {
            faults.add(values.error());
        } else if (*values) {
            layers.emplace_back(file, std::move(**values));
        }
    }
    const auto trusted = TrustedFolders::load(environment);
    if (!trusted) { // in the same folder as the user's file, whose error says so already
        return fail(faults.has_errors() ? faults.take() : trusted.error());
    }
    if (auto note = misnamed(folder / ".cybelectl.yaml")) {
        settings.notes_.push_back(std::move(*note));
    }
    auto project = read_project(folder, *trusted);
    if (!project) {
        faults.add(project.error());
    } else {
        std::move(
            project->notes.begin(), project->notes.end(), std::back_inserter(settings.notes_));
        std::move(project->layers.begin(), project->layers.end(), std::back_inserter(layers));
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    for (const auto& [file, values] : layers) {
        settings.files_.push_back(file);
    }
    for (const SettingRow& row : setting_rows()) {
        Setting setting{std::string(row.name), std::string(row.otherwise), "default"};
        for (const auto& [file, values] : layers) {
            const auto found = values.find(setting.name);
            if (found != values.end()) {
                const Place& where = found->second.where;
                setting.value = found->second.value;
                setting.origin = where.file + ":" + std::to_string(where.line);
                setting.where = where;
            }
        }
        if (const auto value = environment.get(row.variable)) {
            setting.value = *value;
            setting.origin = "variable " + std::string(row.variable);
            setting.where.reset();
        }
        settings.settings_.push_back(std::move(setting));
    }
    return settings;
}

std::string Settings::get(std::string_view name) const {
    for (const Setting& setting : settings_) {
        if (setting.name == name) {
            return setting.value;
        }
    }
    return {};
}

std::optional<Place> Settings::place(std::string_view name) const {
    const auto found = std::ranges::find(settings_, name, &Setting::name);
    return found == settings_.end() ? std::nullopt : found->where;
}

std::string Settings::origin(std::string_view name) const {
    for (const Setting& setting : settings_) {
        if (setting.name == name) {
            return setting.origin;
        }
    }
    return {};
}

} // namespace cybele::pipeline
