// SPDX-License-Identifier: Apache-2.0
#include "libexec/http_request.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace cybele::http {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kMethods[] = {"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"};

/// A token of RFC 9110 for the name, no control characters in the value: what else is there could
/// start a header of its own.
bool is_sound(const std::string& name, const std::string& value) {
    const auto is_token = [](unsigned char letter) {
        return letter > ' ' && letter < 0x7f &&
               std::string_view("\"(),/:;<=>?@[\\]{}").find(static_cast<char>(letter)) ==
                   std::string_view::npos;
    };
    const auto is_text = [](unsigned char letter) {
        return letter == '\t' || (letter >= ' ' && letter != 0x7f);
    };
    return !name.empty() && std::all_of(name.begin(), name.end(), is_token) &&
           std::all_of(value.begin(), value.end(), is_text);
}

void read_headers(const Json& object, const char* field, Headers& into) {
    for (const Json& entry : object.value(field, Json::array())) {
        into.emplace_back(entry.at(0).get<std::string>(), entry.at(1).get<std::string>());
    }
}

void read_fields(const Json& object, Request& request) {
    request.method = object.value("method", "GET");
    request.url = object.at("url").get<std::string>();
    read_headers(object, "headers", request.headers);
    read_headers(object, "credentials", request.credentials);
    request.body.file = object.value("body-file", "");
    request.body.offset = object.value("body-offset", std::uint64_t{0});
    if (object.contains("body-size")) {
        request.body.size = object.at("body-size").get<std::uint64_t>();
    }
    request.output.path = object.value("output", "");
    request.output.is_resumed = object.value("resume", false);
    request.output.is_hashed = object.value("hash", false);
    request.tells_progress = object.value("progress", false);
    if (object.contains("range")) {
        request.range = {object.at("range").at(0).get<std::uint64_t>(),
                         object.at("range").at(1).get<std::uint64_t>()};
    }
    request.access.ca_file = object.value("ca-file", "");
    request.access.unix_socket = object.value("unix-socket", "");
    request.limits.connect_ms = object.value("connect-limit-ms", std::int64_t{10'000});
    request.limits.exchange_ms = object.value("limit-ms", std::int64_t{60'000});
    request.limits.stall_s = object.value("stall-limit-s", std::int64_t{30});
    request.limits.answer_size = object.value("maximum-size", std::uint64_t{16} << 20U);
    request.limits.redirects = object.value("redirects", 0);
    request.access.allows_plain = object.value("allows-plain", false);
    request.session.id = object.value("id", std::uint64_t{0});
    request.session.is_stream = object.value("stream", false);
    request.session.is_compressed = object.value("compressed", false);
}

std::optional<Failure> check(const Request& request) {
    if (std::find(std::begin(kMethods), std::end(kMethods), request.method) == std::end(kMethods)) {
        return Failure{"request", "no such method"};
    }
    for (const Headers* const headers : {&request.headers, &request.credentials}) {
        for (const auto& [name, value] : *headers) {
            if (!is_sound(name, value)) {
                return Failure{"request", "a header has a character that does not belong there"};
            }
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<Failure> read_request(std::string_view text, Request& request) {
    try {
        const Json object = Json::parse(text);
        if (const auto other = object.value("version", std::string(CYBELE_VERSION));
            other != CYBELE_VERSION) {
            return Failure{"version",
                           "cybelectl-http is of version " CYBELE_VERSION ", cybelectl of " +
                               other};
        }
        read_fields(object, request);
        const auto body = decode_base64(object.value("body", ""));
        if (!body) {
            return Failure{"request", "its body is not base64"};
        }
        request.body.bytes = *body;
    } catch (const Json::exception&) {
        // What it said may quote a secret.
        return Failure{"request", "the request is not the JSON object that is expected"};
    }
    return check(request);
}

std::string write_answer(const Answer& answer) {
    Json object{{"format", 1}, {"version", CYBELE_VERSION}};
    if (answer.failure) {
        object["failure"] = {{"kind", answer.failure->kind}, {"message", answer.failure->message}};
    } else {
        object["status"] = answer.status;
        object["headers"] = Json::array();
        for (const auto& [name, value] : answer.headers) {
            object["headers"].push_back({name, value});
        }
        object["body"] = encode_base64(answer.body);
        object["size"] = answer.size;
        if (!answer.sha256.empty()) {
            object["sha256"] = answer.sha256;
        }
        object["url"] = answer.url;
    }
    return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string write_progress(std::uint64_t done, std::uint64_t total) {
    return Json{{"done", done}, {"total", total}}.dump() + "\n";
}

} // namespace cybele::http
