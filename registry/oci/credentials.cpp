// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/credentials.hpp"

#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/presence.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

namespace cybele::registry {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr unsigned kPrivate = 0600;
constexpr std::size_t kMaximumFile = std::size_t{4} << 20U;
constexpr const char* kDockerHub = "https://index.docker.io/v1/";

Result<Json> read_json(const fs::path& file) {
    CYBELE_TRY(const std::string text, read_file(file, kMaximumFile));
    Json document = parse_json<Json>(text);
    if (!document.is_object()) {
        return fail(
            ErrorCode::kInput,
            problem("logins-unreadable", "cannot read the logins in " + printable(file.native())),
            "it is not a JSON object",
            "fix it, or name another file: --authfile FILE");
    }
    return document;
}

/// `https://HOST/v2/` means HOST in these files.
std::string plain_key(std::string key) {
    const std::size_t scheme = key.find("://");
    if (key == kDockerHub || scheme == std::string::npos) {
        return key == kDockerHub ? "index.docker.io" : key;
    }
    key.erase(0, scheme + 3);
    return key.substr(0, key.find('/'));
}

/// HOST/GROUP/NAME, HOST/GROUP, HOST.
std::vector<std::string> keys_of(const std::string& host, const std::string& repository) {
    std::vector<std::string> keys;
    std::string key = host + "/" + repository;
    while (key.size() > host.size()) {
        keys.push_back(key);
        key.resize(key.rfind('/'));
    }
    keys.push_back(host);
    return keys;
}

std::optional<Login> login_of(const Json& entry) {
    Login login;
    login.identity_token = member_text(entry, "identitytoken");
    const auto decoded = base64_decode(member_text(entry, "auth"));
    if (decoded && decoded->find(':') != std::string::npos) {
        login.user = decoded->substr(0, decoded->find(':'));
        login.password = decoded->substr(decoded->find(':') + 1);
    } else {
        login.user = member_text(entry, "username");
        login.password = member_text(entry, "password");
    }
    return login.user.empty() && login.identity_token.empty() ? std::nullopt : std::optional(login);
}

/// Asks `docker-credential-NAME get`; the server's name goes to its standard input.
Result<std::optional<Login>>
ask_program(const std::string& name, const std::string& server, const Environment& environment) {
    const std::string program = "docker-credential-" + name;
    if (name.find('/') != std::string::npos) {
        return fail(ErrorCode::kInput,
                    problem("credential-program-name",
                            "'" + printable(program) + "' is not a credential helper"),
                    "such a program is found in PATH, and its name has no slash",
                    "write the part of its name after docker-credential- into the registry "
                    "credentials file");
    }
    Command command;
    command.argv = {program, "get"};
    command.environment = environment.all();
    command.input = server;
    command.limit = std::chrono::seconds(60);
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (!outcome.ok()) {
        if (outcome.output.find("credentials not found") != std::string::npos) {
            return std::nullopt;
        }
        return fail(ErrorCode::kEnvironment,
                    problem("credential-program-failed",
                            "the program " + program + " gives no login for " + printable(server)),
                    printable((outcome.output + outcome.errors).substr(0, 300)),
                    "run it by hand, or name another registry credentials file: --authfile FILE");
    }
    const Json answer = parse_json<Json>(outcome.output);
    Login login;
    login.origin = program;
    login.user = member_text(answer, "Username");
    login.password = member_text(answer, "Secret");
    if (login.user == "<token>") {
        login.user.clear();
        std::swap(login.identity_token, login.password);
    }
    return login.user.empty() && login.identity_token.empty() ? std::nullopt : std::optional(login);
}

Result<std::optional<Login>> look_into(const fs::path& file,
                                       const std::vector<std::string>& keys,
                                       const Environment& environment) {
    CYBELE_TRY(const Json document, read_json(file));
    const Json auths = document.value("auths", Json::object());
    const std::string& host = keys.back();
    const Json programs = document.value("credHelpers", Json::object());
    for (const std::string& key : keys) {
        for (const auto& [name, entry] : auths.items()) {
            if (plain_key(name) != key || !entry.is_object()) {
                continue;
            }
            if (auto login = login_of(entry)) {
                login->origin = file.native();
                return login;
            }
        }
        if (programs.contains(key) && programs.at(key).is_string()) {
            return ask_program(programs.at(key).get<std::string>(), key, environment);
        }
    }
    const Json store = document.value("credsStore", Json());
    if (store.is_string() && !store.get<std::string>().empty()) {
        return ask_program(
            store.get<std::string>(), host == "index.docker.io" ? kDockerHub : host, environment);
    }
    return std::nullopt;
}

std::optional<Login> of_variables(const Environment& environment) {
    for (const std::string prefix : {"APPTAINER_", "SINGULARITY_", ""}) {
        const auto user = environment.get(prefix + "DOCKER_USERNAME");
        const auto password = environment.get(prefix + "DOCKER_PASSWORD");
        if (user && password) {
            return Login{*user, *password, {}, "$" + prefix + "DOCKER_USERNAME"};
        }
    }
    return std::nullopt;
}

fs::path apptainer_file(const Environment& environment) {
    const auto settings = environment.get_absolute("APPTAINER_CONFIGDIR");
    return settings.value_or(environment.home() / ".apptainer") / "docker-config.json";
}

fs::path docker_file(const Environment& environment) {
    return environment.home() / ".docker" / "config.json";
}

/// Those that may be there without anybody having named them, and those that were.
std::vector<fs::path> files_of(const Environment& environment) {
    std::vector<fs::path> files;
    if (const auto named = environment.get("REGISTRY_AUTH_FILE")) {
        files.emplace_back(*named);
    }
    if (const auto run = environment.get_absolute("XDG_RUNTIME_DIR")) {
        files.push_back(*run / "containers" / "auth.json");
    }
    files.push_back(apptainer_file(environment));
    files.push_back(docker_file(environment));
    return files;
}

/// Logins that cannot be seen are an error, not an anonymous request. The runtime folder is that of
/// another user where `su` has kept the variable.
Result<void> check_absent(const fs::path& file, const Environment& environment) {
    const auto run = environment.get_absolute("XDG_RUNTIME_DIR");
    if (!run || file != *run / "containers" / "auth.json") {
        CYBELE_CHECK(is_present(file, "a login"));
    }
    return {};
}

} // namespace

Result<std::optional<Login>> find_login(const std::string& host,
                                        const std::string& repository,
                                        const fs::path& authfile,
                                        const Environment& environment) {
    const auto keys = keys_of(host, repository);
    if (!authfile.empty()) {
        CYBELE_TRY(auto login, look_into(authfile, keys, environment));
        if (login) {
            return login;
        }
    }
    if (auto login = of_variables(environment)) {
        return login;
    }
    std::error_code error;
    for (const fs::path& file : files_of(environment)) {
        if (!fs::is_regular_file(file, error)) {
            CYBELE_CHECK(check_absent(file, environment));
            continue;
        }
        CYBELE_TRY(auto login, look_into(file, keys, environment));
        if (login) {
            return login;
        }
    }
    return std::nullopt;
}

Result<std::optional<Login>>
find_kept_login(const std::string& host, const fs::path& authfile, const Environment& environment) {
    EnvironmentMap variables = environment.all();
    std::erase_if(variables, [](const auto& variable) {
        return variable.first.ends_with("_DOCKER_USERNAME");
    });
    return find_login(host, {}, authfile, Environment(std::move(variables)));
}

fs::path login_file(const fs::path& authfile, const Environment& environment) {
    std::error_code error;
    if (!authfile.empty()) {
        return authfile;
    }
    if (const auto named = environment.get("REGISTRY_AUTH_FILE")) {
        return *named;
    }
    const fs::path own = apptainer_file(environment);
    return fs::is_regular_file(own, error) ? own : docker_file(environment);
}

Result<std::vector<std::string>> login_hosts(const fs::path& file) {
    std::vector<std::string> hosts;
    CYBELE_TRY(const bool is_there, is_present(file, "a login"));
    if (!is_there) {
        return hosts;
    }
    CYBELE_TRY(const Json document, read_json(file));
    const auto logins = document.find("auths");
    if (logins != document.end() && logins->is_object()) {
        for (const auto& login : logins->items()) {
            hosts.push_back(login.key() == kDockerHub ? "index.docker.io" : login.key());
        }
    }
    return hosts;
}

namespace {

/// Where the file cannot be written, nothing is wrong with the input: another file helps.
Error not_stored(const Error& error, const fs::path& file) {
    return {
        ErrorCode::kEnvironment,
        problem("login-not-stored", "the login cannot be stored in " + printable(file.native())),
        error.faults().front().because,
        "name a file that you can write: --authfile FILE"};
}

/// With tabs and without a newline at the end, as Docker and Apptainer write their files.
std::string file_text(const Json& document) {
    return document.dump(1, '\t', false, Json::error_handler_t::replace);
}

} // namespace

Result<void> write_login(const fs::path& file, const std::string& host, const Login& login) {
    const auto named = [&](const Error& error) { return not_stored(error, file); };
    Json document = Json::object();
    std::error_code error;
    CYBELE_CHECK(is_present(file, "a login"));
    if (fs::exists(file, error)) {
        CYBELE_TRY(document, read_json(file));
    }
    const std::string key = host == "index.docker.io" ? kDockerHub : host;
    if (!document["auths"].is_object()) {
        document["auths"] = Json::object();
    }
    document["auths"][key] = {{"auth", base64(login.user + ":" + login.password)}};
    if (file.has_parent_path()) {
        CYBELE_CHECK(make_directories(file.parent_path(), 0700).map_error(named));
    }
    return write_file(file, file_text(document), kPrivate).map_error(named);
}

Result<bool> erase_login(const fs::path& file, const std::string& host) {
    CYBELE_TRY(const bool is_there, is_present(file, "a login"));
    if (!is_there) {
        return false;
    }
    CYBELE_TRY(Json document, read_json(file));
    bool is_erased = false;
    Json left = Json::object();
    const Json auths = document.value("auths", Json::object());
    for (const auto& [name, entry] : auths.items()) {
        if (plain_key(name) == host) {
            is_erased = true;
        } else {
            left[name] = entry;
        }
    }
    if (is_erased) {
        document["auths"] = left;
        CYBELE_CHECK(write_file(file, file_text(document), kPrivate));
    }
    return is_erased;
}

} // namespace cybele::registry
