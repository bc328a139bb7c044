// SPDX-License-Identifier: Apache-2.0
#include "project/settings.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/yaml.hpp"

#include <algorithm>
#include <optional>

namespace cybele::project {

namespace fs = std::filesystem;

const std::vector<SettingRow>& setting_rows() {
    static const std::vector<SettingRow> rows = {
        {"scheduler",
         "CYBELE_SCHEDULER",
         "",
         "dialect of `job render` and `submit` without a Site"},
        {"site", "CYBELE_SITE", "", "path of the Site file"},
        {"builder", "CYBELE_BUILDER", "embedded", "embedded, apptainer or singularity"},
        {"mirror", "CYBELE_MIRROR", "", "package mirror of builds; the machine's own without it"},
        {"ca-file", "CYBELE_CA_FILE", "", "certificates that build steps trust"},
        {"cache-dir", "CYBELE_CACHE_DIR", "", "bases, packages and steps of earlier builds"},
        {"store", "CYBELE_STORE", "", "folder of the local store of images"},
        {"library", "CYBELE_LIBRARY", "", "host of library:// images that name none"},
        {"stall-limit",
         "CYBELE_STALL_LIMIT",
         "30 s",
         "a download without a byte for so long is gone on with by another request"},
        {"tmpdir", "CYBELE_TMPDIR", "", "where trees are built and unpacked"},
        {"sign-key", "CYBELE_SIGN_KEY", "", "private key that `build` and `sign` use"},
        {"verify-key", "CYBELE_VERIFY_KEY", "", "public key that `verify` uses"},
    };
    return rows;
}

namespace {

struct Layer {
    std::map<std::string, std::pair<std::string, std::string>> values; ///< name → value, origin
};

Fault unknown(const yaml::Document& document, const yaml::Node& key) {
    std::vector<std::string_view> names;
    for (const SettingRow& row : setting_rows()) {
        names.push_back(row.name);
    }
    Fault fault;
    fault.code = ErrorCode::kInput;
    fault.message = "unknown setting '" + printable(key.scalar) + "'";
    fault.where = document.source.place(key.mark);
    const std::string meant = nearest(key.scalar, names);
    fault.help = meant.empty() ? "`cybelectl config show` lists the settings"
                               : "did you mean '" + meant + "'?";
    return fault;
}

Result<void> read_layer(const fs::path& path, Layer& layer, Faults& faults) {
    std::error_code error;
    if (!fs::exists(path, error)) {
        return {};
    }
    CYBELE_TRY(std::string text, read_file(path));
    CYBELE_TRY(const yaml::Document document, yaml::parse(std::move(text), path.native()));
    if (document.root.kind != yaml::Node::Kind::kMapping) {
        Fault fault;
        fault.code = ErrorCode::kInput;
        fault.message = "settings are `name: value` lines";
        fault.where = document.source.place(document.root.mark);
        faults.add(fault);
        return {};
    }
    for (const auto& [key, value] : document.root.entries) {
        const bool is_known =
            std::any_of(setting_rows().begin(), setting_rows().end(), [&](const SettingRow& row) {
                return row.name == key.scalar;
            });
        if (!is_known) {
            faults.add(unknown(document, key));
        } else if (value.kind != yaml::Node::Kind::kScalar) {
            Fault fault;
            fault.code = ErrorCode::kInput;
            fault.message = "'" + key.scalar + "' takes one word of text";
            fault.where = document.source.place(value.mark);
            faults.add(fault);
        } else {
            layer.values[key.scalar] = {value.scalar,
                                        path.native() + ":" + std::to_string(key.mark.line)};
        }
    }
    return {};
}

/// The nearest `.cybelectl.yaml` in the folder or above it.
std::optional<fs::path> project_file(const fs::path& folder) {
    std::error_code error;
    for (fs::path place = fs::absolute(folder, error);; place = place.parent_path()) {
        const fs::path file = place / ".cybelectl.yaml";
        if (fs::exists(file, error)) {
            return file;
        }
        if (place == place.root_path()) {
            return std::nullopt;
        }
    }
}

} // namespace

Result<Settings> Settings::load(const Environment& environment,
                                const fs::path& folder,
                                const fs::path& machine_file) {
    Faults faults;
    std::vector<Layer> layers(3); // machine, user, project
    CYBELE_CHECK(read_layer(machine_file, layers[0], faults));
    CYBELE_CHECK(read_layer(environment.config_directory() / "config.yaml", layers[1], faults));
    if (const auto file = project_file(folder)) {
        CYBELE_CHECK(read_layer(*file, layers[2], faults));
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    Settings settings;
    for (const SettingRow& row : setting_rows()) {
        Setting setting{std::string(row.name), std::string(row.otherwise), "default"};
        for (const Layer& layer : layers) {
            const auto found = layer.values.find(setting.name);
            if (found != layer.values.end()) {
                setting.value = found->second.first;
                setting.origin = found->second.second;
            }
        }
        if (const auto value = environment.get(row.variable)) {
            setting.value = *value;
            setting.origin = "variable " + std::string(row.variable);
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

} // namespace cybele::project
