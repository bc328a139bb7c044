// SPDX-License-Identifier: Apache-2.0
#include "cli/image/pull_error.hpp"

#include "support/quote.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

struct ImageAddress {
    std::string scheme;
    std::string host;
    std::string repository;
    std::string tag;
};

ImageAddress read_image_address(const std::string& uri) {
    ImageAddress address;
    const std::size_t begin = uri.find("://");
    address.scheme = uri.substr(0, begin);
    const std::string rest = begin == std::string::npos ? std::string() : uri.substr(begin + 3);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    address.host = rest.substr(0, slash);
    std::string name = slash < rest.size() ? rest.substr(slash + 1) : std::string();
    const std::size_t colon = std::min(name.rfind(':'), name.size());
    address.tag = colon < name.size() ? name.substr(colon + 1) : "latest";
    address.repository = name.substr(0, colon);
    return address;
}

/// What Go's HTTP client says of the connection; empty where it is something else.
std::string why_unreachable(const Fault& fault, const std::string& host) {
    if (fault.id == "registry-without-https") {
        return "http: server gave HTTP response to HTTPS client";
    }
    const bool is_refused =
        fault.because.find("Couldn't connect to server") != std::string::npos; // curl's words
    return is_refused ? "dial tcp " + host + ": connect: connection refused" : std::string();
}

/// Behind "failed to get checksum for URI: ".
std::string why_of_registry(const Fault& fault, const ImageAddress& address) {
    const std::string place = address.host + "/" + address.repository;
    const bool is_docker = address.scheme == "docker";
    if (fault.because.find("MANIFEST_UNKNOWN") != std::string::npos) { // the registry's word
        return is_docker
                   ? fmt::format("reading manifest {} in {}: manifest unknown", address.tag, place)
                   : fmt::format("GET {}://{}/v2/{}/manifests/{}: MANIFEST_UNKNOWN: manifest "
                                 "unknown; map[Tag:{}]",
                                 fault.message.find("https://") == std::string::npos ? "http"
                                                                                     : "https",
                                 address.host,
                                 address.repository,
                                 address.tag,
                                 address.tag);
    }
    if (fault.id == "sif-artifact-type") {
        return "invalid layer mediatype: " + fault.subject;
    }
    const std::string why = why_unreachable(fault, address.host);
    return why.empty() || !is_docker
               ? std::string()
               : fmt::format("pinging container registry {}: Get \"https://{}/v2/\": {}",
                             address.host,
                             address.host,
                             why);
}

std::string pull_words_of(const std::string& uri, bool is_start, const Fault& fault) {
    const ImageAddress address = read_image_address(uri);
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
        const std::string why = why_unreachable(fault, address.host);
        return why.empty() ? why : "Error making http request: Head \"" + uri + "\": " + why;
    }
    if (address.scheme != "docker" && address.scheme != "oras") {
        return {};
    }
    const std::string why = why_of_registry(fault, address);
    return why.empty() ? why : handling + "failed to get checksum for " + uri + ": " + why;
}

} // namespace

Error reference_pull_error(const std::string& uri, bool is_start, const Error& error) {
    const std::string words = pull_words_of(uri, is_start, error.faults().front());
    return words.empty() ? error
                         : Error(error.code(), problem("image-not-pulled", printable(words)));
}

} // namespace cybele::cli
