// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

#include "cli/cli11.hpp"
#include "cli/image_store.hpp"
#include "cli/session.hpp"
#include "runtime/runtime.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

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

/// An option as it is written, and what makes it known to the verb.
struct Row {
    std::string_view names; ///< as CLI11 takes them
    bool takes_value;
    void (*add)(CLI::App& verb, const std::string& names, Options& options);
};

CLI::Option* add_list(CLI::App& verb,
                      const std::string& names,
                      std::vector<std::string>& values,
                      const std::string& description) {
    return verb.add_option(names, values, description)->expected(1)->take_all();
}

/// In the order of the help.
constexpr Row kOptions[] = {
    {"-B,--bind",
     true,
     [](CLI::App& verb, const std::string& names, Options& options) {
         add_list(verb, names, options.request.binds, "SRC[:DST[:ro|rw]], made visible inside")
             ->type_name("SPEC");
     }},
    {"--mount",
     true,
     [](CLI::App& verb, const std::string& names, Options& options) {
         add_list(verb,
                  names,
                  options.request.mounts,
                  "the same as type=bind,source=SRC,destination=DST[,ro]")
             ->type_name("SPEC");
     }},
    {"--nv",
     false,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_flag(names, options.request.nv, "bring in the host's NVIDIA driver");
     }},
    {"--rocm",
     false,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_flag(names, options.request.rocm, "bring in the host's ROCm");
     }},
    {"--env",
     true,
     [](CLI::App& verb, const std::string& names, Options& options) {
         add_list(verb, names, options.variables, "NAME=VALUE, set inside")
             ->type_name("NAME=VALUE");
     }},
    {"--env-file",
     true,
     [](CLI::App& verb, const std::string& names, Options& options) {
         add_list(verb, names, options.environment_files, "file of NAME=VALUE lines")
             ->type_name("FILE");
     }},
    {"--app",
     true,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_option(names, options.request.app, "of this SCIF application of the image")
             ->type_name("NAME")
             ->check(CLI::Validator(
                 [](std::string& name) {
                     return name.find('/') == std::string::npos && name != "." && name != ".."
                                ? std::string()
                                : "an application's name has no '/'";
                 },
                 ""));
     }},
    {"--cwd,--pwd",
     true,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_option(names, options.request.directory, "where the program starts")
             ->type_name("DIR");
     }},
    {"-H,--home",
     true,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_option(names, options.request.home, "SRC[:DST], the home directory")
             ->type_name("SPEC");
     }},
    {"-e,--cleanenv",
     false,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_flag(names, options.request.cleanenv, "pass no variables of the host");
     }},
    {"-c,--contain",
     false,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_flag(names, options.request.contain, "own /dev, /tmp and home");
     }},
    {"-C,--containall",
     false,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_flag(names, options.request.containall, "--contain, --pid and --cleanenv");
     }},
    {"--no-home",
     false,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_flag(names, options.request.no_home, "do not bind the home directory");
     }},
    {"-p,--pid",
     false,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_flag(names, options.request.pid, "own process ids");
     }},
    {"--join",
     true,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_option_function<std::string>(
                 names,
                 [&options](const std::string& word) { options.request.join = kJoins.at(word); },
                 "share the container of the node's other ranks")
             ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
             ->type_name("auto|always|never");
     }},
    {"--sharens",
     false,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_flag_callback(
             names,
             [&options] { options.request.join = runtime::Join::kAlways; },
             "the same as --join always");
     }},
    {"-o,--overlay",
     true,
     [](CLI::App& verb, const std::string& names, Options& options) {
         add_list(verb,
                  names,
                  options.request.overlays,
                  "PATH[:ro], laid over the image: a directory, which takes what is written, a "
                  "squashfs file or a SIF")
             ->type_name("PATH");
     }},
    {"--writable-tmpfs",
     false,
     [](CLI::App& verb, const std::string& names, Options& options) {
         verb.add_flag(names, options.request.writable_tmpfs, "changes go to memory and are lost");
     }},
};

bool has_name(const Row& row, std::string_view name) {
    std::string_view names = row.names;
    while (!names.empty()) {
        const std::size_t comma = std::min(names.find(','), names.size());
        if (names.substr(0, comma) == name) {
            return true;
        }
        names.remove_prefix(std::min(comma + 1, names.size()));
    }
    return false;
}

/// The options that stand before the image; nothing where that cannot be told without the parser
/// (a word that is no option of these, several in one word, another verb).
std::optional<std::set<const Row*>> given_options(const std::vector<std::string>& words,
                                                  std::string_view verb) {
    std::set<const Row*> given;
    if (words.empty() || words.front() != verb) {
        return std::nullopt;
    }
    for (std::size_t i = 1; i < words.size() && words[i].starts_with('-') && words[i] != "--";
         ++i) {
        const std::string_view word = words[i];
        const std::string_view name = word.substr(0, word.find('='));
        const auto* const row = std::find_if(std::begin(kOptions),
                                             std::end(kOptions),
                                             [&](const Row& one) { return has_name(one, name); });
        if (row == std::end(kOptions)) {
            return std::nullopt;
        }
        given.insert(row);
        if (row->takes_value && name.size() == word.size()) {
            ++i;
        }
    }
    return given;
}

/// Half of what a start costs before it reads its image would be options that nobody gave: ranks
/// start often, and are told by few words.
void add_options(CLI::App& verb, Options& options, const std::vector<std::string>& words) {
    const auto given = given_options(words, verb.get_name());
    for (const Row& row : kOptions) {
        if (!given || given->contains(&row)) {
            row.add(verb, std::string(row.names), options);
        }
    }
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
    add_options(*verb, *options, session.words);
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
