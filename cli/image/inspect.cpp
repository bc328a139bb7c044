// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/session.hpp"
#include "cli/image/inspect_print.hpp"
#include "images/inspection/checked_facts.hpp"
#include "images/inspection/contents.hpp"
#include "images/inspection/packages.hpp"
#include "images/inspection/sbom.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

struct InspectOptions {
    std::string image;
    std::vector<std::string> globs;
    MetadataChoice metadata;
    std::string app;
    bool list_apps = false;
    bool all = false;
    bool json = false;
    bool files = false;
    bool packages = false;
    bool facts = false;
    bool sbom = false;
    std::string make_sbom;

    // What Apptainer's verb does not have.
    [[nodiscard]] bool has_ours() const {
        return files || packages || facts || sbom || !make_sbom.empty();
    }
};

/// By the name of Apptainer the definition of the image is shown for each application, and an
/// application that is missing has nothing else to show.
Result<images::Inspection>
app_of(const images::Inspection& inspection, const std::string& name, bool is_apptainer) {
    const auto found = inspection.apps.find(name);
    if (is_apptainer) {
        images::Inspection app =
            found == inspection.apps.end() ? images::Inspection{} : found->second;
        app.definition = inspection.is_of_object ? inspection.definition : std::string();
        return app;
    }
    if (found != inspection.apps.end()) {
        return found->second;
    }
    std::vector<std::string> names;
    names.reserve(inspection.apps.size());
    for (const auto& [known, ignored] : inspection.apps) {
        names.push_back(printable(known));
    }
    return fail(
        ErrorCode::kInput,
        problem("image-app-missing", fmt::format("the image has no app '{}'", printable(name))),
        names.empty() ? "it has no apps at all"
                      : fmt::format("its apps are {}", fmt::join(names, ", ")),
        "name one that `cybelectl inspect --list-apps` prints");
}

/// The applications that --list-apps lists as JSON: by the name of Apptainer their names only,
/// where the image has no metadata object that holds them.
std::map<std::string, images::Inspection> listed_apps(const images::Inspection& inspection,
                                                      bool is_apptainer) {
    if (!is_apptainer || inspection.is_of_object) {
        return inspection.apps;
    }
    std::map<std::string, images::Inspection> apps;
    for (const auto& [name, ignored] : inspection.apps) {
        apps[name] = {};
    }
    return apps;
}

/// What is printed as JSON: of the container, or of one application.
Result<images::Inspection> shown_as_json(const InspectOptions& options,
                                         const images::Inspection& inspection,
                                         const MetadataChoice& choice,
                                         bool is_apptainer) {
    images::Inspection shown =
        options.app.empty() ? chosen(inspection, choice) : images::Inspection{};
    if (options.list_apps) {
        shown.apps = listed_apps(inspection, is_apptainer);
    }
    if (options.app.empty()) {
        return shown;
    }
    CYBELE_TRY(const auto app, app_of(inspection, options.app, is_apptainer));
    if (choice.deffile) {
        shown.definition = app.definition;
    }
    const bool is_definition_only = is_apptainer && inspection.is_of_object && choice.deffile &&
                                    !choice.runscript && !choice.startscript && !choice.test &&
                                    !choice.helpfile && !choice.labels && !choice.environment;
    if (inspection.apps.contains(options.app) && !is_definition_only &&
        !(options.list_apps && inspection.is_of_object)) {
        shown.apps[options.app] = chosen(app, choice);
        shown.apps[options.app].definition.clear();
    }
    return shown;
}

/// As text: the names, then the container's or one application's.
Result<int> print_as_text(const InspectOptions& options,
                          const images::Inspection& inspection,
                          const MetadataChoice& choice,
                          bool is_apptainer) {
    for (const auto& [name, ignored] : inspection.apps) {
        if (options.list_apps) {
            Session::print(printable(name) + "\n");
        }
    }
    if (options.app.empty()) {
        print_metadata(inspection, choice, is_apptainer && !inspection.is_of_object);
        return 0;
    }
    CYBELE_TRY(const auto app, app_of(inspection, options.app, is_apptainer));
    print_metadata(app, choice);
    return 0;
}

Result<int> show_metadata(const Session& session,
                          const InspectOptions& options,
                          const images::Contents& contents) {
    const bool is_apptainer = session.is_apptainer();
    CYBELE_TRY(const auto inspection, images::inspect_contents(contents));
    auto choice = options.metadata;
    if (!choice.any() && !options.list_apps) {
        choice.labels = true;
    }
    if (options.all) {
        Session::print(apptainer_json(inspection));
        return 0;
    }
    if (options.json) {
        CYBELE_TRY(const auto shown, shown_as_json(options, inspection, choice, is_apptainer));
        Session::print(apptainer_json(shown));
        return 0;
    }
    return print_as_text(options, inspection, choice, is_apptainer);
}

bool is_wanted_app(const InspectOptions& options, const std::string& path) {
    return options.globs.empty() || std::ranges::any_of(options.globs, [&](const auto& glob) {
               return images::matches_glob(glob, path);
           });
}

Result<void>
show_files(const InspectOptions& options, const images::Contents& contents, Document* json) {
    CYBELE_TRY(const auto root, images::files_of(contents, "--files"));
    if (json != nullptr) {
        json->begin_list("files");
    }
    CYBELE_CHECK(images::walk_files(
        root, [&](const std::string& path, const images::FilePointer& node) -> Result<bool> {
            if (!is_wanted_app(options, path)) {
                return true;
            }
            if (json != nullptr) {
                json->entry(file_json(path, node->status()));
            } else {
                Session::print(images::listing_line(path, node->status()) + "\n");
            }
            return true;
        }));
    if (json != nullptr) {
        json->end_list();
    }
    return {};
}

void warn(const Session& session, const std::vector<std::string>& notes) {
    std::vector<Fault> warnings;
    for (const auto& note : notes) {
        warnings.push_back(warning(ErrorCode::kInput, problem("inspect-note", note)));
    }
    session.note(warnings);
}

// A label that the files contradict is a fault: all of them at once, behind the table.
Result<void> judge(const std::vector<images::CheckedFact>& facts) {
    std::vector<Fault> faults;
    for (const auto& fact : facts) {
        if (fact.verdict != images::Verdict::kContradicted) {
            continue;
        }
        faults.push_back(
            Fault(ErrorCode::kInput,
                  problem("label-untrue",
                          fmt::format("the label cybelectl.{} says '{}', which is not so",
                                      fact.name,
                                      printable(fact.label))),
                  fact.found.empty()
                      ? "there is no such file in the image"
                      : fmt::format("{} is {}", printable(fact.path), printable(fact.found)),
                  "build the image again; a launch would believe the label"));
    }
    return faults.empty() ? Result<void>() : fail(Error(std::move(faults)));
}

Result<void> show_sbom(Session& session, const images::Contents& contents) {
    std::vector<images::Sbom> sboms;
    if (contents.image) {
        CYBELE_TRY(sboms, images::read_sboms(*contents.image));
    }
    if (sboms.empty()) {
        return fail(
            ErrorCode::kInput,
            problem("image-without-sbom", "the image carries no list of what is inside (SBOM)"),
            contents.image ? "none of its objects is of that type" : "only a SIF can carry one",
            "make one of its packages: cybelectl inspect --make-sbom spdx IMAGE");
    }
    Session::print(sboms.front().bytes);
    if (sboms.size() > 1) {
        session.say(fmt::format("the first of {} lists; the others are dumped by their numbers",
                                sboms.size()));
    }
    return {};
}

void show_made_sbom(const Session& session,
                    const InspectOptions& options,
                    const images::PackageList& packages) {
    auto name = std::filesystem::path(options.image).lexically_normal();
    name = name.has_filename() ? name.stem() : name.parent_path().filename();
    Session::print(images::make_sbom({name.native(), "", session.now(), ""}, packages));
}

Result<void> show_surveyed(Session& session,
                           const InspectOptions& options,
                           const images::Contents& contents,
                           Document* json) {
    CYBELE_TRY(const auto root, images::files_of(contents, "what was asked for"));
    CYBELE_TRY(const auto survey, images::survey_files(root));
    if (options.packages || !options.make_sbom.empty()) {
        CYBELE_TRY(const auto list, images::read_packages(root, survey));
        if (json == nullptr) {
            warn(session, list.notes);
        }
        if (!options.make_sbom.empty()) {
            show_made_sbom(session, options, list);
        }
        if (options.packages && json != nullptr) {
            json->member("packages", packages_json(list));
            json->member("notes", list.notes);
        } else if (options.packages) {
            Session::print(packages_text(list));
        }
    }
    if (options.facts) {
        CYBELE_TRY(const auto inspection, images::inspect_contents(contents));
        CYBELE_TRY(const auto facts, images::check_facts(root, survey, inspection.labels));
        if (json != nullptr) {
            json->member("facts", facts_json(facts));
            json->finish(); // the faults go to the other stream
        } else {
            Session::print(facts_text(facts));
        }
        CYBELE_CHECK(judge(facts));
    }
    return {};
}

Result<int> inspect(Session& session, const InspectOptions& options) {
    CYBELE_TRY(const std::string path, image_path(session, options.image));
    CYBELE_TRY(const auto contents, images::open_contents(path));
    if (session.is_apptainer()) {
        CYBELE_CHECK(check_has_shell(path, contents));
    }
    if (options.sbom) {
        CYBELE_CHECK(show_sbom(session, contents));
        return 0;
    }
    if (!options.has_ours() && (options.json || options.all || !session.is_json())) {
        return show_metadata(session, options, contents);
    }
    std::unique_ptr<Document> json;
    if ((session.is_json() || options.json) && options.make_sbom.empty()) {
        json = std::make_unique<Document>();
    }
    if (json && (!options.has_ours() || options.metadata.any())) {
        CYBELE_TRY(const auto inspection, images::inspect_contents(contents));
        const auto& choice = options.metadata;
        metadata_members(*json, choice.any() ? chosen(inspection, choice) : inspection);
    }
    if (options.has_ours() && !contents.note.empty()) {
        warn(session, {contents.note});
    }
    if (options.files) {
        CYBELE_CHECK(show_files(options, contents, json.get()));
    }
    if (options.packages || options.facts || !options.make_sbom.empty()) {
        CYBELE_CHECK(show_surveyed(session, options, contents, json.get()));
    }
    return 0;
}

void add_metadata_flags(CLI::App& verb, InspectOptions& options) {
    auto& metadata = options.metadata;
    verb.add_flag("-l,--labels", metadata.labels, "print the labels (the default)");
    verb.add_flag("-d,--deffile", metadata.deffile, "print the definition file");
    verb.add_flag("-r,--runscript", metadata.runscript, "print the runscript");
    verb.add_flag("-s,--startscript", metadata.startscript, "print the start script of instances");
    verb.add_flag("-t,--test", metadata.test, "print the test script");
    verb.add_flag("-e,--environment", metadata.environment, "print the environment scripts");
    verb.add_flag("-H,--helpfile", metadata.helpfile, "print the help text");
    verb.add_option("--app", options.app, "app to show instead of the container")
        ->type_name("NAME");
    verb.add_flag("--list-apps", options.list_apps, "list the names of the apps");
    verb.add_flag("--all", options.all, "print all of this, as Apptainer's JSON");
    verb.add_flag("-j,--json", options.json, "print Apptainer's JSON");
}

} // namespace

void install_inspect(CLI::App& app, Session& session) {
    auto options = std::make_shared<InspectOptions>();
    CLI::App* verb =
        add_verb(app,
                 "inspect",
                 "Show labels, packages, files and environment of an image without starting it.",
                 {"cybelectl inspect app.sif",
                  "cybelectl inspect --deffile app.sif",
                  "cybelectl inspect --files app.sif '*.so*'",
                  "cybelectl inspect --packages app.sif --format json",
                  "cybelectl inspect --facts app.sif"});
    verb->add_option("image", options->image, "the image")->required()->type_name("IMAGE");
    verb->add_option("globs", options->globs, "with --files: only what matches a shell pattern")
        ->type_name("GLOB");
    add_metadata_flags(*verb, *options);
    verb->add_flag(
        "--files", options->files, "list every file: mode, owner, size, time, path, target");
    verb->add_flag(
        "--packages", options->packages, "list the packages of dpkg, rpm, apk, pip and conda");
    verb->add_flag("--facts",
                   options->facts,
                   "MPI, libc, python, java, CUDA as the files say, and whether the labels agree");
    verb->add_flag("--sbom", options->sbom, "print the SBOM object without changes");
    verb->add_option("--make-sbom", options->make_sbom, "make an SBOM of the packages")
        ->check(CLI::IsMember({"spdx"}))
        ->type_name("FORM");
    add_format(*verb, session);
    verb->callback([&session, options] {
        if (!options->globs.empty() && !options->files) {
            throw CLI::ValidationError("GLOB", "patterns belong to --files");
        }
        session.action = [&session, options] {
            return inspect(session, *options)
                .map_error(during("inspecting '" + options->image + "'"));
        };
    });
}

} // namespace cybele::cli
