// SPDX-License-Identifier: Apache-2.0
#include "support/http.hpp"

#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/http_failure.hpp"
#include "support/json.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr std::string_view kProgram = "cybelectl-http";
constexpr std::string_view kTogether =
    "install both from one archive or package, or name the helper's folder: CYBELE_LIBEXEC=DIR";
#if defined(__aarch64__)
constexpr std::string_view kLoader = "ld-linux-aarch64.so.1";
#else
constexpr std::string_view kLoader = "ld-linux-x86-64.so.2";
#endif

/// Debian and SUSE, Fedora and RHEL, older SUSE, Alpine.
constexpr std::string_view kPools[] = {"/etc/ssl/certs/ca-certificates.crt",
                                       "/etc/pki/tls/certs/ca-bundle.crt",
                                       "/etc/ssl/ca-bundle.pem",
                                       "/etc/ssl/cert.pem"};

/// A kind of failure as the helper names it.
struct HttpFault {
    std::string_view name;
    std::string_view id;
    ErrorCode code;
    std::string_view help;
    std::string_view detail = {};
};
constexpr std::string_view kCheckNetwork =
    "check the address, the network and the variables http_proxy, https_proxy and no_proxy";
constexpr std::string_view kNameAuthority =
    "name the certificates of its authority: CYBELE_CA_FILE=FILE.pem";
constexpr HttpFault kHttpFaults[] = {
    {"request", "http-request", ErrorCode::kInternal, "report it with the command that you gave"},
    {"url", "address-malformed", ErrorCode::kInput, "give an https: address without a user name"},
    {"file",
     "transfer-file",
     ErrorCode::kEnvironment,
     "check the file's permissions and the space there"},
    {"version", "http-helper-version", ErrorCode::kEnvironment, kTogether},
    {"unreachable", "server-unreachable", ErrorCode::kEnvironment, kCheckNetwork},
    {kNoSuchHost, "server-unreachable", ErrorCode::kEnvironment, kCheckNetwork, kNoSuchHost},
    {kNotConnected, "server-unreachable", ErrorCode::kEnvironment, kCheckNetwork, kNotConnected},
    {"timeout", "server-timeout", ErrorCode::kEnvironment, "try again later"},
    {"untrusted", "server-untrusted", ErrorCode::kEnvironment, kNameAuthority},
    {kNotTls, "server-untrusted", ErrorCode::kEnvironment, kNameAuthority, kNotTls},
    {"certificate",
     "client-certificate",
     ErrorCode::kEnvironment,
     "check the client certificate and its key: both in PEM, the key without a passphrase"},
    {"too-large",
     "http-too-large",
     ErrorCode::kInput,
     "check the address: another kind of answer was expected"},
    {"redirects",
     "http-redirects",
     ErrorCode::kInput,
     "give the address that it leads to in the end"},
};

Json as_json(const std::vector<HttpHeader>& headers) {
    Json array = Json::array();
    for (const HttpHeader& header : headers) {
        array.push_back({header.name, header.value});
    }
    return array;
}

Json as_json(const HttpRequest& request, const Environment& environment) {
    const fs::path ca_file =
        request.access.ca_file.empty() ? system_certificates(environment) : request.access.ca_file;
    Json object{{"version", CYBELE_VERSION},
                {"method", request.method},
                {"url", request.url},
                {"headers", as_json(request.headers)},
                {"credentials", as_json(request.credentials)},
                {"body", base64(request.body)},
                {"ca-file", ca_file.native()},
                {"limit-ms", request.limits.exchange.count()},
                {"stall-limit-s", request.limits.stall.count()},
                {"maximum-size", request.limits.answer_size},
                {"redirects", request.limits.redirects},
                {"allows-plain", request.access.allows_plain},
                {"progress", static_cast<bool>(request.on_progress)}};
    if (request.body_file) {
        object["body-file"] = request.body_file->path.native();
        object["body-offset"] = request.body_file->offset;
        if (request.body_file->size) {
            object["body-size"] = *request.body_file->size;
        }
    }
    if (request.output) {
        object["output"] = request.output->path.native();
        object["resume"] = request.output->is_resumed;
        object["hash"] = request.output->is_hashed;
    }
    if (request.range) {
        object["range"] = {request.range->first, request.range->second};
    }
    return object;
}

/// Without the query, which may hold a secret.
std::string shown(const std::string& url) {
    return printable(url.substr(0, url.find('?')));
}

Result<HttpResponse>
http_failed(const HttpRequest& request, const Json& failure, HttpResponse& response) {
    const auto name = failure.value("kind", std::string());
    Error error = http_failure(name, failure.value("message", std::string()), request.url);
    if (!request.tells_failure) {
        return fail(std::move(error));
    }
    response.failure = std::move(error);
    response.is_too_large = name == "too-large";
    response.is_passing = is_passing_http_failure(name);
    return response;
}

/// The lines before the last say how far the transfer is, and are not kept; they come cut anywhere.
class ProgressReader {
public:
    explicit ProgressReader(const HttpRequest& request) : request_(request) {}
    /// False where a line is longer than any answer.
    bool take(std::string_view piece) {
        std::size_t at = line_.size(); // no line ends before
        line_ += piece;
        for (std::size_t end = 0; (end = line_.find('\n', at)) != std::string::npos; at = 0) {
            std::string line = line_.substr(0, end);
            line_.erase(0, end + 1);
            const Json object =
                line.size() > kLongestProgress ? Json() : Json::parse(line, nullptr, false);
            if (object.is_object() && object.contains("done")) {
                request_.on_progress(object.value("done", std::uint64_t{0}),
                                     object.value("total", std::uint64_t{0}));
            } else if (!line.empty()) {
                answer_ = std::move(line);
            }
        }
        return line_.size() <= kLongestAnswer;
    }
    [[nodiscard]] const std::string& answer() const {
        return line_.empty() ? answer_ : line_;
    }

private:
    static constexpr std::size_t kLongestProgress = 1000;
    static constexpr std::size_t kLongestAnswer = std::size_t{384} << 20U; ///< 256 MiB in base64
    const HttpRequest& request_;
    std::string line_;
    std::string answer_;
};

std::string_view last_line(std::string_view text) {
    while (text.ends_with('\n')) {
        text.remove_suffix(1);
    }
    const std::size_t end = text.rfind('\n');
    return end == std::string_view::npos ? text : text.substr(end + 1);
}

Error other_version(const std::string& version) {
    return {ErrorCode::kEnvironment,
            problem("http-helper-version", "the program cybelectl-http is not of this cybelectl"),
            "it is of " + printable(version) + ", cybelectl of " CYBELE_VERSION,
            std::string(kTogether)};
}

Result<HttpResponse> read_answer(const HttpRequest& request, std::string_view text) {
    HttpResponse response;
    std::string body;
    try {
        const Json object = Json::parse(text);
        const auto version = object.value("version", std::string("an older version"));
        if (version != CYBELE_VERSION && !object.contains("failure")) {
            return fail(other_version(version));
        }
        if (object.contains("failure")) {
            return http_failed(request, object.at("failure"), response);
        }
        response.status = object.at("status").get<int>();
        for (const Json& header : object.at("headers")) {
            response.headers.push_back(
                {header.at(0).get<std::string>(), header.at(1).get<std::string>()});
        }
        response.size = object.at("size").get<std::uint64_t>();
        response.sha256 = object.value("sha256", "");
        response.url = object.at("url").get<std::string>();
        body = object.at("body").get<std::string>();
    } catch (const Json::exception&) {
        return fail(ErrorCode::kInternal,
                    problem("http-helper-answer",
                            "the program cybelectl-http does not answer as it should"),
                    "its output is not the JSON object that is expected",
                    "install it again together with cybelectl");
    }
    CYBELE_TRY(response.body, base64_decode(body));
    return response;
}

/// A helper that was packed with its own libraries and loader is started by that loader, whatever
/// the machine has (packaging/bundle).
std::vector<std::string> call_of(const fs::path& helper) {
    const fs::path libraries = helper.parent_path() / "lib";
    std::error_code error;
    if (!fs::exists(libraries / kLoader, error)) {
        return {helper.native()};
    }
    return {(libraries / kLoader).native(),
            "--inhibit-cache",
            "--library-path",
            libraries.native(),
            helper.native()};
}

} // namespace

Error http_failure(std::string_view kind, std::string_view message, const std::string& url) {
    const auto* const found = std::ranges::find(kHttpFaults, kind, &HttpFault::name);
    const HttpFault& known = found == std::end(kHttpFaults) ? kHttpFaults[0] : *found;
    const std::string what = kind == "file"                          ? "cannot transfer "
                             : known.code == ErrorCode::kEnvironment ? "cannot reach "
                                                                     : "cannot use ";
    return {known.code,
            problem(known.id, what + shown(url), std::string(known.detail)).about(shown(url)),
            printable(std::string(message)),
            std::string(known.help)};
}

bool is_passing_http_failure(std::string_view kind) {
    return kind == "unreachable" || kind == kNoSuchHost || kind == kNotConnected ||
           kind == "timeout";
}

std::string_view HttpResponse::header(std::string_view name) const {
    const auto found = std::ranges::find(headers, name, &HttpHeader::name);
    return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

HttpClient HttpClient::find(const Environment& environment, const fs::path& program) {
    HttpClient client;
    client.environment_ = environment;
    if (const auto folder = environment.get("CYBELE_LIBEXEC")) {
        client.looked_in_ = {fs::path(*folder)};
    } else if (!program.empty()) {
        const fs::path above = program.parent_path().parent_path();
        client.looked_in_ = {above / "libexec" / "cybelectl", above / "libexec"};
    }
    // What the current folder holds is not ours.
    std::erase_if(client.looked_in_, [](const fs::path& folder) { return !folder.is_absolute(); });
    for (const fs::path& folder : client.looked_in_) {
        if (const auto found = find_program((folder / kProgram).native(), {})) {
            client.helper_ = *found;
            break;
        }
    }
    return client;
}

Result<void> HttpClient::find_helper() const {
    if (!helper_.empty()) {
        return {};
    }
    std::string folders;
    for (const fs::path& folder : looked_in_) {
        folders += (folders.empty() ? "" : ", ") + printable(folder.native());
    }
    return fail(ErrorCode::kEnvironment,
                problem("http-helper-missing",
                        "cannot use the network: the program cybelectl-http is not here"),
                folders.empty() ? "the folder where it should be is not an absolute path"
                                : "it was looked for in " + folders,
                "install it with cybelectl, or name its folder: CYBELE_LIBEXEC=FOLDER");
}

Result<fs::path> HttpClient::check() const {
    CYBELE_TRY(Command command, this->command("--version"));
    command.limit = std::chrono::seconds(5);
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (outcome.output != std::string(kProgram) + " " CYBELE_VERSION "\n") {
        const std::string_view said = last_line(outcome.output);
        return fail(other_version(said.empty() ? "no version" : std::string(said)));
    }
    return helper_;
}

Result<Command> HttpClient::command(const std::string& argument) const {
    CYBELE_CHECK(find_helper());
    Command command;
    command.argv = call_of(helper_);
    if (!argument.empty()) {
        command.argv.push_back(argument);
    }
    command.environment = environment_.all();
    return command;
}

Result<HttpResponse> HttpClient::send(const HttpRequest& request) const {
    CYBELE_TRY(Command command, this->command());
    command.input = json_text(as_json(request, environment_), -1);
    if (request.limits.exchange.count() > 0) {
        command.limit =
            request.limits.exchange + std::chrono::seconds(5); // it keeps the limit itself
    }
    ProgressReader progress(request);
    if (request.on_progress) {
        command.take_output = [&progress](std::string_view piece) { return progress.take(piece); };
    }
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (!outcome.ok()) {
        return fail(ErrorCode::kEnvironment,
                    problem("server-unreachable", "cannot reach " + shown(request.url)),
                    outcome.timed_out
                        ? "the time is over"
                        : "cybelectl-http ended with code " + std::to_string(outcome.shell_code()) +
                              ": " + printable(outcome.errors.substr(0, 300)),
                    "install cybelectl-http again together with cybelectl");
    }
    return read_answer(request,
                       request.on_progress ? progress.answer() : last_line(outcome.output));
}

fs::path system_certificates(const Environment& environment) {
    if (const auto own = environment.get("SSL_CERT_FILE")) {
        return *own;
    }
    std::error_code error;
    for (const std::string_view pool : kPools) {
        if (fs::is_regular_file(pool, error)) {
            return pool;
        }
    }
    return {};
}

} // namespace cybele
