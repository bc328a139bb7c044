// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/payload_environment.hpp"

#include "runtime/containers/action_script.hpp"
#include "runtime/containers/bind_option.hpp"
#include "runtime/containers/environment_option.hpp"
#include "runtime/containers/isolation.hpp"
#include "runtime/containers/root_image.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

namespace cybele::runtime {
namespace {

/// Of the host, not of the container.
constexpr std::array<std::string_view, 5> kHostOnly = {
    "HOME", "PATH", "LD_LIBRARY_PATH", "OLDPWD", "_"};
/// Controls of container programs; those of an outer container would mislead the inner one.
constexpr std::array<std::string_view, 4> kControlPrefixes = {
    "APPTAINER_", "SINGULARITY_", "APPTAINERENV_", "SINGULARITYENV_"};
/// Weakest first.
constexpr std::array<std::string_view, 2> kInjectingPrefixes = {"SINGULARITYENV_", "APPTAINERENV_"};
constexpr std::array<std::string_view, 11> kKeptWhenClean = {"TERM",
                                                             "http_proxy",
                                                             "https_proxy",
                                                             "no_proxy",
                                                             "all_proxy",
                                                             "ftp_proxy",
                                                             "HTTP_PROXY",
                                                             "HTTPS_PROXY",
                                                             "NO_PROXY",
                                                             "ALL_PROXY",
                                                             "FTP_PROXY"};
constexpr std::string_view kLibraryFolder = "/.singularity.d/libs";

bool passes(const std::string& name, bool is_clean, bool follows_apptainer) {
    const bool is_hosts =
        contains(kHostOnly, name) && !(follows_apptainer && (name == "OLDPWD" || name == "_"));
    const bool is_passed = follows_apptainer ? !name.empty() : is_variable_name(name);
    if (!is_passed || is_hosts) {
        return false;
    }
    const bool is_control = std::ranges::any_of(
        kControlPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
    return !is_control && (!is_clean || contains(kKeptWhenClean, name));
}

/// PATH and the like are no plain variables when they are injected.
void inject(PayloadEnvironment& layers, const std::string& name, const std::string& value) {
    if (name == "PREPEND_PATH") {
        layers.prepend_path = value;
    } else if (name == "APPEND_PATH") {
        layers.append_path = value;
    } else if (name == "PATH") {
        layers.path = value;
    } else if (name == "LD_LIBRARY_PATH") {
        layers.injected[name] = value.empty() ? "" : value + ':' + std::string(kLibraryFolder);
    } else if (name != "HOME") { // the home directory is --home's
        layers.injected[name] = value;
    }
}

void inject_prefixed(PayloadEnvironment& layers, const Environment& environment) {
    for (const std::string_view prefix : kInjectingPrefixes) {
        for (const auto& [name, value] : environment.all()) {
            if (name.starts_with(prefix) && is_variable_name(name.substr(prefix.size()))) {
                inject(layers, name.substr(prefix.size()), value);
            }
        }
    }
}

/// What the user has bound, by its place inside: a container that is started inside finds it there.
/// What cannot be read has ended the start before.
std::string bind_text(const Request& request, const Environment& environment) {
    std::string text;
    const auto add = [&](const BindOption& bind) {
        text += (text.empty() ? "" : ",") + bind.target.native();
    };
    const auto add_all = [&](const std::string& binds) {
        if (const auto read = read_binds(binds, "/", request.global.follows_apptainer)) {
            std::for_each(read->begin(), read->end(), add);
        }
    };
    for (const std::string& bind : request.files.binds) {
        add_all(bind);
    }
    for (const std::string& binds : binds_of_variables(environment)) {
        add_all(binds);
    }
    for (const std::string& mount : request.files.mounts) {
        if (const auto bind = read_mount(mount, "/", request.global.follows_apptainer)) {
            add(*bind);
        }
    }
    return text;
}

void add_facts(PayloadEnvironment& layers,
               const Request& request,
               const Environment& environment,
               const std::filesystem::path& home) {
    std::error_code ignored;
    auto image = std::filesystem::absolute(request.image.file, ignored).lexically_normal();
    if (!image.has_filename()) { // "box/", "."
        image = image.parent_path();
    }
    const std::string binds = bind_text(request, environment);
    for (const std::string prefix : {"APPTAINER_", "SINGULARITY_"}) {
        layers.facts[prefix + "CONTAINER"] = image.string();
        layers.facts[prefix + "NAME"] = image.filename().string();
        layers.facts[prefix + "BIND"] = binds;
        layers.facts[prefix + "ENVIRONMENT"] = "/.singularity.d/env/91-environment.sh";
    }
    if (!request.global.follows_apptainer ||
        request.variables.no_eval) { // what runscripts of OCI images ask
        layers.facts["APPTAINER_NO_EVAL"] = "1";
        layers.facts["SINGULARITY_NO_EVAL"] = "1";
    }
    if (!request.instance.name.empty()) {
        layers.facts["APPTAINER_INSTANCE"] = request.instance.name;
        layers.facts["SINGULARITY_INSTANCE"] = request.instance.name;
    }
    layers.facts["APPTAINER_COMMAND"] = std::string(action_name(request.program.action));
    layers.facts["APPTAINER_APPNAME"] = request.program.app;
    if (!request.program.app.empty()) {
        layers.facts["SINGULARITY_APPNAME"] = request.program.app;
    }
    layers.facts["HOME"] = home.string();
    if (!request.variables.cleanenv && !request.isolation.containall) {
        layers.facts["USER_PATH"] = environment.get_or("PATH", "");
    }
}

} // namespace

Result<PayloadEnvironment> make_environment(const Request& request,
                                            const Environment& environment,
                                            const std::filesystem::path& home) {
    PayloadEnvironment layers;
    const bool is_clean = request.variables.cleanenv || request.isolation.containall;
    const std::vector<std::string> blocked = list_words(request.variables.no_env);
    layers.is_evaluated = request.global.follows_apptainer && !request.variables.no_eval;
    for (const auto& [name, value] : environment.all()) {
        if (passes(name, is_clean, request.global.follows_apptainer) && !contains(blocked, name)) {
            layers.host[name] = value;
        }
    }
    if (is_clean) {
        layers.host["LANG"] = "C";
    }
    // The home directory is the host's; its ~/.local must not shadow the image's Python.
    if (!request.global.follows_apptainer) {
        layers.host.try_emplace("PYTHONNOUSERSITE", "1");
    }
    for (const auto& [name, value] : request.devices.environment) {
        inject(layers, name, value);
    }
    inject_prefixed(layers, environment);
    for (const auto& path : request.variables.environment_files) {
        CYBELE_TRY(
            const EnvironmentMap variables,
            read_environment_file(path, request.global.follows_apptainer ? &environment : nullptr));
        for (const auto& [name, value] : variables) {
            inject(layers, name, value);
        }
    }
    for (const auto& [name, value] : request.variables.environment) {
        if (!is_variable_name(name)) {
            return fail(
                ErrorCode::kUsage,
                problem("variable-name", "'" + printable(name) + "' is not the name of a variable"),
                "a name has letters, digits and _ only",
                "write --env NAME=VALUE");
        }
        inject(layers, name, value);
    }
    add_facts(layers, request, environment, home);
    return layers;
}

EnvironmentMap flatten(const PayloadEnvironment& layers) {
    EnvironmentMap all = layers.facts;
    all["PATH"] = kDefaultPath;
    all.insert(layers.host.begin(), layers.host.end());
    for (const auto& [name, value] : layers.injected) {
        all[name] = value;
    }
    change_path(all["PATH"], layers);
    return all;
}

void change_path(std::string& path, const PayloadEnvironment& layers) {
    path = layers.prepend_path.empty() ? path : layers.prepend_path + ':' + path;
    path = layers.append_path.empty() ? path : path + ':' + layers.append_path;
    path = layers.path.empty() ? path : layers.path;
}

void tell_old_names(const Request& request, const Environment& environment) {
    constexpr std::string_view kOld = "SINGULARITYENV_";
    for (const auto& [name, value] : environment.all()) {
        if (!request.global.follows_apptainer || request.global.is_quiet ||
            !name.starts_with(kOld) || name.size() == kOld.size()) {
            continue;
        }
        const std::string preferred = "APPTAINERENV_" + name.substr(kOld.size());
        const auto other = environment.get(preferred);
        tell_if(!other,
                "Environment variable " + printable(name) + " is set, but " + printable(preferred) +
                    " is preferred");
        if (other && *other != value) {
            warn(printable(name) + " and " + printable(preferred) +
                 " have different values, using the latter");
            warn("Skipping environment variable [" + printable(name) + "=" + printable(value) +
                 "], " + printable(name.substr(kOld.size())) +
                 " is already overridden with different value [" + printable(*other) + "]");
        }
    }
}

} // namespace cybele::runtime
