// SPDX-License-Identifier: Apache-2.0
#include "bridge/nodes/collect.hpp"

#include "bridge/nodes/collect_pod.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/http.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

namespace fs = std::filesystem;

/// What a report says of a failure, by its id.
struct ReasonRow {
    std::string_view id;
    std::string_view reason;
};
constexpr ReasonRow kReasons[] = {{"collect-results-missing", "ResultsMissing"},
                                  {"collect-results-ambiguous", "ResultsAmbiguous"}};

std::string_view reason_of(const Fault& fault) {
    const auto* const row = std::ranges::find(kReasons, fault.id, &ReasonRow::id);
    return row == std::end(kReasons) ? "CopyFailed" : row->reason;
}

std::string query_encoded(std::string_view text) {
    std::string encoded;
    for (const char letter : text) {
        const bool is_plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                              std::string_view("-._~/").find(letter) != std::string_view::npos;
        encoded += is_plain ? std::string(1, letter)
                            : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    }
    return encoded;
}

tl::unexpected<Error> collect_error(const char* name, std::string what, std::string because) {
    return fail(ErrorCode::kEnvironment,
                problem(name, std::move(what)),
                std::move(because),
                "see the log of the bridge; the pod is made again when it is removed");
}

/// The text of a file that an option names; a failure says which option it is.
Result<std::string> text_of_option(const char* option, const char* what, const fs::path& file) {
    auto text = read_file(file);
    if (text) {
        return text;
    }
    const Fault& fault = text.error().faults().front();
    return fail(
        ErrorCode::kInput,
        problem(
            "collect-file-unreadable",
            fmt::format("cannot read the {} of {}, {}", what, option, printable(file.native()))),
        fault.because.empty() ? fault.message : fault.because,
        fmt::format("name an existing file with {}; in a collector pod it is mounted below "
                    "/run/cybelectl",
                    option));
}

class Collection {
public:
    explicit Collection(const CollectRequest& request)
        : request_(request), client_(HttpClient::find(request.environment, request.program)) {}

    Result<std::vector<OfferedFile>> run() {
        CYBELE_TRY(const std::string token, text_of_option("--token", "token", request_.token));
        CYBELE_CHECK(text_of_option("--certificate", "certificate", request_.certificate));
        token_ = text::trimmed(token);
        HttpRequest list = asking("list");
        list.limits.answer_size = kLongestList;
        list.limits.exchange = std::chrono::hours(1); // digests are made meanwhile
        list.limits.stall = std::chrono::seconds(0);
        CYBELE_TRY(const HttpResponse response, client_.send(list));
        CYBELE_CHECK(expect(response));
        auto files = read_offer(response.body);
        if (!files) {
            return collect_error("collect-list-invalid",
                                 "the list of results is not complete",
                                 "the bridge was interrupted while it answered");
        }
        if (const std::string name = keep_each_once(*files); !name.empty()) {
            return fail(ErrorCode::kInput,
                        problem("collect-results-ambiguous",
                                "two different files are called " + printable(name)),
                        "each file is copied under its own name, without the folder before it",
                        "name a folder that contains both as `spec.results.from` of the object");
        }
        for (const OfferedFile& file : *files) {
            CYBELE_CHECK(bring(file));
        }
        return std::move(*files);
    }

private:
    static constexpr std::uint64_t kLongestList = std::uint64_t{64} << 20U;

    [[nodiscard]] HttpRequest asking(const std::string& what) const {
        HttpRequest request;
        request.url = request_.from + "/results/" + request_.place + "/" + what;
        request.credentials = {{"Authorization", "Bearer " + token_}};
        request.access.ca_file = request_.certificate;
        request.limits.redirects = 0;
        return request;
    }

    static Result<void> expect(const HttpResponse& response) {
        constexpr int kGood = 200;
        constexpr int kNotOffered = 404;
        if (response.status == kGood) {
            return {};
        }
        if (response.status == kNotOffered) {
            return fail(ErrorCode::kInput,
                        problem("collect-results-missing",
                                printable(std::string(text::trimmed(response.body)))),
                        "the bridge has no such results",
                        "look at `spec.results.from` of the object");
        }
        return collect_error("collect-refused",
                             fmt::format("the bridge answers with HTTP status {}", response.status),
                             printable(std::string(text::trimmed(response.body))));
    }

    Result<void> bring(const OfferedFile& file) {
        const fs::path target = request_.target / file.name;
        std::error_code error;
        if (fs::is_regular_file(target, error)) {
            const auto digest = sha256_file(target);
            if (digest && hex(*digest) == file.sha256) {
                return {};
            }
        }
        fs::create_directories(target.parent_path(), error);
        if (error) {
            return fail(system_error("cannot create " + printable(target.parent_path().native()),
                                     error.value()));
        }
        const fs::path part = target.native() + ".part";
        HttpRequest request = asking("file?name=" + query_encoded(file.name));
        request.output = HttpOutput{.path = part, .is_hashed = true};
        request.limits.exchange = std::chrono::milliseconds(0);
        request.limits.answer_size = file.size;
        CYBELE_TRY(const HttpResponse response, client_.send(request));
        CYBELE_CHECK(expect(response));
        if (response.sha256 != file.sha256) {
            return collect_error("collect-digest-wrong",
                                 printable(file.name) + " did not arrive as it was offered",
                                 "the file changed, or the transfer was interrupted");
        }
        fs::rename(part, target, error);
        return error ? Result<void>(fail(system_error("cannot rename " + printable(part.native()),
                                                      error.value())))
                     : Result<void>();
    }

    const CollectRequest& request_;
    HttpClient client_;
    std::string token_;
};

/// Not by a rename: the report of a pod is a file that was mounted.
Result<void> write_report(const fs::path& path, const std::string& report) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << report;
    file.close();
    return file ? Result<void>()
                : Result<void>(
                      fail(system_error("cannot write " + printable(path.native()), errno)));
}

} // namespace

Result<std::size_t> collect_results(const CollectRequest& request) {
    const auto files = Collection(request).run();
    std::string report;
    if (files) {
        report = collector_report(*files);
    } else {
        const Fault& fault = files.error().faults().front();
        report = collector_failure(reason_of(fault), fault.message + ": " + fault.because);
    }
    if (!request.report.empty()) {
        CYBELE_CHECK(write_report(request.report, report));
    }
    if (!files) {
        return tl::unexpected(files.error());
    }
    return files->size();
}

} // namespace cybele::bridge
