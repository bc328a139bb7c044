// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "pipeline/new_project.hpp"
#include "support/quote.hpp"

#include <memory>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

struct InitOptions {
    std::string folder;
    std::string template_name = "mpi";
};

Result<int> init(Session& session, const InitOptions& options) {
    CYBELE_TRY(const auto files, pipeline::new_project(options.folder, options.template_name));
    if (session.is_quiet) {
        return 0;
    }
    for (const auto& file : files) {
        Session::print(file.native() + "\n");
    }
    const std::string folder = shell_quote(options.folder);
    Session::print(fmt::format("next: cybelectl build {0} && cybelectl submit {0} -n 2\n", folder));
    return 0;
}

} // namespace

void install_init(CLI::App& app, Session& session) {
    auto options = std::make_shared<InitOptions>();
    CLI::App* verb = add_verb(app,
                              "init",
                              "Make a project: a Recipe, a Job and a first program.",
                              {"cybelectl init demo",
                               "cybelectl init sums --template mpi4py",
                               "cybelectl init solver --template serial"});
    verb->add_option("folder", options->folder, "the project's folder; its name is the Recipe's")
        ->required()
        ->type_name("NAME");
    verb->add_option("--template", options->template_name, "what kind of program")
        ->check(CLI::IsMember({"mpi", "mpi4py", "serial"}))
        ->capture_default_str();
    verb->callback([&session, options] {
        session.action = [&session, options] { return init(session, *options); };
    });
}

} // namespace cybele::cli
