// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

#include "cli/cli11.hpp"
#include "cli/image_store.hpp"
#include "cli/session.hpp"
#include "runtime/runtime.hpp"
#include "support/quote.hpp"

#include <csignal>
#include <map>
#include <memory>

namespace cybele::cli {

namespace {

struct Options {
    runtime::Request request;
    std::string image;
    std::vector<std::string> variables;
    std::vector<std::string> environment_files;
};

const std::map<std::string, runtime::Join> kJoins = {{"auto", runtime::Join::kAuto},
                                                     {"always", runtime::Join::kAlways},
                                                     {"never", runtime::Join::kNever}};

Result<int> start(Session& session, Options& options) {
    for (const std::string& variable : options.variables) {
        const std::size_t equals = variable.find('=');
        if (equals == std::string::npos || equals == 0) {
            return fail(ErrorCode::kUsage,
                        "--env takes NAME=VALUE, not '" + printable(variable) + "'",
                        {},
                        "write --env NAME=VALUE");
        }
        options.request.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
    CYBELE_TRY(options.request.image, image_path(session, options.image));
    options.request.is_verbose = session.verbosity > 0;
    options.request.environment_files.assign(options.environment_files.begin(),
                                             options.environment_files.end());
    std::signal(SIGPIPE, session.sigpipe_before); // NOLINT: the program inherits it
    return runtime::start(options.request, session.environment);
}

void add_options(CLI::App& verb, Options& options) {
    runtime::Request& request = options.request;
    verb.add_option("-B,--bind", request.binds, "SRC[:DST[:ro|rw]], made visible inside")
        ->type_name("SPEC")
        ->expected(1)
        ->take_all();
    verb.add_option(
            "--mount", request.mounts, "the same as type=bind,source=SRC,destination=DST[,ro]")
        ->type_name("SPEC")
        ->expected(1)
        ->take_all();
    verb.add_flag("--nv", request.nv, "bring in the host's NVIDIA driver");
    verb.add_flag("--rocm", request.rocm, "bring in the host's ROCm");
    verb.add_option("--env", options.variables, "NAME=VALUE, set inside")
        ->type_name("NAME=VALUE")
        ->expected(1)
        ->take_all();
    verb.add_option("--env-file", options.environment_files, "file of NAME=VALUE lines")
        ->type_name("FILE")
        ->expected(1)
        ->take_all();
    verb.add_option("--app", request.app, "of this SCIF application of the image")
        ->type_name("NAME")
        ->check(CLI::Validator(
            [](std::string& name) {
                return name.find('/') == std::string::npos && name != "." && name != ".."
                           ? std::string()
                           : "an application's name has no '/'";
            },
            ""));
    verb.add_option("--cwd,--pwd", request.directory, "where the program starts")->type_name("DIR");
    verb.add_option("-H,--home", request.home, "SRC[:DST], the home directory")->type_name("SPEC");
    verb.add_flag("-e,--cleanenv", request.cleanenv, "pass no variables of the host");
    verb.add_flag("-c,--contain", request.contain, "own /dev, /tmp and home");
    verb.add_flag("-C,--containall", request.containall, "--contain, --pid and --cleanenv");
    verb.add_flag("--no-home", request.no_home, "do not bind the home directory");
    verb.add_flag("-p,--pid", request.pid, "own process ids");
    verb.add_option_function<std::string>(
            "--join",
            [&request](const std::string& word) { request.join = kJoins.at(word); },
            "share the container of the node's other ranks")
        ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
        ->type_name("auto|always|never");
    verb.add_flag_callback(
        "--sharens",
        [&request] { request.join = runtime::Join::kAlways; },
        "the same as --join always");
    verb.add_option("-o,--overlay",
                    request.overlays,
                    "PATH[:ro], laid over the image: a directory, which takes what is written, a "
                    "squashfs file or a SIF")
        ->type_name("PATH")
        ->expected(1)
        ->take_all();
    verb.add_flag("--writable-tmpfs", request.writable_tmpfs, "changes go to memory and are lost");
}

/// One of the three verbs, as help and completion show it.
struct Entrance {
    runtime::Action action;
    std::string name;
    std::string description;
    std::vector<std::string> examples;
};

void install(CLI::App& app, Session& session, const Entrance& entrance) {
    auto options = std::make_shared<Options>();
    options->request.action = entrance.action;
    CLI::App* verb = add_verb(app, entrance.name, entrance.description, entrance.examples);
    add_options(*verb, *options);
    if (entrance.action == runtime::Action::kShell) {
        verb->add_option("-s,--shell", options->request.shell, "the shell to start")
            ->type_name("PATH");
    }
    verb->add_option("image", options->image, "SIF file, squashfs file, directory or store:NAME")
        ->required()
        ->type_name("IMAGE");
    verb->preparse_callback([&session](std::size_t) { session.refuses_with_255 = true; });
    verb->callback([&session, options] {
        options->request.arguments = session.program_arguments;
        session.action = [&session, options] { return start(session, *options); };
    });
}

} // namespace

void install_exec(CLI::App& app, Session& session) {
    install(app,
            session,
            {runtime::Action::kExec,
             "exec",
             "Start a program in a container, in place of this process.",
             {"cybelectl exec app.sif python3 --version",
              "cybelectl exec -B /scratch:/data:ro --env THREADS=4 app.sif solve --fast"}});
}

void install_run(CLI::App& app, Session& session) {
    install(app,
            session,
            {runtime::Action::kRun,
             "run",
             "Start an image's runscript.",
             {"cybelectl run app.sif --its-own-option", "cybelectl run --app convert tools.sif"}});
}

void install_shell(CLI::App& app, Session& session) {
    install(app,
            session,
            {runtime::Action::kShell,
             "shell",
             "Start a shell in a container.",
             {"cybelectl shell app.sif"}});
}

} // namespace cybele::cli
