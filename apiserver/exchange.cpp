// SPDX-License-Identifier: Apache-2.0
#include "apiserver/exchange.hpp"

#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

namespace cybele::apiserver {

namespace {

struct Remedy {
    int status;
    const char* help;
};
constexpr Remedy kRemedies[] = {
    {400, "check the version of the server and of the resource definitions (CRDs)"},
    {401, "renew the credentials: the token or certificate is not accepted"},
    {403, "grant the right to this account (RBAC), or use another account"},
    {404, "check the name and namespace, and that the resource definition (CRD) is installed"},
    {409, "read the object again and repeat the change"},
    {422, "read the object again and repeat the change"},
};
constexpr std::size_t kLongestQuote = 300;

std::string message_of(const std::string& body) {
    const nlohmann::json object = parse_json(body);
    if (object.is_object() && object.contains("message") && object["message"].is_string()) {
        return object["message"].get<std::string>();
    }
    return body;
}

} // namespace

Error refusal(const std::string& what, const Reply& reply) {
    if (reply.failure) {
        return Error(*reply.failure).with_context(what);
    }
    const std::string message =
        printable(text::trimmed(message_of(reply.body)).substr(0, kLongestQuote));
    std::string help = "try again later";
    for (const Remedy& remedy : kRemedies) {
        if (remedy.status == reply.status) {
            help = remedy.help;
        }
    }
    return Error(ErrorCode::kEnvironment,
                 problem("api-server-refused", "the API server refused a request"),
                 "it answered with status " + std::to_string(reply.status) +
                     (message.empty() ? std::string() : ": " + message),
                 help)
        .with_context(what);
}

} // namespace cybele::apiserver
