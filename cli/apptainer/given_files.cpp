// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/given_files.hpp"

#include "cli/apptainer/build_target.hpp"
#include "images/sif/start.hpp"
#include "runtime/containers/extended_file.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <array>
#include <filesystem>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 17> kTransports = {"docker",
                                                          "docker-archive",
                                                          "docker-daemon",
                                                          "oci",
                                                          "oci-archive",
                                                          "oras",
                                                          "library",
                                                          "shub",
                                                          "http",
                                                          "https",
                                                          "store",
                                                          "file",
                                                          "localimage",
                                                          "arch",
                                                          "yum",
                                                          "debootstrap",
                                                          "busybox"};

bool is_missing(const std::string& file) {
    std::error_code failed;
    return !file.empty() && file != "-" && !fs::exists(fs::symlink_status(file, failed)) &&
           (!failed || failed == std::errc::no_such_file_or_directory);
}

bool has_transport(const std::string& source) {
    const std::size_t colon = source.find(':');
    return colon != std::string::npos && contains(kTransports, source.substr(0, colon));
}

/// A file that is neither a SIF nor a file system.
bool is_no_image(const std::string& file) {
    std::error_code failed;
    if (!fs::is_regular_file(file, failed)) {
        return false;
    }
    const auto opened = open_for_reading(file);
    return opened && images::image_start(opened->get()).kind == images::ImageStart::Kind::kOther &&
           !images::image_start(opened->get()).is_squashfs() &&
           !runtime::is_extended(opened->get(), 0);
}

std::string not_there(const std::string& file) {
    return "open " + printable(file) + ": no such file or directory";
}

/// What Apptainer says of a file without a key of that use; empty where it may have one.
std::string why_no_key(const std::string& file, bool is_private) {
    constexpr std::size_t kMost = 1U << 16U;
    constexpr std::string_view kBegin = "-----BEGIN ";
    const auto text = read_file(file, kMost);
    if (!text) {
        return {}; // who opens it says why
    }
    const std::size_t begin = text->find(kBegin);
    if (begin == std::string::npos) {
        return "PEM decoding failed";
    }
    const std::size_t at = begin + kBegin.size();
    const std::string type = printable(text->substr(at, text->find("-----", at) - at));
    const bool has_private = type.find("PRIVATE") != std::string::npos;
    if (is_private == has_private) {
        return {};
    }
    return is_private ? "unknown private key PEM file type: " + type
                      : "unknown Public key PEM file type: " + type +
                            ". Are you passing the correct public key?";
}

} // namespace

Result<void> check_given_files(const Session& session, const OtherCall& call) {
    const std::string_view verb = call.verb->verb;
    const std::string last = call.words.empty() ? std::string() : call.words.back();
    if (verb == "build") {
        CYBELE_CHECK(check_build_target(call));
    }
    if (verb == "build" && !has_transport(last) && is_missing(last)) {
        return fail(ErrorCode::kInput,
                    problem("build-source-missing",
                            "Unable to build from " + printable(last) + ": unable to open file " +
                                printable(last) + ": " + not_there(last)));
    }
    if (verb == "inspect" && !has_transport(last) && is_missing(last)) {
        std::error_code failed;
        return fail(ErrorCode::kInput,
                    problem("inspected-image-missing",
                            "Failed to open image " + printable(last) +
                                ": failed to retrieve path for " + printable(last) + ": lstat " +
                                printable(fs::absolute(last, failed).native()) +
                                ": no such file or directory"));
    }
    if (verb == "inspect" && !has_transport(last) && is_no_image(last)) {
        return fail(
            ErrorCode::kInput,
            problem("inspected-image-unknown",
                    "Failed to open image " + printable(last) + ": image format not recognized"));
    }
    const bool is_read = verb == "sif list" || verb == "sif header" || verb == "sif dump" ||
                         verb == "sif del" || verb == "sif setprim";
    if (is_read && !has_transport(last) && is_missing(last)) {
        return fail(ErrorCode::kUsage, problem("apptainer-command-line", not_there(last)));
    }
    const std::string certificate = call.value("--certificate");
    if (verb == "verify" && is_missing(certificate)) {
        session.inform_as_apptainer("Verifying image with key material from certificate '" +
                                    printable(certificate) + "'");
        return fail(ErrorCode::kInput,
                    problem("verifying-certificate-missing",
                            "Failed to load certificate: " + not_there(certificate)));
    }
    const std::string key = call.value("--key");
    const bool has_key = !key.empty() && (verb == "sign" || verb == "verify");
    const std::string why = !has_key          ? ""
                            : is_missing(key) ? not_there(key)
                                              : why_no_key(key, verb == "sign");
    if (!why.empty()) {
        session.inform_as_apptainer((verb == "sign" ? "Signing" : "Verifying") +
                                    std::string(" image with key material from '") +
                                    printable(key) + "'");
        return fail(ErrorCode::kInput,
                    problem("signing-key-missing", "Failed to load key material: " + why));
    }
    return {};
}

} // namespace cybele::cli
