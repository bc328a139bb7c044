// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "pipeline/folder_documents.hpp"
#include "pipeline/from_folder.hpp"
#include "pipeline/new_project.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

struct InitOptions {
    std::string folder;
    std::string template_name = "mpi";
    pipeline::FromFolderRequest source;
};

/// An example is not put among somebody's source, which `--from` reads.
Result<void> check_has_no_source(const std::string& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error) || fs::exists(fs::path(folder) / "job.yaml", error)) {
        return {}; // the example names the files that exist
    }
    pipeline::FromFolderRequest request;
    request.from = folder;
    const auto plan = pipeline::plan_from_folder(request);
    if (!plan || plan->saw.empty()) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("init-among-source", printable(folder) + " has a program of its own"),
                plan->saw.front(),
                "write a Recipe and a Job for it: `cybelectl init --from " + shell_quote(folder) +
                    "`");
}

Result<int> init_from_template(Session& session, const InitOptions& options) {
    CYBELE_CHECK(check_has_no_source(options.folder));
    CYBELE_TRY(const auto files, pipeline::new_project(options.folder, options.template_name));
    if (session.is_quiet) {
        return 0;
    }
    for (const auto& file : files) {
        Session::print(file.native() + "\n");
    }
    Session::print("(.schemas/ lets editors complete and check the fields of Recipes and Jobs)\n");
    const std::string folder = shell_quote(options.folder);
    Session::print(fmt::format("next: cybelectl build {0} && cybelectl submit {0}{1} --follow\n",
                               folder,
                               options.template_name.starts_with("mpi") ? " -n 2" : ""));
    return 0;
}

void print_plan(const pipeline::FromFolder& plan, const std::vector<pipeline::KeptDocument>& kept) {
    for (const std::string& line : plan.saw) {
        Session::print("saw      " + line + "\n");
    }
    for (const std::string& line : plan.assumed) {
        Session::print("assumed  " + line + "\n");
    }
    for (const auto& [file, text] : plan.documents) {
        Session::print("wrote    " + printable(file.native()) + "\n");
    }
    for (const pipeline::KeptDocument& one : kept) {
        Session::print("saved    " + printable(one.copy.native()) + ": what " +
                       printable(one.file.native()) + " was\n");
    }
    std::string next;
    for (const std::string& command : plan.next) {
        next += (next.empty() ? "" : " && ") + command;
    }
    Session::print("next: " + next + "\n");
}

std::string plan_json(const pipeline::FromFolder& plan,
                      const std::vector<pipeline::KeptDocument>& kept) {
    auto files = nlohmann::json::array();
    for (const auto& [file, text] : plan.documents) {
        files.push_back(file.native());
    }
    auto copies = nlohmann::json::array();
    for (const pipeline::KeptDocument& one : kept) {
        copies.push_back(one.copy.native());
    }
    const nlohmann::json document{{"format", 1},
                                  {"name", plan.name},
                                  {"files", files},
                                  {"saved", copies},
                                  {"saw", plan.saw},
                                  {"assumed", plan.assumed},
                                  {"next", plan.next}};
    return json_text(document) + "\n";
}

Result<int> init_from_folder(Session& session, const InitOptions& options) {
    pipeline::FromFolderRequest source = options.source;
    source.is_of_root = ::geteuid() == 0;
    CYBELE_TRY(const pipeline::FromFolder plan, pipeline::plan_from_folder(source));
    CYBELE_TRY(const auto kept, pipeline::write_from_folder(plan, options.source.replaces));
    if (session.is_json()) {
        Session::print(plan_json(plan, kept));
    } else if (!session.is_quiet) {
        print_plan(plan, kept);
    }
    return 0;
}

Result<int> init(Session& session, const InitOptions& options) {
    if (!options.source.from.empty() && !options.folder.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("init-of-both", "init was given a new project and --from"),
                    "--from writes the Recipe and the Job into the folder of the source",
                    "write `cybelectl init --from " + shell_quote(options.source.from.native()) +
                        "`");
    }
    if (!options.source.from.empty()) {
        return init_from_folder(session, options);
    }
    if (options.folder.empty()) {
        return fail(
            ErrorCode::kUsage,
            problem("init-without-source", "neither a new project nor a folder of source is named"),
            {},
            "write `cybelectl init NAME` for an example, or `cybelectl init --from .` for "
            "the source in this folder");
    }
    return init_from_template(session, options);
}

} // namespace

void install_init(CLI::App& app, Session& session) {
    auto options = std::make_shared<InitOptions>();
    CLI::App* verb =
        add_verb(app,
                 "init",
                 "Create a project: an example, or the Recipe and the Job for an existing program.",
                 {"cybelectl init demo",
                  "cybelectl init sums --template mpi4py",
                  "cybelectl init solver --template serial",
                  "cybelectl init --from ."});
    verb->add_option("folder", options->folder, "folder of a new project; its name is the Recipe's")
        ->type_name("NAME");
    CLI::Option* const kind =
        verb->add_option("--template", options->template_name, "kind of the example program")
            ->check(CLI::IsMember({"mpi", "mpi4py", "serial", "batch"}))
            ->capture_default_str();
    CLI::Option* const from =
        verb->add_option("--from",
                         options->source.from,
                         "folder of an existing program: look at its files, write a Recipe and a "
                         "Job, and report what was seen and assumed")
            ->type_name("DIR")
            ->excludes(kind);
    verb->add_option("-o,--output", options->source.output, "output folder of both (default: DIR)")
        ->type_name("DIR")
        ->needs(from);
    verb->add_flag("-F,--force",
                   options->source.replaces,
                   "replace an existing Recipe and Job; copies of both are saved: job.yaml.old")
        ->needs(from);
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return init(session, *options).map_error(during("making the project"));
        };
    });
}

} // namespace cybele::cli
