// SPDX-License-Identifier: Apache-2.0
#include "apiserver/access.hpp"

#include "apiserver/kubeconfig.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

#include <sys/prctl.h>

namespace cybele::apiserver {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kLongestCredential = std::size_t{1} << 20U;
constexpr std::chrono::seconds kProgramLimit{60};

Result<std::string> read_credential(const fs::path& path) {
    auto text = read_file(path, kLongestCredential);
    if (!text) {
        return cybele::fail(std::move(text).error().with_context("reading the credentials of the "
                                                                 "API server"));
    }
    return text;
}

/// A header cannot carry anything else, and an empty one is an incomplete file.
Result<std::string> checked_token(std::string text, const fs::path& path) {
    text = std::string(text::trimmed(text));
    const bool is_sound = !text.empty() && std::ranges::all_of(text, [](unsigned char letter) {
        return letter > ' ' && letter < 0x7f;
    });
    if (!is_sound) {
        return cybele::fail(ErrorCode::kInput,
                            problem("service-account-token-unusable",
                                    "the token in " + printable(path.native()) + " is not usable"),
                            "a token is one line of printable characters without spaces",
                            "write the token into that file again");
    }
    return text;
}

Error program_error(const std::string& name, std::string because, const std::string& hint) {
    return {ErrorCode::kEnvironment,
            problem("kubeconfig-program-failed",
                    "the credential program '" + printable(name) + "' of the kubeconfig failed"),
            std::move(because),
            hint.empty() ? "run it in a terminal, log in again if it asks to, and try again"
                         : printable(hint)};
}

std::string member(const Json& object, const char* name) {
    return object.contains(name) && object[name].is_string() ? object[name].get<std::string>()
                                                             : std::string();
}

} // namespace

Result<Access> Access::read(const Environment& environment, const AccessOptions& options) {
    std::string files = options.kubeconfig;
    if (files.empty()) {
        files = environment.get_or("KUBECONFIG", "");
    }
    if (files.empty()) {
        const fs::path usual = environment.home() / ".kube" / "config";
        std::error_code error;
        if (fs::exists(usual, error)) {
            files = usual.native();
        }
    }
    // From now on the memory of this process holds keys and tokens: it leaves no core dump, and no
    // other process of the user reads it. A failure takes nothing away.
    (void)::prctl(PR_SET_DUMPABLE, 0); // NOLINT: prctl(2) is variadic
    CYBELE_TRY(Access access,
               files.empty() ? in_cluster(environment, options)
                             : KubeconfigReader::read(files, options));
    access.environment_ = environment;
    CYBELE_TRY(access.credentials_, access.load(TokenProgram::kRun));
    return access;
}

Result<Access> Access::in_cluster(const Environment& environment, const AccessOptions& options) {
    const auto host = environment.get("KUBERNETES_SERVICE_HOST");
    const std::string port = environment.get_or("KUBERNETES_SERVICE_PORT", "443");
    std::error_code error;
    if (!host || !fs::exists(options.service_account / "token", error)) {
        return cybele::fail(
            ErrorCode::kEnvironment,
            problem("api-server-not-configured", "no access to an API server is configured"),
            "there is no kubeconfig, and this is not a pod with a service account",
            "name a kubeconfig: KUBECONFIG=FILE");
    }
    Access access;
    access.server_ = "https://" +
                     (host->find(':') == std::string::npos ? *host : "[" + *host + "]") + ":" +
                     port;
    access.token_.path = options.service_account / "token";
    access.ca_.path = options.service_account / "ca.crt";
    if (auto name = read_file(options.service_account / "namespace", kLongestCredential)) {
        access.namespace_ = std::string(text::trimmed(*name));
    }
    return access;
}

Result<Credentials> Access::load(TokenProgram program) const {
    Credentials loaded;
    struct Field {
        const Source* source;
        std::string Credentials::*member;
    };
    for (const Field& field : {Field{&ca_, &Credentials::ca},
                               Field{&certificate_, &Credentials::certificate},
                               Field{&key_, &Credentials::key},
                               Field{&token_, &Credentials::token}}) {
        loaded.*field.member = field.source->data;
        if (!field.source->path.empty()) {
            CYBELE_TRY(loaded.*field.member, read_credential(field.source->path));
        }
    }
    if (!loaded.token.empty() || !token_.path.empty()) {
        const fs::path from = token_.path.empty() ? fs::path("the kubeconfig") : token_.path;
        CYBELE_TRY(loaded.token, checked_token(std::move(loaded.token), from));
    }
    if (program_ && program == TokenProgram::kRun) {
        CYBELE_CHECK(run_program(*program_, loaded));
    } else if (program_) {
        loaded.token = credentials_.token;
        loaded.certificate = credentials_.certificate;
        loaded.key = credentials_.key;
    }
    return loaded;
}

Result<void> Access::run_program(const CredentialProgram& program, Credentials& credentials) const {
    const std::string& name = program.argv.front();
    Command command;
    command.argv = program.argv;
    EnvironmentMap variables = environment_.all();
    for (const auto& [key, value] : program.variables) {
        variables[key] = value;
    }
    variables["KUBERNETES_EXEC_INFO"] = Json{
        {"apiVersion", program.version},
        {"kind", "ExecCredential"},
        {"spec", {{"interactive", false}}}}.dump();
    command.environment = std::move(variables);
    command.input = std::string();
    command.limit = kProgramLimit;
    auto outcome = run_process(command);
    if (!outcome) {
        return cybele::fail(
            program_error(name, outcome.error().faults().front().because, program.install_hint));
    }
    if (!outcome->ok()) {
        constexpr std::size_t kLongestQuote = 300;
        return cybele::fail(
            program_error(name,
                          "it ended with status " + std::to_string(outcome->shell_code()) + ": " +
                              printable(text::trimmed(
                                  std::string_view(outcome->errors).substr(0, kLongestQuote))),
                          {}));
    }
    const Json answer = parse_json(outcome->output);
    const Json status = answer.is_object() ? answer.value("status", Json()) : Json();
    if (!status.is_object()) {
        return cybele::fail(program_error(name, "its output is not an ExecCredential", {}));
    }
    credentials.token = member(status, "token");
    credentials.certificate = member(status, "clientCertificateData");
    credentials.key = member(status, "clientKeyData");
    if (credentials.token.empty() && credentials.certificate.empty()) {
        return cybele::fail(program_error(name, "it gave neither a token nor a certificate", {}));
    }
    if (!credentials.token.empty()) {
        CYBELE_TRY(credentials.token, checked_token(std::move(credentials.token), name));
    }
    return {};
}

Result<bool> Access::take(Result<Credentials> loaded) {
    if (!loaded) {
        return cybele::fail(std::move(loaded).error());
    }
    const bool is_changed = !(*loaded == credentials_);
    credentials_ = std::move(*loaded);
    return is_changed;
}

Result<bool> Access::refresh() {
    return take(load(TokenProgram::kSkip));
}

Result<bool> Access::renew() {
    return take(load(TokenProgram::kRun));
}

} // namespace cybele::apiserver
