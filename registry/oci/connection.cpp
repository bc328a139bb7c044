// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/connection.hpp"

#include "registry/oci/private_host.hpp"
#include "support/encoding.hpp"
#include "support/find.hpp"
#include "support/http_failure.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::registry {

namespace {

using Json = nlohmann::json;

constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kHttpNotFound = 404;
constexpr int kTooMany = 429;
constexpr std::int64_t kShortest = 60; ///< seconds that a token lasts at least
constexpr std::int64_t kMargin = 10;   ///< seconds before its end when it is renewed

std::optional<std::int64_t> number_of(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                    : std::nullopt;
}

/// What the registry says itself: {"errors":[{"code","message"}]}.
std::string reason_of(const HttpResponse& answer) {
    const Json document = parse_json<Json>(answer.body);
    if (document.is_object() && document.contains("errors") && document["errors"].is_array() &&
        !document["errors"].empty()) {
        const Json& first = document["errors"][0];
        if (first.is_object()) {
            const auto word = [&](const char* name) {
                return first.contains(name) && first[name].is_string()
                           ? first[name].get<std::string>()
                           : std::string();
            };
            return printable(fmt::format("{} {}", word("code"), word("message")));
        }
    }
    constexpr std::size_t kShown = 200;
    return printable(answer.body.substr(0, std::min(answer.body.find('\n'), kShown)));
}

/// Of a token server's answer; "" where it gives none that a header can hold.
std::string token_of(const Json& document) {
    std::string token = member_text(document, "token");
    token = token.empty() ? member_text(document, "access_token") : token;
    const bool is_sound = std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
    return is_sound ? token : std::string();
}

/// What to answer, of however many challenges in however many headers.
Challenge challenge_of(const HttpResponse& answer) {
    std::string all;
    for (const HttpHeader& header : answer.headers) {
        if (header.name == "www-authenticate") {
            all += (all.empty() ? "" : ", ") + header.value;
        }
    }
    return choose_challenge(read_challenges(all));
}

/// Seconds, more than the margin.
std::int64_t lifetime_of(const Json& document) {
    constexpr std::int64_t kLongest = 86400;
    const auto found = document.find("expires_in");
    const std::int64_t seconds = found != document.end() && found->is_number_integer()
                                     ? found->get<std::int64_t>()
                                     : kShortest;
    return std::clamp<std::int64_t>(seconds, kMargin + 1, kLongest);
}

} // namespace

bool is_passing(int status) {
    constexpr int kFailures[] = {kTooMany, 500, 502, 503, 504};
    return contains(kFailures, status);
}

Connection::Connection(const HttpClient& client,
                       Access access,
                       const Environment& environment,
                       const Reference& reference,
                       const std::string& actions)
    : client_(client), access_(std::move(access)), environment_(environment), reference_(reference),
      is_library_(reference.scheme == kLibraryScheme) {
    add_scope(reference.repository, actions);
    first_scope_ = scopes_;
}

void Connection::show_token(Login login) {
    scheme_ = Scheme::kBearer;
    token_ = {login.identity_token.empty() ? login.password : login.identity_token,
              std::numeric_limits<std::int64_t>::max()};
    login_ = std::move(login);
    has_login_ = true;
}

void Connection::forget_scopes() {
    scopes_ = first_scope_;
    token_ = {};
}

void Connection::add_scope(const std::string& repository, const std::string& actions) {
    const std::string scope = "repository:" + repository + ":" + actions;
    if (!repository.empty() && scopes_.find(scope) == std::string::npos) {
        scopes_ += (scopes_.empty() ? "" : " ") + scope;
        token_ = {};
    }
}

std::string Connection::url(const std::string& path) const {
    return (access_.is_plain ? "http://" : "https://") + reference_.host + path;
}

std::string Connection::repository_url(const std::string& path) const {
    return url("/v2/" + reference_.repository + "/" + path);
}

Result<void> Connection::load_login() {
    if (!has_login_) {
        login_ = access_.login;
        if (!login_) {
            CYBELE_TRY(
                login_,
                find_login(reference_.host, reference_.repository, access_.authfile, environment_));
        }
        has_login_ = true;
    }
    return {};
}

/// A registry names its token server, and a login is kept for hosts: one of another origin or
/// domain is shown only what is kept for that server itself, or what the user allowed it.
Result<void> Connection::load_token_login() {
    const std::string realm = challenge_.get("realm");
    token_login_ = login_;
    if (is_of_registry(realm, url("")) || kept_host(realm) == access_.token_server) {
        return {};
    }
    if (access_.login) {
        return fail(withheld()); // it is to be checked, which no other one can do
    }
    CYBELE_TRY(token_login_, find_kept_login(kept_host(realm), access_.authfile, environment_));
    return {};
}

/// Only the registry itself may ask for its login, not a host that it sends to.
Result<void> Connection::check_origin(const HttpResponse& answer) const {
    if (answer.url.empty() || is_same_origin(answer.url, url(""))) {
        return {};
    }
    const std::string other = printable(host_name(answer.url));
    return fail(
        ErrorCode::kEnvironment,
        problem("registry-other-login",
                printable(reference_.host) + " sends to " + other + ", which asks for a login"),
        "a login is sent only to the registry that it is stored for",
        "inform the registry's administrator, or name the image at " + other);
}

HttpRequest Connection::token_request() const {
    HttpRequest request;
    request.access.ca_file = access_.ca_file;
    request.access.allows_plain = access_.is_plain;
    request.tells_failure = true;
    request.url = challenge_.get("realm");
    const std::string service = challenge_.get("service");
    if (token_login_ && !token_login_->identity_token.empty()) {
        request.method = "POST";
        request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
        request.limits.redirects = 0; // the body is a secret
        request.body =
            fmt::format("grant_type=refresh_token&service={}&scope={}&client_id=cybelectl"
                        "&refresh_token={}",
                        percent_encoded(service),
                        percent_encoded(scopes_),
                        percent_encoded(token_login_->identity_token));
        return request;
    }
    if (!service.empty()) {
        request.url = with_parameter(std::move(request.url), "service", service);
    }
    for (std::string_view rest = scopes_; !rest.empty();) {
        const std::size_t blank = std::min(rest.find(' '), rest.size());
        request.url = with_parameter(std::move(request.url), "scope", rest.substr(0, blank));
        rest = rest.substr(std::min(blank + 1, rest.size()));
    }
    if (token_login_) {
        request.credentials = {
            {"Authorization",
             "Basic " + base64(token_login_->user + ":" + token_login_->password)}};
    }
    return request;
}

Result<void> Connection::fetch_token() {
    const std::string what = "the token server of " + printable(reference_.host);
    const HttpRequest request = token_request();
    for (unsigned attempt = 1;; ++attempt) {
        CYBELE_TRY(const HttpResponse answer, client_.send(request));
        const bool may_improve =
            answer.failure ? answer.is_passing : registry::is_passing(answer.status);
        if (may_improve && wait_for(attempt, answer, what)) {
            continue;
        }
        if (answer.failure) {
            return fail(*answer.failure);
        }
        if (answer.status == kUnauthorized || answer.status == kForbidden) {
            return fail(denied(answer));
        }
        const Json document = parse_json<Json>(answer.body);
        token_.value = answer.status == 200 ? token_of(document) : "";
        if (token_.value.empty()) {
            return fail(refusal(answer, what + " gives no token"));
        }
        token_.until = access_.clock() + lifetime_of(document) - kMargin;
        return {};
    }
}

Result<void> Connection::find_out(const Challenge& challenge) {
    CYBELE_CHECK(load_login());
    challenge_ = challenge;
    if (challenge.scheme == "bearer") {
        const std::string realm = challenge.get("realm");
        const bool is_allowed =
            realm.starts_with("https://") || (access_.is_plain && realm.starts_with("http://"));
        if (!is_allowed) {
            return fail(
                ErrorCode::kEnvironment,
                problem("registry-token-not-https",
                        printable(reference_.host) + " asks for a token of " + printable(realm)),
                "a password is sent over https: only",
                "ask the registry's administrator, or allow http: by " +
                    access_.option_words.plain_http);
        }
        scheme_ = Scheme::kBearer;
        CYBELE_CHECK(load_token_login());
        // What the registry itself asks for, as of a mount.
        const std::string asked = challenge.get("scope");
        if (!asked.empty() && asked.find(scopes_) != std::string::npos) {
            scopes_ = asked;
        }
        return fetch_token();
    }
    scheme_ = Scheme::kNone;
    if (challenge.scheme == "basic" && login_) {
        scheme_ = Scheme::kBasic;
        basic_ = "Basic " + base64(login_->user + ":" + login_->password);
    }
    return {};
}

void Connection::authorize(HttpRequest& request) const {
    if (origin_of(request.url) != origin_of(url(""))) {
        return; // an upload that goes to another host carries its own rights in its address
    }
    if (scheme_ == Scheme::kBasic) {
        request.credentials.push_back({"Authorization", basic_});
    } else if (scheme_ == Scheme::kBearer && !token_.value.empty()) {
        request.credentials.push_back({"Authorization", "Bearer " + token_.value});
    }
}

Result<void> Connection::renew() {
    if (scheme_ == Scheme::kBearer && token_.until <= access_.clock()) {
        return fetch_token();
    }
    return {};
}

bool Connection::wait_for(unsigned attempt, const HttpResponse& answer, const std::string& what) {
    constexpr std::chrono::milliseconds kFirst{250};
    constexpr std::int64_t kLongest = 60;
    if (attempt >= access_.attempts) {
        return false;
    }
    std::chrono::milliseconds pause = kFirst * (1U << (attempt - 1));
    if (const auto seconds = number_of(answer.header("retry-after"))) {
        pause = std::chrono::seconds(std::clamp<std::int64_t>(*seconds, 0, kLongest));
    }
    if (access_.say) {
        const std::string because = answer.failure ? answer.failure->faults().front().because
                                                   : "it answers " + std::to_string(answer.status);
        access_.say(fmt::format("{}: {}; once more in {:.1f} s",
                                what,
                                because,
                                static_cast<double>(pause.count()) / 1000));
    }
    access_.wait(pause);
    return true;
}

Result<HttpResponse> Connection::send(HttpRequest request, Retry retry) {
    const std::string what =
        "asking " + printable(reference_.host) + " for " + printable(reference_.repository);
    return send_named(std::move(request), retry).map_error(during(what));
}

Result<HttpResponse> Connection::send_named(HttpRequest request, Retry retry) {
    const bool is_once = retry == Retry::kNever;
    request.access.ca_file = access_.ca_file;
    request.access.allows_plain = access_.is_plain;
    request.tells_failure = true;
    const auto credentials = request.credentials;
    unsigned refused = 0;
    for (unsigned attempt = 1;;) {
        CYBELE_CHECK(renew());
        request.credentials = credentials;
        authorize(request);
        CYBELE_TRY(HttpResponse answer, client_.send(request));
        if (turn_plain(answer, request)) {
            continue;
        }
        const bool may_improve =
            answer.failure ? answer.is_passing : registry::is_passing(answer.status);
        if (may_improve && !is_once && wait_for(attempt, answer, printable(reference_.host))) {
            ++attempt;
            continue;
        }
        if (answer.failure && !is_once) {
            return fail(told(*answer.failure));
        }
        if (answer.status != kUnauthorized || answer.failure) {
            return answer;
        }
        // Once because nothing was shown, once more because a token had ended; then it is meant.
        constexpr unsigned kEnough = 2;
        const Challenge challenge = challenge_of(answer);
        if (challenge.get("error") == "insufficient_scope" || refused == kEnough ||
            scheme_ == Scheme::kBasic || is_library_) {
            return fail(denied(answer));
        }
        ++refused;
        CYBELE_CHECK(check_origin(answer));
        CYBELE_CHECK(find_out(challenge));
        if (scheme_ == Scheme::kNone) {
            return fail(denied(answer));
        }
    }
}

/// A server that speaks http: answers to https: with something that TLS cannot read.
bool Connection::speaks_plain(const Error& failure) const {
    return !access_.is_plain && failure.faults().front().detail == kNotTls;
}

/// Of a server that does not speak https:, nothing was sent yet, and all goes by http: from now on
/// where that is allowed.
bool Connection::turn_plain(const HttpResponse& answer, HttpRequest& request) {
    const std::string secure = url("");
    if (!answer.failure || !speaks_plain(*answer.failure) || !access_.may_be_plain ||
        !is_private_host(reference_.host) || !is_same_origin(request.url, secure)) {
        return false;
    }
    access_.is_plain = true;
    request.url.replace(0, secure.size(), url(""));
    request.access.allows_plain = true;
    return true;
}

Error Connection::told(const Error& failure) const {
    if (speaks_plain(failure)) {
        return {ErrorCode::kEnvironment,
                problem("registry-without-https", failure.message())
                    .about(failure.faults().front().subject),
                "it does not speak https: it answers by plain HTTP, or is not a registry",
                "add " + access_.option_words.plain_http +
                    " if you trust the network between, or correct the port"};
    }
    Fault fault = failure.faults().front();
    if (fault.id == "server-untrusted") {
        fault.help = "name the certificates of its authority: " + access_.option_words.ca_file;
    }
    return Error(std::move(fault));
}

/// The token server is not given the registry's login.
Error Connection::withheld() const {
    const std::string host = printable(reference_.host);
    const std::string server = printable(kept_host(challenge_.get("realm")));
    const std::string what =
        reference_.repository.empty() ? host : host + "/" + printable(reference_.repository);
    return {ErrorCode::kEnvironment,
            problem("registry-token-server", host + " requires a login for " + what),
            fmt::format("its token server {} is of another origin, and is not given the login of "
                        "{}",
                        server,
                        host),
            fmt::format("if that server is right, log in for both: cybelectl image login {} "
                        "--token-server {} -u USER",
                        host,
                        server)};
}

Error Connection::denied(const HttpResponse& answer) const {
    const std::string host = printable(reference_.host);
    const std::string what =
        reference_.repository.empty() ? host : host + "/" + printable(reference_.repository);
    if (is_library_) {
        return {ErrorCode::kEnvironment,
                problem("library-not-allowed", host + " does not allow " + what),
                login_ ? "it does not accept the token of " + printable(login_->origin)
                       : "no token for it was found",
                "put its token into $CYBELE_LIBRARY_TOKEN, or into a registry credentials file: "
                "--authfile FILE"};
    }
    if (scheme_ == Scheme::kBearer && login_ && !token_login_) {
        return withheld();
    }
    const Challenge challenge = challenge_of(answer);
    if (scheme_ == Scheme::kNone && login_ && challenge.scheme != "basic") {
        return {ErrorCode::kEnvironment,
                problem("registry-login-unsupported",
                        host + " asks for a login in a way that is not supported"),
                challenge.scheme.empty() ? "its answer names none (WWW-Authenticate)"
                                         : "it offers `" + printable(challenge.scheme) +
                                               "`; a login is sent by Basic or Bearer",
                "ask the registry's administrator for a login with a password or a token"};
    }
    if (!login_) {
        return {ErrorCode::kEnvironment,
                problem("registry-login-missing", host + " requires a login for " + what)
                    .about(url("")),
                "no login for it was found",
                "log in: cybelectl image login " + host};
    }
    if (challenge.get("error") == "insufficient_scope" || answer.status == kForbidden ||
        (scheme_ == Scheme::kBearer && !token_.value.empty())) {
        return {ErrorCode::kEnvironment,
                problem("registry-not-allowed", "not allowed by " + host + ": " + scopes_),
                fmt::format("the login '{}' of {} does not have this right",
                            printable(login_->user),
                            printable(login_->origin)),
                "ask the owner for it, or log in as another user: cybelectl image login " + host};
    }
    return {ErrorCode::kEnvironment,
            problem("registry-login-refused",
                    host + " does not accept the login '" + printable(login_->user) + "'")
                .about(url("")),
            "it was found in " + printable(login_->origin) + "; " + reason_of(answer),
            "log in again: cybelectl image login " + host};
}

Error Connection::refusal(const HttpResponse& answer, const std::string& what) const {
    if (answer.failure) {
        return told(*answer.failure);
    }
    if (answer.status == kUnauthorized || answer.status == kForbidden) {
        return denied(answer);
    }
    const std::string reason = reason_of(answer);
    const bool is_missing = answer.status == kHttpNotFound;
    return {is_missing ? ErrorCode::kInput : ErrorCode::kEnvironment,
            problem(is_missing ? "registry-name-unknown" : "registry-refused",
                    what,
                    reason.substr(0, reason.find(' '))) // the registry's code
                .about(repository_url("manifests/" + reference_.version())),
            fmt::format("{} answers {}{}{}",
                        printable(reference_.host),
                        answer.status,
                        reason.empty() ? "" : ": ",
                        reason),
            is_missing ? "check the name; `cybelectl image tags oras://HOST/NAME` lists tags"
                       : "try again later, or ask the registry's administrator"};
}

} // namespace cybele::registry
