// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "cli/run/start_options.hpp"
#include "runtime/containers/root_image.hpp"

#include <memory>

namespace cybele::cli {

namespace {

/// An option as the parser takes it.
void add_option(CLI::App& verb, const StartOption& option, StartOptions& options) {
    const std::string names(option.names);
    const std::string description(option.description);
    // Those that are seldom used are in the reference, and in `help --all` of Apptainer's name.
    const char* const group = option.is_usual ? "Options" : "";
    if (option.value.empty()) {
        verb.add_flag_callback(
                names,
                [&options, &option] {
                    if (const std::string why = give(option, options, {}); !why.empty()) {
                        throw CLI::ValidationError(std::string(option.long_name()) +
                                                   " is not supported: " + why);
                    }
                    options.given.insert(&option);
                },
                description)
            ->group(group);
        return;
    }
    const auto take = [&options, &option](const std::vector<std::string>& values) {
        for (const std::string& value : values) {
            (void)give(option, options, value);
        }
        options.given.insert(&option);
    };
    CLI::Option* const added =
        verb.add_option_function<std::vector<std::string>>(names, take, description)
            ->expected(1)
            ->type_name(std::string(option.value))
            ->check(CLI::Validator(
                [&option](std::string& value) {
                    StartOptions scratch;
                    return give(option, scratch, value);
                },
                ""))
            ->group(group);
    if (option.may_repeat()) {
        added->take_all();
    }
}

/// One of the three verbs, as help and completion show it.
struct Entrance {
    runtime::Action action;
    std::string name;
    std::string description;
    std::vector<std::string> examples;
};

void install_entrance(CLI::App& app, Session& session, const Entrance& entrance) {
    auto options = std::make_shared<StartOptions>();
    options->request.program.action = entrance.action;
    CLI::App* verb = add_verb(app, entrance.name, entrance.description, entrance.examples);
    for (const StartOption& option : start_options()) {
        if (option.is_of(entrance.action, false)) {
            add_option(*verb, option, *options);
        }
    }
    verb->add_option(
            "image", options->image, "SIF file, squashfs file, directory, store:NAME or URI")
        ->required()
        ->type_name("IMAGE");
    verb->preparse_callback([&session](std::size_t) { session.refuses_with_255 = true; });
    verb->callback([&session, options] {
        options->request.program.arguments = session.program_arguments;
        session.action = [&session, options]() -> Result<int> {
            std::vector<std::string> warnings;
            CYBELE_CHECK(take_variables(*options, options->given, session.environment, warnings));
            for (const std::string& warning : warnings) {
                if (session.has_warnings()) {
                    runtime::warn(warning);
                }
            }
            return start(session, *options).map_error(during("starting '" + options->image + "'"));
        };
    });
}

} // namespace

void install_exec(CLI::App& app, Session& session) {
    install_entrance(
        app,
        session,
        {runtime::Action::kExec,
         "exec",
         "Start a program in a container, in place of this process.",
         {"cybelectl exec app.sif python3 --version",
          "cybelectl exec -B /scratch:/data:ro --env THREADS=4 app.sif solve --fast"}});
}

void install_run(CLI::App& app, Session& session) {
    install_entrance(
        app,
        session,
        {runtime::Action::kRun,
         "run",
         "Start an image's runscript.",
         {"cybelectl run app.sif --its-own-option", "cybelectl run --app convert tools.sif"}});
}

void install_shell(CLI::App& app, Session& session) {
    install_entrance(
        app,
        session,
        {runtime::Action::kShell,
         "shell",
         "Start a shell in a container.",
         {"cybelectl shell app.sif", "cybelectl shell --bind /data:/data:ro app.sif"}});
}

} // namespace cybele::cli
