// SPDX-License-Identifier: Apache-2.0
#include "cli/run/start_options.hpp"

#include "runtime/containers/environment_option.hpp"
#include "support/quote.hpp"

#include <csignal>

namespace cybele::cli {

namespace {

using StartWords = StartOptions;

/// What a flag or a list does with a value, for the member that it belongs to.
template <auto kMember>
std::string set_flag(StartWords& options, std::string_view /*none*/) {
    options.request.*kMember = true;
    return {};
}

template <auto kMember>
std::string set_text(StartWords& options, std::string_view value) {
    options.request.*kMember = value;
    return {};
}

template <auto kMember>
std::string add_text(StartWords& options, std::string_view value) {
    (options.request.*kMember).emplace_back(value);
    return {};
}

std::string add_variable(StartWords& options, std::string_view value) {
    options.variables.emplace_back(value);
    return {};
}

std::string add_verify_key(StartWords& options, std::string_view file) {
    options.verify_keys.emplace_back(file);
    return {};
}

std::string set_policy(StartWords& options, std::string_view file) {
    options.policy = file;
    return file.empty() ? "the name of the file is empty" : "";
}

std::string set_require(StartWords& options, std::string_view count) {
    options.require = count;
    return count.empty() ? "the number is empty" : "";
}

std::string set_app(StartWords& options, std::string_view name) {
    if (name.find('/') != std::string_view::npos || name == "." || name == "..") {
        return "an application's name has no '/'";
    }
    options.request.app = name;
    return {};
}

std::string set_join(StartWords& options, std::string_view word) {
    struct Row {
        std::string_view word;
        runtime::Join join;
    };
    constexpr Row kJoins[] = {{"auto", runtime::Join::kAuto},
                              {"always", runtime::Join::kAlways},
                              {"never", runtime::Join::kNever}};
    for (const Row& row : kJoins) {
        if (row.word == word) {
            options.request.join = row.join;
            return {};
        }
    }
    return printable(word) + " not in {auto,always,never}";
}

std::string set_sharens(StartWords& options, std::string_view /*none*/) {
    return set_join(options, "always");
}

using runtime::Request;

constexpr StartOption kOptions[] = {
    {"-B,--bind",
     "SPEC",
     "SRC[:DST[:ro|rw]], made visible inside",
     true,
     add_text<&Request::binds>},
    {"--mount",
     "SPEC",
     "the same as type=bind,source=SRC,destination=DST[,ro]",
     true,
     add_text<&Request::mounts>},
    {"--nv", "", "bring in the host's NVIDIA driver", true, set_flag<&Request::nv>},
    {"--rocm", "", "bring in the host's ROCm", true, set_flag<&Request::rocm>},
    {"--env", "NAME=VALUE", "NAME=VALUE[,NAME=VALUE], set inside", true, add_variable},
    {"--env-file", "FILE", "file of NAME=VALUE lines", true, add_text<&Request::environment_files>},
    {"--app", "NAME", "of this SCIF application of the image", false, set_app},
    {"--cwd,--pwd", "DIR", "where the program starts", false, set_text<&Request::directory>},
    {"-H,--home", "SPEC", "SRC[:DST], the home directory", false, set_text<&Request::home>},
    {"-e,--cleanenv", "", "pass no variables of the host", true, set_flag<&Request::cleanenv>},
    {"-c,--contain", "", "own /dev, /tmp and home", true, set_flag<&Request::contain>},
    {"-C,--containall",
     "",
     "--contain, --pid and --cleanenv",
     true,
     set_flag<&Request::containall>},
    {"--no-home", "", "do not bind the home directory", true, set_flag<&Request::no_home>},
    {"-p,--pid", "", "own process ids", true, set_flag<&Request::pid>},
    {"--join",
     "auto|always|never",
     "share the container of the node's other ranks",
     false,
     set_join},
    {"--sharens", "", "the same as --join always", true, set_sharens},
    {"-o,--overlay",
     "PATH",
     "PATH[:ro], laid over the image: a directory, which takes what is written, a squashfs file or "
     "a SIF",
     true,
     add_text<&Request::overlays>},
    {"--writable-tmpfs",
     "",
     "changes go to memory and are lost",
     true,
     set_flag<&Request::writable_tmpfs>},
    {"--verify-key",
     "FILE",
     "start only what the holder of this public PEM key has signed",
     true,
     add_verify_key},
    {"--policy", "FILE", "start only what a Policy's signers have signed", false, set_policy},
    {"--require", "N", "any (default), all, or a number of these signers", false, set_require},
    {"-s,--shell", "PATH", "the shell to start", false, set_text<&Request::shell>, true},
};

} // namespace

std::span<const StartOption> start_options() {
    return kOptions;
}

Result<int> start(const Session& session, StartOptions& options) {
    for (const std::string& variable : options.variables) {
        CYBELE_TRY(const auto pairs, runtime::read_environment_option(variable));
        for (const auto& [name, value] : pairs) {
            options.request.environment[name] = value;
        }
    }
    CYBELE_TRY(options.request.image, session.find_image(options.image));
    if (options.asks_for_signatures()) {
        CYBELE_CHECK(session.demand_signatures(session, options));
    }
    options.request.is_verbose = session.verbosity > 0;
    std::signal(SIGPIPE, session.sigpipe_before); // NOLINT: the program inherits it
    return runtime::start(options.request, session.environment);
}

} // namespace cybele::cli
