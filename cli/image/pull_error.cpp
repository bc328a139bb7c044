// SPDX-License-Identifier: Apache-2.0
#include "cli/image/pull_error.hpp"

#include "cli/common/apptainer_errors.hpp"
#include "support/characters.hpp"
#include "support/http_failure.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

struct ImageAddress {
    std::string scheme;
    std::string host;
    std::string repository;
    std::string tag;
    std::string rest; ///< behind the scheme
};

ImageAddress read_image_address(const std::string& uri) {
    ImageAddress address;
    const std::size_t begin = uri.find("://");
    address.scheme = uri.substr(0, begin);
    const std::string rest = begin == std::string::npos ? std::string() : uri.substr(begin + 3);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    address.rest = rest;
    address.host = rest.substr(0, slash);
    std::string name = slash < rest.size() ? rest.substr(slash + 1) : std::string();
    const std::size_t at = name.find('@');
    const std::size_t end = at != std::string::npos ? at : std::min(name.rfind(':'), name.size());
    address.tag = end < name.size() ? name.substr(end + 1) : "latest";
    address.repository = name.substr(0, end);
    return address;
}

/// The first one of the host.
std::string name_server() {
    std::ifstream in("/etc/resolv.conf");
    for (std::string word; in >> word;) {
        if (word == "nameserver" && in >> word) {
            return word;
        }
    }
    return "127.0.0.1";
}

/// What Go's HTTP client says of the connection; empty where it is something else.
std::string why_unreachable(const Fault& fault, const std::string& host) {
    if (fault.id == "registry-without-https") {
        return "http: server gave HTTP response to HTTPS client";
    }
    if (fault.detail == kNoSuchHost) {
        return "dial tcp: lookup " + host.substr(0, host.find(':')) + " on " + name_server() +
               ":53: no such host";
    }
    return fault.detail == kNotConnected ? "dial tcp " + host + ": connect: connection refused"
                                         : std::string();
}

/// Behind "failed to get checksum for URI: ".
std::string why_of_registry(const Fault& fault, const ImageAddress& address) {
    const std::string place = address.host + "/" + address.repository;
    const bool is_docker = address.scheme == "docker";
    if (fault.detail == "MANIFEST_UNKNOWN") { // the registry's code
        return is_docker
                   ? fmt::format("reading manifest {} in {}: manifest unknown", address.tag, place)
                   : fmt::format("GET {}: MANIFEST_UNKNOWN: manifest unknown; map[Tag:{}]",
                                 fault.subject,
                                 address.tag);
    }
    if (fault.id == "registry-login-missing" || fault.id == "registry-login-refused") {
        return is_docker ? fmt::format("reading manifest {} in {}: authentication required",
                                       address.tag,
                                       place)
                         : unauthorized_answer(fault, address.repository, address.tag);
    }
    if (fault.id == "reference-malformed" && is_docker) {
        const bool has_capital = std::ranges::any_of(address.repository, is_upper);
        return fmt::format("unable to parse image name docker://{}: invalid reference format{}",
                           address.rest,
                           has_capital ? ": repository name must be lowercase" : "");
    }
    if (fault.id == "sif-artifact-type") {
        return "invalid layer mediatype: " + fault.subject;
    }
    const std::string why = why_unreachable(fault, address.host);
    const bool is_plain = !fault.subject.starts_with("https://");
    if (why.empty()) {
        return {};
    }
    if (is_docker) {
        return fmt::format("pinging container registry {}: Get \"{}://{}/v2/\": {}",
                           address.host,
                           is_plain ? "http" : "https",
                           address.host,
                           why);
    }
    const std::string first = fmt::format("Get \"https://{}/v2/\": {}", address.host, why);
    return is_plain ? fmt::format("{}; Get \"http://{}/v2/\": {}", first, address.host, why)
                    : first;
}

std::string pull_words_of(const std::string& uri, PulledFor use, const Fault& fault) {
    const ImageAddress address = read_image_address(uri);
    const bool is_start = use == PulledFor::kStart;
    const std::string handling =
        is_start                     ? "Unable to handle " + uri + " uri: "
        : address.scheme == "docker" ? "While making image from oci registry: error fetching image "
                                       "to cache: "
        : address.scheme == "oras" ? "While pulling image from oci registry: error fetching image "
                                     "to cache: "
        : address.scheme == "shub" ? "While pulling shub image: error fetching image to cache: "
                                   : "";
    if (address.scheme == "shub") {
        return handling + "failed to get manifest for: " + uri +
               ": no response received from singularity hub";
    }
    if (address.scheme == "http" || address.scheme == "https") {
        if (fault.id == "pull-failed" && fault.detail == "404") {
            return "the requested image was not found";
        }
        const std::string why = why_unreachable(fault, address.host);
        return why.empty() ? why : "Error making http request: Head \"" + uri + "\": " + why;
    }
    if (address.scheme != "docker" && address.scheme != "oras") {
        return {};
    }
    if (fault.id == "output-folder-missing" && !is_start) {
        return fmt::format(
            "{}error copying image out of cache: could not open temporary file for copy: failed to "
            "create temporary file: open {}/tmp-copy-{}: no such file or directory",
            handling.substr(0, handling.find("error fetching")),
            printable(fault.subject),
            ::getpid());
    }
    const std::string why = why_of_registry(fault, address);
    return why.empty() ? why : handling + "failed to get checksum for " + uri + ": " + why;
}

} // namespace

Error apptainer_pull_error(const std::string& uri, PulledFor use, const Error& error) {
    const std::string words = pull_words_of(uri, use, error.faults().front());
    return words.empty() ? error
                         : Error(error.code(), problem("image-not-pulled", printable(words)));
}

} // namespace cybele::cli
