// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/apps.hpp"

#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/scan.hpp"
#include "images/container/metadata_labels.hpp"
#include "images/inspection/layout_root.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <sys/stat.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;
using definitions::Section;

/// A section whose body becomes a file of the application, as it is or behind a shebang.
struct AppFile {
    const char* section;
    const char* file;
    bool is_script;
    mode_t mode;
};
constexpr std::array kFiles = {
    AppFile{"appenv", "env/90-environment.sh", false, 0755},
    AppFile{"apphelp", "runscript.help", false, 0644},
    AppFile{"apprun", "runscript", true, 0755},
    AppFile{"appstart", "startscript", true, 0755},
    AppFile{"apptest", "test", true, 0755},
};

constexpr const char* kAppEnvironment = R"(#!/bin/sh

SCIF_APPNAME={0}
SCIF_APPROOT="/scif/apps/{0}"
SCIF_APPMETA="/scif/apps/{0}/scif"
SCIF_DATA="/scif/data"
SCIF_APPDATA="/scif/data/{0}"
SCIF_APPINPUT="/scif/data/{0}/input"
SCIF_APPOUTPUT="/scif/data/{0}/output"
export SCIF_APPDATA SCIF_APPNAME SCIF_APPROOT SCIF_APPMETA SCIF_APPINPUT SCIF_APPOUTPUT SCIF_DATA
)";

constexpr const char* kGlobal = "## App Global Exports For: {0}\n\n"
                                "SCIF_APPDATA_{0}=/scif/data/{0}\n"
                                "SCIF_APPMETA_{0}=/scif/apps/{0}/scif\n"
                                "SCIF_APPROOT_{0}=/scif/apps/{0}\n"
                                "SCIF_APPBIN_{0}=/scif/apps/{0}/bin\n"
                                "SCIF_APPLIB_{0}=/scif/apps/{0}/lib\n\n"
                                "export SCIF_APPDATA_{0} SCIF_APPMETA_{0} SCIF_APPROOT_{0} "
                                "SCIF_APPBIN_{0} SCIF_APPLIB_{0}\n";

std::string app_name(const Section& section) {
    return section.arguments.substr(0, section.arguments.find_first_of(" \t"));
}

/// As part of a variable's name.
std::string variable_part(std::string name) {
    for (char& c : name) {
        c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    }
    return name;
}

std::string labels_of(const App& app) {
    images::Labels labels{{"SCIF_APP_NAME", app.name}};
    for (const auto& [key, value] : definitions::label_lines(app.text("applabels"))) {
        labels[key] = value;
    }
    return images::print_labels(labels);
}

std::string global_exports(const App& app) {
    const std::string part = variable_part(app.name);
    std::string text = fmt::format(kGlobal, part);
    const auto add = [&](const char* variable, const char* file) {
        text += fmt::format(
            "export SCIF_{}_{}=\"/scif/apps/{}/scif/{}\"\n", variable, part, part, file);
    };
    if (!app.text("appenv").empty()) {
        add("APPENV", "env/90-environment.sh");
    }
    add("APPLABELS", "labels.json");
    if (!app.text("apprun").empty()) {
        add("APPRUN", "runscript");
    }
    if (!app.text("appstart").empty()) {
        add("APPSTART", "startscript");
    }
    return text;
}

Result<void> write_app(const App& app, const images::RootDirectory& root) {
    const std::string base = "scif/apps/" + app.name + "/";
    const std::string data = "scif/data/" + app.name + "/";
    for (const std::string& folder :
         {base + "bin", base + "lib", base + "scif/env", data + "input", data + "output"}) {
        CYBELE_CHECK(root.make_directory(folder, 0755));
    }
    CYBELE_CHECK(
        root.write(base + "scif/env/01-base.sh", fmt::format(kAppEnvironment, app.name), 0755));
    for (const AppFile& file : kFiles) {
        const std::string text = app.text(file.section);
        if (!text.empty()) {
            CYBELE_CHECK(root.write(base + "scif/" + file.file,
                                    file.is_script ? "#!/bin/sh\n\n" + text + "\n" : text,
                                    file.mode));
        }
    }
    return root.write(base + "scif/labels.json", labels_of(app), 0644);
}

} // namespace

std::string App::text(const std::string& section) const {
    std::string text;
    const auto [first, last] = sections.equal_range(section);
    for (auto one = first; one != last; ++one) {
        text += (text.empty() ? "" : "\n") + one->second->text;
    }
    return text;
}

Result<std::vector<App>> find_apps(const definitions::Stage& stage,
                                   const std::string& definition_file) {
    std::vector<App> apps;
    Faults faults;
    for (const Section& section : stage.sections) {
        if (!definitions::is_app_section(section.name)) {
            continue;
        }
        const std::string name = app_name(section);
        if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
            faults.add(Fault(
                ErrorCode::kInput,
                problem("app-name", "'" + printable(name) + "' is not a valid application name"),
                "it is a folder below /scif/apps",
                "name it by letters, digits, '-' and '_'",
                definitions::fault_at(
                    definition_file, section.line, "%" + section.name + " " + section.arguments)
                    .where));
            continue;
        }
        auto app = std::ranges::find(apps, name, &App::name);
        if (app == apps.end()) {
            app = apps.insert(apps.end(), App{name, {}});
        }
        app->sections.emplace(section.name, &section);
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return apps;
}

std::vector<definitions::FileLine> app_files(const std::vector<App>& apps) {
    std::vector<definitions::FileLine> lines;
    for (const App& app : apps) {
        const auto [first, last] = app.sections.equal_range("appfiles");
        for (auto one = first; one != last; ++one) {
            for (definitions::FileLine line : definitions::file_lines(*one->second)) {
                const std::string& inside =
                    line.destination.empty() ? line.source : line.destination;
                line.destination = "/scif/apps/" + app.name + "/" + inside;
                lines.push_back(std::move(line));
            }
        }
    }
    return lines;
}

std::string app_texts(const std::vector<App>& apps) {
    std::string text;
    for (const App& app : apps) {
        for (const auto& [name, section] : app.sections) {
            text += fmt::format("%{} {}\n{}\n", name, app.name, section->text);
        }
    }
    return text;
}

std::string install_script(const std::vector<App>& apps) {
    std::string script;
    for (const App& app : apps) {
        script += fmt::format("\ncd /\n. /scif/apps/{0}/scif/env/01-base.sh\n\n"
                              "cd /scif/apps/{0}\n{1}\n\ncd /\n",
                              app.name,
                              app.text("appinstall"));
    }
    return script;
}

Result<void> write_apps(const std::vector<App>& apps, const fs::path& path) {
    CYBELE_TRY(const auto root, images::RootDirectory::open(path));
    std::string exports;
    for (const App& app : apps) {
        CYBELE_CHECK(write_app(app, root));
        exports += global_exports(app);
    }
    CYBELE_CHECK(root.make_directory(".singularity.d/env", 0755));
    return root.write(".singularity.d/env/94-appsbase.sh", exports, 0755);
}

} // namespace cybele::builder
