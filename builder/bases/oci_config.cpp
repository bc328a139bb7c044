// SPDX-License-Identifier: Apache-2.0
#include "builder/bases/oci_config.hpp"

#include "images/container/metadata_labels.hpp"
#include "images/inspection/layout_root.hpp"
#include "support/json.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::builder {
namespace {

using Json = nlohmann::json;

/// Fields that only other runtimes keep, with what holds instead.
struct Passed {
    const char* field;
    std::string_view instead;
};
constexpr Passed kPassed[] = {
    {"User", "containers run as who starts them"},
    {"WorkingDir", "containers start in the caller's directory; --pwd names another"},
    {"ExposedPorts", "containers share the host's network"},
    {"Volumes", "folders are bound by --bind"},
    {"Healthcheck", "nothing watches containers"},
    {"StopSignal", "signals reach the program itself"},
};

bool is_nothing(const Json& value) {
    return value.is_null() || (value.is_string() && value.get<std::string>().empty()) ||
           ((value.is_object() || value.is_array()) && value.empty());
}

/// Missing, null, a list of words, or (as old builders wrote it) one word.
std::vector<std::string> words_of(const Json& object, const char* field) {
    if (!object.contains(field) || object.at(field).is_null()) {
        return {};
    }
    const Json& value = object.at(field);
    return value.is_string() ? std::vector<std::string>{value.get<std::string>()}
                             : value.get<std::vector<std::string>>();
}

void read_environment(const Json& object, OciConfig& config) {
    for (const std::string& item : words_of(object, "Env")) {
        const std::size_t equals = std::min(item.find('='), item.size());
        const std::string name = item.substr(0, equals);
        if (!is_variable_name(name)) {
            config.notes.push_back("the variable '" + printable(name) +
                                   "' of the image is left out: it is not a valid name in a shell");
        } else if (item.find('\0') == std::string::npos) {
            config.environment.emplace_back(
                name, equals < item.size() ? item.substr(equals + 1) : std::string());
        }
    }
}

/// Single quotes keep everything but themselves.
std::string in_quotes(std::string_view text) {
    std::string result = "'";
    for (const char c : text) {
        result += c == '\'' ? std::string("'\"'\"'") : std::string(1, c);
    }
    return result + "'";
}

std::string quoted_words(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += " " + in_quotes(word);
    }
    return text;
}

auto unreadable_configuration() {
    return fail(
        ErrorCode::kInput,
        problem("oci-configuration-unreadable", "the configuration of the image cannot be read"),
        "it is not what the OCI image specification says",
        "get the image again; is it an image of a root file system?");
}

} // namespace

Result<OciConfig> read_oci_config(std::string_view json) {
    OciConfig config;
    try {
        const Json document = parse_json<Json>(json);
        if (document.is_discarded()) {
            return unreadable_configuration();
        }
        const Json own = document.contains("config") && document.at("config").is_object()
                             ? document.at("config")
                             : Json::object();
        read_environment(own, config);
        config.entrypoint = words_of(own, "Entrypoint");
        config.command = words_of(own, "Cmd");
        if (own.contains("Labels") && own.at("Labels").is_object()) {
            config.labels = own.at("Labels").get<std::map<std::string, std::string>>();
        }
        for (const Passed& passed : kPassed) {
            const bool is_root = passed.field == std::string_view("WorkingDir") &&
                                 own.value(passed.field, Json()) == "/";
            if (own.contains(passed.field) && !is_nothing(own.at(passed.field)) && !is_root) {
                config.notes.push_back(fmt::format(
                    "{} of the image does not count: {}", passed.field, passed.instead));
            }
        }
    } catch (const Json::exception&) {
        return unreadable_configuration();
    }
    return config;
}

std::string environment_script(const OciConfig& config) {
    std::string text = "#!/bin/sh\n";
    for (const auto& [name, value] : config.environment) {
        if (name == "PATH") {
            text += fmt::format("export PATH={}\n", in_quotes(value));
        } else {
            text += fmt::format(
                "[ -n \"${{{0}:-}}\" ] || {0}={1}\nexport {0}\n", name, in_quotes(value));
        }
    }
    return text;
}

/// Words for `eval`: what a shell would replace between double quotes is escaped.
std::string words_to_evaluate(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += text.empty() ? "\"" : " \"";
        for (const char c : word) {
            text += std::string_view("\"\\$`").find(c) == std::string_view::npos
                        ? std::string(1, c)
                        : std::string("\\") + c;
        }
        text += '"';
    }
    return text;
}

std::string run_script(const OciConfig& config) {
    std::string text = "#!/bin/sh\n";
    text += "OCI_ENTRYPOINT=" + in_quotes(words_to_evaluate(config.entrypoint)) + "\n";
    text += "OCI_CMD=" + in_quotes(words_to_evaluate(config.command)) + "\n";
    if (config.command.empty() && config.entrypoint.empty()) {
        text += "if [ $# -eq 0 ]; then\n"
                "    echo 'the image names no command: say what is to be run' >&2\n"
                "    exit 127\n"
                "fi\n";
    }
    text += "if [ -n \"${APPTAINER_NO_EVAL:-}\" ] || [ -n \"${SINGULARITY_NO_EVAL:-}\" ]; then\n";
    if (!config.command.empty()) {
        text += "    [ $# -gt 0 ] || set --" + quoted_words(config.command) + "\n";
    }
    if (!config.entrypoint.empty()) {
        text += "    set --" + quoted_words(config.entrypoint) + " \"$@\"\n";
    }
    return text + R"(    exec "$@"
fi
# As with Apptainer, a shell evaluates the words of the caller once more; --no-eval leaves them as they are.
oci_run_words=
for oci_run_word in "$@"; do
    oci_run_words="$oci_run_words \"$oci_run_word\""
done
[ $# -gt 0 ] || oci_run_words=$OCI_CMD
eval "set -- $OCI_ENTRYPOINT $oci_run_words"
exec "$@"
)";
}

Result<void> write_oci_config(const std::filesystem::path& path, const OciConfig& config) {
    CYBELE_TRY(const auto root, images::RootDirectory::open(path));
    CYBELE_CHECK(root.make_directory(".singularity.d/env", 0755));
    // The name that Apptainer gives it, so that images of both look alike.
    CYBELE_CHECK(root.write(
        ".singularity.d/env/10-docker2singularity.sh", environment_script(config), 0755));
    CYBELE_CHECK(root.write(".singularity.d/runscript", run_script(config), 0755));
    return root.write(".singularity.d/labels.json", images::print_labels(config.labels), 0644);
}

} // namespace cybele::builder
