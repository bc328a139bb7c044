// SPDX-License-Identifier: Apache-2.0
#include "sif_sample.hpp"

#include <regex>
#include <sstream>

using namespace sample;

namespace {

/// A call of OpenSSL or of libsodium at the start of a statement, or one whose result is cast away.
const std::regex kCall(
    R"(^\s*(\(void\)\s*)?((EVP|BIO|PEM|BN|X509|ASN1|OBJ|OCSP|TS|CMS|RAND|HMAC|ERR|EC|ECDSA|RSA|DSA|OSSL|OPENSSL|sk|i2d|d2i|i2o|o2i|crypto)_\w+|PKCS\d+_\w+|sodium_\w+)\()");
/// Calls that give nothing back, or a length that is known before.
const std::regex kSilent(
    R"((\w+_free|\w+_free_all|\w+_clear_free|ERR_clear_error|BN_bn2bin|X509_ALGOR_get0|X509_VERIFY_PARAM_set_(time|auth_level)|OPENSSL_cleanse|sodium_memzero)\()");

bool is_end_of_statement(const std::string& line) {
    const std::size_t comment = line.find("//");
    const std::string code = line.substr(0, comment);
    const std::size_t last = code.find_last_not_of(" \t");
    return last == std::string::npos || std::string(";{}:").find(code[last]) != std::string::npos;
}

/// FILE:LINE of each call whose result nobody looks at.
std::vector<std::string> dropped_results(const std::string& text, const std::string& name) {
    std::vector<std::string> found;
    std::istringstream lines(text);
    std::string before;
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        if (std::regex_search(line, kCall) && !std::regex_search(line, kSilent) &&
            is_end_of_statement(before)) {
            found.push_back(name + ":" + std::to_string(number) + ":" + line);
        }
        before = line;
    }
    return found;
}

} // namespace

TEST_CASE("no result of the cryptographic libraries is dropped") {
    int files = 0;
    for (const char* const room : {"images", "support", "registry", "builder"}) {
        for (const auto& entry :
             fs::recursive_directory_iterator(fs::path(CYBELE_SOURCE_DIR) / room)) {
            const std::string extension = entry.path().extension();
            if (extension != ".cpp" && extension != ".hpp") {
                continue;
            }
            ++files;
            for (const std::string& call :
                 dropped_results(content(entry.path()), entry.path().native())) {
                CHECK_MESSAGE(false, call);
            }
        }
    }
    CHECK(files > 50);
}

TEST_CASE("a dropped result would be found") {
    const auto count = [](const char* text) { return dropped_results(text, "f").size(); };
    CHECK(count("    EVP_DigestUpdate(a, b, c);\n") == 1);
    CHECK(count("  x = 1;\n  (void)BIO_write(a, b, c);\n") == 1);
    CHECK(count("  if (ok) {\n    crypto_secretbox_easy(a);\n") == 1);
    CHECK(count("  const bool done =\n      EVP_DigestFinal_ex(a, b, c) == 1;\n") == 0);
    CHECK(count("  return f(a,\n           EVP_sha256());\n") == 0);
    CHECK(count("  ERR_clear_error();\n  EVP_PKEY_free(key);\n") == 0);
}
