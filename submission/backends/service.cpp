// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/service.hpp"

#include "support/quote.hpp"

namespace cybele::submission {
namespace {

constexpr int kUnauthorized = 401;
constexpr std::uint64_t kMostAnswerBytes = std::uint64_t{256} << 20U; ///< all jobs of a big cluster

} // namespace

Result<ServiceAnswer> Service::send(const ServiceRequest& request) {
    CYBELE_TRY(const std::string token, token_.get());
    HttpRequest http;
    http.method = request.method;
    http.url = way_.address + request.path;
    http.credentials = headers_(token);
    http.headers.push_back({"Accept", "application/json"});
    if (!request.body.empty()) {
        http.headers.push_back({"Content-Type", "application/json"});
        http.body = request.body;
    }
    http.limits.answer_size = kMostAnswerBytes;
    http.limits.redirects = 0;
    http.access.allows_plain = true; // check_address() has accepted the address
    CYBELE_TRY(HttpResponse response,
               client_.send(http).map_error(during("asking " + printable(way_.address))));
    return ServiceAnswer{response.status, std::move(response.body)};
}

Result<ServiceAnswer> Service::ask(const ServiceRequest& request) {
    CYBELE_TRY(ServiceAnswer answer, send(request));
    const bool may_be_the_token =
        answer.status == kUnauthorized || (request.may_repeat && doubt_(answer));
    if (may_be_the_token && token_.renew()) {
        CYBELE_TRY(answer, send(request));
    }
    if (answer.status == kUnauthorized) {
        return fail(
            ErrorCode::kEnvironment,
            problem("token-refused", printable(way_.address) + " does not accept the token"),
            "it is of another user, has expired, or is of another cluster",
            "get a new one; submitted jobs continue meanwhile");
    }
    return answer;
}

} // namespace cybele::submission
