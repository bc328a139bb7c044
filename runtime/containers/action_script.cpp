// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/action_script.hpp"

#include "images/container/environment_script.hpp"
#include "runtime/containers/environment_files.hpp"
#include "runtime/containers/known_environment.hpp"
#include "runtime/containers/root_image.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <unistd.h>

namespace cybele::runtime {
namespace {

/// The kernel takes 128 KiB for one argument; what does not fit is handed over as it is, where the
/// image's environment files see it.
constexpr std::size_t kMostScript = std::size_t{120} << 10U;

/// bash refuses to set these and ends; every shell has IFS and OPTIND already.
constexpr std::array<std::string_view, 8> kShellsOwn = {
    "UID", "EUID", "PPID", "BASHOPTS", "SHELLOPTS", "BASH_VERSINFO", "IFS", "OPTIND"};

constexpr std::string_view kPrompt = R"(
[ -n "${PS1:-}" ] || PS1='Apptainer> '
export PS1
if [ -n "${PROMPT_COMMAND:-}" ]; then
    PROMPT_COMMAND="$PROMPT_COMMAND; PROMPT_COMMAND=\"\${PROMPT_COMMAND%%; PROMPT_COMMAND=*}\"; PS1=\"$PS1\""
else
    PROMPT_COMMAND="PS1=\"$PS1\"; unset PROMPT_COMMAND"
fi
export PROMPT_COMMAND
)";

/// What the shell that evaluates values has in Apptainer, and small shells lack.
constexpr std::string_view kShellsIds = R"([ -n "${UID:-}" ] || UID=$(id -u 2>/dev/null)
[ -n "${EUID:-}" ] || EUID=$UID
[ -n "${GID:-}" ] || GID=$(id -g 2>/dev/null)
)";

/// Of an image of Singularity before 2.3, as Apptainer reads it.
constexpr std::string_view kReadOldEnvironment = ". /environment\n";

bool is_shells_own(const std::string& name) {
    return contains(kShellsOwn, name);
}

/// What a value can hold that a shell replaces between double quotes.
bool has_shell_words(const std::string& value) {
    return value.find_first_of("$`\\") != std::string::npos;
}

/// Between double quotes, where the shell evaluates it, as Apptainer does.
std::string evaluated(const std::string& value) {
    std::string quoted = "\"";
    for (const char c : value) {
        quoted += c == '"' ? "\\\"" : std::string(1, c);
    }
    return quoted + '"';
}

void set(std::string& script,
         const std::string& name,
         const std::string& value,
         bool is_evaluated) {
    if (!is_shells_own(name)) {
        script +=
            "export " + name + '=' + (is_evaluated ? evaluated(value) : shell_quote(value)) + '\n';
    }
}

/// A variable of the host: unless the image has set it; set to nothing by the image: unset.
void restore(std::string& script, const std::string& name, const std::string& value) {
    script += "if [ -z \"${" + name + "+x}\" ]; then export " + name + '=' + shell_quote(value) +
              "; elif [ -z \"$" + name + "\" ]; then unset " + name + "; fi\n";
}

std::string path_changes(const PayloadEnvironment& layers) {
    std::string script;
    if (!layers.prepend_path.empty()) {
        script += "PATH=" + shell_quote(layers.prepend_path) + ":\"$PATH\"\n";
    }
    if (!layers.append_path.empty()) {
        script += "PATH=\"$PATH\":" + shell_quote(layers.append_path) + '\n';
    }
    if (!layers.path.empty()) {
        script +=
            "PATH=" + (layers.is_evaluated ? evaluated(layers.path) : shell_quote(layers.path)) +
            '\n';
    }
    return script + "export PATH\n";
}

/// By the name of Apptainer: what an application lacks ends with 1, behind the environment files of
/// the image, which may refuse an application themselves.
std::vector<std::string> without_app(const std::string& what, const std::string& name) {
    const std::string line = "echo \"ERROR:   " + what + " for contained app: $0\" >&2; exit 1";
    return {"/bin/sh", "-c", line, name};
}

/// By the name of Apptainer the files of the image decide, where a shell can read them.
Result<void> check_app(const Request& request, const ImageTraits& traits) {
    const std::string& name = request.program.app;
    if (name.empty() || traits.has_app || (request.global.follows_apptainer && traits.has_sh)) {
        return {};
    }
    return fail(
        ErrorCode::kInput,
        problem("image-app-missing", "the image has no application '" + printable(name) + "'"),
        "it has no folder " + printable(app_folder(name)),
        "`cybelectl inspect --list-apps IMAGE` prints those that it has");
}

Result<std::vector<std::string>> run_of_app(const Request& request, const ImageTraits& traits) {
    const std::string& name = request.program.app;
    if (traits.has_app_runscript) {
        return std::vector<std::string>{app_folder(name) + "/scif/runscript"};
    }
    if (request.global.follows_apptainer && traits.has_sh) {
        return without_app("no runscript", name);
    }
    return fail(ErrorCode::kInput,
                problem("app-without-runscript",
                        "the application '" + printable(name) + "' has nothing to run"),
                "the image was built without '%apprun " + printable(name) + "'",
                "start a program of it: `cybelectl exec --app " + printable(name) +
                    " IMAGE PROGRAM`");
}

Result<std::vector<std::string>> test_words(const Request& request, const ImageTraits& traits) {
    if (!request.program.app.empty() && request.global.follows_apptainer && traits.has_sh &&
        !traits.has_app_test) {
        return without_app("No tests", request.program.app);
    }
    if (!request.program.app.empty()) {
        return std::vector<std::string>{app_folder(request.program.app) + "/scif/test"};
    }
    if (traits.has_test) {
        return std::vector<std::string>{"/.singularity.d/test"};
    }
    if (request.global.follows_apptainer && traits.has_test_action) {
        constexpr const char* kNone =
            "echo 'No test found in container, executing /bin/sh -c true'";
        return std::vector<std::string>{"/bin/sh", "-c", kNone};
    }
    if (request.global.follows_apptainer) {
        tell_if(!request.global.is_quiet, "No test script found in container, exiting");
        return fail(ErrorCode::kInput,
                    problem("test-script-missing",
                            "exec /.singularity.d/actions/test failed: a shared library is likely "
                            "missing in the image"));
    }
    // An image without tests passes them.
    return std::vector<std::string>{"/bin/sh", "-c", ":"};
}

/// The words of the action before the user's own arguments.
Result<std::vector<std::string>> action_words(const Request& request, const ImageTraits& traits) {
    switch (request.program.action) {
    case Action::kExec:
        if (request.program.arguments.empty()) {
            return fail(ErrorCode::kUsage,
                        problem("exec-without-program", "no program was named"),
                        "exec starts a program of the container",
                        "write exec IMAGE PROGRAM [ARGUMENT …]");
        }
        return std::vector<std::string>();
    case Action::kRun:
        if (!request.program.app.empty()) {
            return run_of_app(request, traits);
        }
        if (traits.has_runscript) {
            return std::vector<std::string>{"/.singularity.d/runscript"};
        }
        break;
    case Action::kTest:
        return test_words(request, traits);
    case Action::kStart:
        if (request.global.follows_apptainer && traits.has_nothing_to_start) {
            return std::vector<std::string>{
                "/bin/sh", "-c", "echo 'INFO:    No instance start script found in container' >&2"};
        }
        return std::vector<std::string>{
            request.program.app.empty() ? "/.singularity.d/startscript"
                                        : app_folder(request.program.app) + "/scif/startscript"};
    case Action::kShell:
        if (!request.program.shell.empty() && request.global.follows_apptainer && traits.has_sh) {
            return std::vector<std::string>{
                // sh where the image lacks it
                "/bin/sh",
                "-c",
                "command -v \"$0\" >/dev/null && exec \"$0\"; SHELL=/bin/sh exec /bin/sh",
                request.program.shell};
        }
        if (!request.program.shell.empty()) {
            return std::vector<std::string>{request.program.shell};
        }
        if (traits.has_bash) {
            return std::vector<std::string>{"/bin/bash", "--norc"};
        }
        break;
    }
    if (!traits.has_sh) {
        return fail(ErrorCode::kInput,
                    problem("image-without-shell", "the image has no /bin/sh"),
                    "run and shell need it where the image has no runscript",
                    "start a program of it with exec");
    }
    if (request.program.action == Action::kRun && request.global.prints_info) {
        constexpr std::string_view kLine =
            "INFO:    No runscript found in container, executing /bin/sh\n";
        (void)!write(STDERR_FILENO, kLine.data(), kLine.size());
    }
    return std::vector<std::string>{"/bin/sh"};
}

/// What the script does, done here: nothing where that takes a shell.
std::optional<EnvironmentMap> without_shell(EnvironmentMap before,
                                            const PayloadEnvironment& layers) {
    if (layers.is_evaluated && has_shell_words(layers.path)) {
        return std::nullopt;
    }
    if (layers.is_evaluated && std::ranges::any_of(layers.injected, [](const auto& one) {
            return has_shell_words(one.second);
        })) {
        return std::nullopt;
    }
    const bool has_shells_own = std::ranges::any_of(
        layers.host, [](const auto& variable) { return is_shells_own(variable.first); });
    auto all =
        has_shells_own ? std::nullopt : read_known_files(kEnvironmentFolder, std::move(before));
    if (!all) {
        return std::nullopt;
    }
    for (const auto& [name, value] : layers.host) {
        const auto [place, is_new] = all->try_emplace(name, value);
        if (!is_new && place->second.empty()) {
            all->erase(place);
        }
    }
    for (const auto& [name, value] : layers.injected) {
        if (!is_shells_own(name)) {
            (*all)[name] = value;
        }
    }
    change_path((*all)["PATH"], layers);
    const std::string prompt = (*all)["PS1"].empty() ? "Apptainer> " : (*all)["PS1"];
    (*all)["PS1"] = prompt;
    std::string& command = (*all)["PROMPT_COMMAND"];
    // Sets the prompt before the first one is shown; a command of the user's stays for the others.
    command = command.empty()
                  ? "PS1=\"" + prompt + "\"; unset PROMPT_COMMAND"
                  : command + "; PROMPT_COMMAND=\"${PROMPT_COMMAND%%; PROMPT_COMMAND=*}\"; PS1=\"" +
                        prompt + "\"";
    return all;
}

/// The environment files see these, not the host's variables, as with Apptainer.
EnvironmentMap seen_by_files(const PayloadEnvironment& layers) {
    EnvironmentMap seen = layers.facts;
    seen["PATH"] = kDefaultPath;
    return seen;
}

/// Of a function that bash exports, or with a dot: small shells remove them from the environment.
std::string give_back_odd_names(const EnvironmentMap& host) {
    constexpr std::size_t kMostOfScript = kMostScript / 2;
    std::string words;
    for (const auto& [name, value] : host) {
        std::string variable = name;
        variable += '=';
        variable += value;
        const std::string word = ' ' + shell_quote(variable);
        if (!is_variable_name(name) && words.size() + word.size() < kMostOfScript) {
            words += word;
        }
    }
    return words.empty() ? words : "! command -v env >/dev/null || exec env" + words + " \"$@\"\n";
}

/// The program gets its full path as argv[0]; one that is missing, or cannot be started, is told in
/// the words of Apptainer.
constexpr std::string_view kNameByPath = R"(cybelectl_refuse() {
    printf 'FATAL:   %s\n' "$1" >&2
    exit 255
}
cybelectl_path=
case $1 in
    /*) cybelectl_path=$1 ;;
    */*) cybelectl_path=$(pwd)/${1#./} ;;
    *)
        cybelectl_rest=$PATH:
        while [ -n "$cybelectl_rest" ]; do
            cybelectl_part=${cybelectl_rest%%:*}
            cybelectl_rest=${cybelectl_rest#*:}
            if [ -f "${cybelectl_part:-.}/$1" ] && [ -x "${cybelectl_part:-.}/$1" ]; then
                cybelectl_path=${cybelectl_part:-.}/$1
                break
            fi
        done
        [ -n "$cybelectl_path" ] || cybelectl_refuse "\"$1\": executable file not found in \$PATH"
        ;;
esac
[ -e "$cybelectl_path" ] || cybelectl_refuse "stat $cybelectl_path: no such file or directory"
[ ! -d "$cybelectl_path" ] || cybelectl_refuse "is a directory"
[ -x "$cybelectl_path" ] || cybelectl_refuse "permission denied"
shift
set -- "$cybelectl_path" "$@"
unset -f cybelectl_refuse
unset cybelectl_path cybelectl_rest cybelectl_part
)";

/// Like in Apptainer, the rest of a file is left out where its syntax is wrong; a file that
/// ends the shell by another mistake, such as `${NAME:?}`, ends the start with 1, `exit 0` with
/// 255.
std::string read_files_as_apptainer() {
    constexpr std::string_view kRead = "    . \"$cybele_file\"\n";
    std::string script(images::kReadEnvironmentFiles);
    const std::size_t at = script.find(kRead);
    script.replace(at, kRead.size(), R"(    cybele_read=
    command eval '. "$cybele_file"; cybele_read=1'
    [ -n "$cybele_read" ] || ! /bin/sh -n "$cybele_file" 2>/dev/null || exit 1
)");
    script.insert(0, "trap '[ \"$?\" != 0 ] || exit 255' EXIT\n");
    script += "trap - EXIT\nunset cybele_read\n";
    return script;
}

Program make_script(const std::vector<std::string>& action,
                    const PayloadEnvironment& layers,
                    bool names_by_path) {
    Program program;
    program.environment = seen_by_files(layers);
    // Like in Apptainer, where a file of the image leads elsewhere.
    std::string tail = names_by_path ? "\n[ \"$(pwd)\" = \"$cybelectl_start\" ] || cd -- "
                                       "\"$cybelectl_start\" 2>/dev/null; unset "
                                       "cybelectl_start\n"
                                     : "\n";
    const bool has_ids =
        layers.is_evaluated && std::ranges::any_of(layers.injected, [](const auto& one) {
            return has_shell_words(one.second) && (one.second.find("UID") != std::string::npos ||
                                                   one.second.find("GID") != std::string::npos);
        });
    tail += has_ids ? kShellsIds : "";
    for (const auto& [name, value] : layers.injected) {
        set(tail, name, value, layers.is_evaluated);
    }
    tail += path_changes(layers);
    tail += kPrompt;
    tail += names_by_path ? kNameByPath : "";
    tail += give_back_odd_names(layers.host);
    tail += "exec \"$@\"\n";
    // A small shell has a prompt of its own, which is none of the environment.
    std::string script = names_by_path ? "cybelectl_start=$(pwd)\nunset PS1\n" : "";
    if (layers.is_old_image) {
        script += kReadOldEnvironment;
    } else {
        script += names_by_path ? read_files_as_apptainer() : images::kReadEnvironmentFiles;
    }
    for (const auto& [name, value] : layers.host) {
        std::string line;
        if (is_variable_name(name)) {
            restore(line, name, value);
        }
        if (script.size() + tail.size() + line.size() < kMostScript) {
            script += line;
        } else {
            program.environment[name] = value;
        }
    }
    program.argv = {"/bin/sh", "-c", script + tail, "sh"};
    program.argv.insert(program.argv.end(), action.begin(), action.end());
    return program;
}

} // namespace

std::string app_folder(const std::string& name) {
    return "/scif/apps/" + name;
}

std::string_view action_name(Action action) {
    constexpr std::array<std::string_view, 5> kNames = {"exec", "run", "shell", "test", "start"};
    return kNames.at(static_cast<std::size_t>(action));
}

Result<Program>
make_program(const Request& request, const PayloadEnvironment& layers, const ImageTraits& traits) {
    CYBELE_CHECK(check_app(request, traits));
    CYBELE_TRY(std::vector<std::string> words, action_words(request, traits));
    words.insert(words.end(), request.program.arguments.begin(), request.program.arguments.end());
    const bool is_old = !traits.has_metadata && traits.has_environment;
    if ((!traits.has_metadata && !is_old) || !traits.has_sh) {
        return Program{std::move(words), flatten(layers)};
    }
    if (is_old) {
        PayloadEnvironment old = layers;
        old.is_old_image = true;
        return make_script(words, old, request.global.follows_apptainer);
    }
    if (auto all = without_shell(seen_by_files(layers), layers)) {
        if (request.global.follows_apptainer) { // what cannot be started is told, and ends with 255
            return Program{words, std::move(*all)};
        }
        return Program{
            words, std::move(*all), [words, &layers] { return make_script(words, layers, false); }};
    }
    return make_script(words, layers, request.global.follows_apptainer);
}

} // namespace cybele::runtime
