// SPDX-License-Identifier: Apache-2.0
#include "cli/image/web_image.hpp"

#include "cli/common/progress.hpp"
#include "support/http.hpp"
#include "support/quote.hpp"

#include <chrono>

#include <fmt/format.h>

namespace cybele::cli {
namespace {

/// A request for the image of a web server, whose certificate may need other authorities.
Result<HttpRequest> web_request(const Session& session,
                                const AccessOptions& access,
                                const HttpClient& client,
                                const std::string& uri) {
    CYBELE_TRY(const auto transport, make_transport(session, access, client, ""));
    HttpRequest request;
    request.url = uri;
    request.access.ca_file = transport.access.ca_file;
    request.access.allows_plain = uri.starts_with("http:");
    return request;
}

} // namespace

Result<void> download_image(const Session& session,
                            const AccessOptions& access,
                            const std::string& uri,
                            const std::filesystem::path& file) {
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(HttpRequest request, web_request(session, access, client, uri));
    request.output = HttpOutput{.path = file};
    request.limits.exchange = std::chrono::milliseconds(0);
    request.limits.answer_size = std::uint64_t{1} << 40U;
    request.on_progress = progress(session, "pulling");
    CYBELE_TRY(const HttpResponse answer, client.send(request));
    if (answer.status == 200) {
        return {};
    }
    return fail(
        ErrorCode::kInput,
        problem("pull-failed", "cannot pull " + printable(uri), std::to_string(answer.status)),
        fmt::format("the server answers with status {}", answer.status),
        "check the address");
}

Result<std::string>
state_of_web_image(const Session& session, const AccessOptions& access, const std::string& uri) {
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(HttpRequest request, web_request(session, access, client, uri));
    request.method = "HEAD";
    CYBELE_TRY(const HttpResponse answer, client.send(request));
    const std::string tag(answer.header("etag"));
    const std::string changed(answer.header("last-modified"));
    if (answer.status != 200 || (tag.empty() && changed.empty())) {
        return std::string();
    }
    return tag + " " + changed + " " + std::string(answer.header("content-length"));
}

} // namespace cybele::cli
