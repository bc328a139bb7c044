// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/instance_verbs.hpp"
#include "cli/apptainer/own_words.hpp"
#include "cli/bridge/bridge.hpp"
#include "cli/common/call.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/heartbeat.hpp"
#include "cli/common/session.hpp"
#include "cli/common/verbs.hpp"
#include "cli/help/help_formatter.hpp"
#include "cli/help/usage.hpp"
#include "cli/image/pull_error.hpp"
#include "cli/image/start_image.hpp"
#include "cli/run/run.hpp"
#include "cli/run/start_verification.hpp"
#include "cli/run/start_words.hpp"
#include "support/find.hpp"
#include "support/message.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace {

using cybele::cli::Session;

constexpr int kUsage = static_cast<int>(cybele::ErrorCode::kUsage);
const std::string kVersionLine = "cybelectl " CYBELE_VERSION;

/// Of `exec|run|shell [OPTIONS] IMAGE [WORDS…]`, everything behind IMAGE belongs to the program,
/// options and words that are verbs of ours too: it is cut off before the command line is parsed.
std::vector<std::string> cut_program_arguments(const CLI::App& app,
                                               std::vector<std::string>& words) {
    constexpr std::string_view kStarters[] = {"exec", "run", "shell"};
    std::size_t at = 0;
    while (at < words.size() && !words[at].empty() && words[at].front() == '-') {
        ++at;
    }
    if (at == words.size() || !cybele::contains(kStarters, words[at])) {
        return {};
    }
    const CLI::App* verb = app.get_subcommand(words[at]);
    for (++at; at < words.size(); ++at) {
        const std::string& word = words[at];
        if (word == "--") {
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
            break;
        }
        if (word.size() < 2 || word.front() != '-') {
            break;
        }
        const bool is_long = word[1] == '-';
        const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
        const CLI::Option* option = verb->get_option_no_throw(name);
        const bool takes_value = option != nullptr && option->get_items_expected_max() > 0;
        if (takes_value && word.size() == name.size()) {
            ++at;
        }
    }
    std::vector<std::string> rest;
    if (at + 1 < words.size()) {
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(at) + 1;
        rest.assign(first, words.end());
        words.erase(first, words.end());
    }
    return rest;
}

/// The name, the sentence and the options that every verb takes.
void set_up(CLI::App& app, Session& session) {
    app.name("cybelectl");
    app.formatter(cybele::cli::make_help_formatter());
    app.set_help_flag("-h,--help", "print this help");
    app.description("Builds, signs and launches Singularity containers on HPC clusters.");
    app.set_version_flag("--version", kVersionLine, "print the version");
    app.require_subcommand(1);
    app.fallthrough();
    app.add_flag("-v,--verbose", session.verbosity, "print more details on standard error");
    app.add_flag("-q,--quiet", session.is_quiet, "print errors only");
    app.add_flag("--no-color", session.no_colour, "no colours, even on a terminal");
}

void install_verbs(CLI::App& app, Session& session, const std::vector<std::string>& words) {
    using namespace cybele::cli;
    const std::vector<VerbGroup> families{{{"init"}, install_init},
                                          {{"build"}, install_build},
                                          {{"cache"}, install_cache},
                                          {{"sign", "verify"}, install_sign},
                                          {{"key"}, install_key},
                                          {{"inspect"}, install_inspect},
                                          {{"sif"}, install_sif},
                                          {{"image"}, install_image},
                                          {{"exec"}, install_exec},
                                          {{"run"}, install_run},
                                          {{"shell"}, install_shell},
                                          {{"submit"}, install_submit},
                                          {{"generate"}, install_generate},
                                          {{"recipe", "def"}, install_recipe},
                                          {{"job"}, install_job},
                                          {{"kube"}, install_kube},
                                          {{"bridge"}, install_bridge},
                                          {{"doctor", "config"}, install_host},
                                          {{"site"}, install_site},
                                          {{"install-as"}, install_apptainer_name},
                                          {{"explain"}, install_explain},
                                          {{}, install_completion},
                                          {{}, install_help}};
    const std::string_view called = verb_word(words, 0);
    install_called(families, called == "explain" ? "" : called, app, session); // it knows all verbs
}

/// The verb that was called, with that of its family: `key push`.
std::string called_verb(const CLI::App& app) {
    std::string name;
    for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
        at = at->get_subcommands().front();
        name += (name.empty() ? "" : " ") + at->get_name();
    }
    return name;
}

/// Whatever a command does, it says so where it takes long. A start has one thread, and what runs
/// as a service has a log of its own.
void begin_reporting(const CLI::App& app, const Session& session) {
    constexpr std::string_view kWithout[] = {"exec", "run", "shell", "bridge run", "bridge answer"};
    const std::string verb = called_verb(app);
    if (!cybele::contains(kWithout, verb)) {
        session.doing("`cybelectl " + verb + "` is working");
    }
}

/// An unknown command may be one of another family: all of them are searched.
int usage_error(Session& session,
                const std::string& message,
                const std::vector<std::string>& words) {
    CLI::App all;
    set_up(all, session);
    session.words.clear();
    install_verbs(all, session, {});
    session.note({cybele::cli::usage_fault(all, message, words)});
    return session.refuses_with_255 || session.is_apptainer() ? cybele::cli::kRefusedToRun : kUsage;
}

/// Scripts ask for the version before each of their calls: no verb is made for it.
bool print_version(const std::vector<std::string>& words, const std::string& apptainer_name) {
    if (words.empty() || words.front() != "--version") {
        return false;
    }
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    if (rest == std::vector<std::string>{"--format", "json"} ||
        rest == std::vector<std::string>{"--format=json"}) {
        Session::print(cybele::cli::version_json());
        return true;
    }
    if (!rest.empty() || !apptainer_name.empty()) {
        return false;
    }
    Session::print(kVersionLine + "\n");
    return true;
}

/// What is given to the session for starts of containers.
void set_up_starts(Session& session) {
    session.find_image = [&session](const cybele::cli::StartOptions& options) {
        session.prints_info = session.is_apptainer() && !session.is_quiet && !session.is_silent;
        return cybele::cli::is_running_instance(options)
                   ? cybele::Result<std::string>(options.image)
                   : cybele::cli::start_image(session, options)
                         .map_error([&](const cybele::Error& failed) {
                             return session.is_apptainer()
                                        ? cybele::cli::apptainer_pull_error(
                                              options.image, cybele::cli::PulledFor::kStart, failed)
                                        : failed;
                         });
    };
    session.start_with_instance = cybele::cli::start_with_instance;
    session.demand_signatures = cybele::cli::demand_signatures;
}

/// Translates the words of another program's name into `words`; an exit code where the call ends
/// with that.
std::optional<int> translate_words(Session& session, std::vector<std::string>& words) {
    auto own = cybele::cli::own_words(session);
    if (!own) {
        session.note(own.error().faults());
        return own.error().code() == cybele::ErrorCode::kUsage ? 1 : cybele::cli::kRefusedToRun;
    }
    if (own->code) {
        return own->code;
    }
    if (session.action) {
        return cybele::cli::act(session);
    }
    words = std::move(own->words);
    session.words = words;
    return std::nullopt;
}

int call(int argc, char** argv, void (*sigpipe_before)(int)) {
    std::vector<std::string> words = cybele::cli::words_of(argc, argv);
    const std::string apptainer_name = cybele::cli::apptainer_name_of(argc > 0 ? argv[0] : "");
    if (print_version(words, apptainer_name)) {
        return 0;
    }
    Session session;
    session.apptainer_name = apptainer_name;
    cybele::cli::learn(session, sigpipe_before);
    std::error_code unknown;
    session.program = std::filesystem::read_symlink("/proc/self/exe", unknown).native();
    cybele::cli::Heartbeat heartbeat(session.is_terminal);
    session.long_work = &heartbeat;
    session.words = words;
    set_up_starts(session);
    if (cybele::cli::read_start(session)) {
        return cybele::cli::act(session);
    }
    if (session.is_apptainer()) {
        if (const auto code = translate_words(session, words)) {
            return *code;
        }
    }
    CLI::App app;
    set_up(app, session);
    install_verbs(app, session, words);
    session.program_arguments = cut_program_arguments(app, words);
    try {
        app.parse(
            std::vector<std::string>(words.rbegin(), words.rend())); // it takes them from the end
    } catch (const CLI::Success& success) {
        return app.exit(success);
    } catch (const CLI::ParseError& wrong) {
        if (words.empty()) {
            Session::print(app.help());
            return kUsage;
        }
        return usage_error(session, wrong.what(), words);
    }
    if (!session.action) {
        return usage_error(session, "a verb is missing", words);
    }
    // A started program gets its environment as it is.
    const auto epoch = session.check_epoch();
    if (!epoch && !session.refuses_with_255) {
        session.action = [&] { return cybele::Result<int>(cybele::fail(epoch.error())); };
    }
    begin_reporting(app, session);
    return cybele::cli::act(session);
}

} // namespace

int main(int argc, char** argv) {
    return cybele::cli::guarded(call, argc, argv);
}
