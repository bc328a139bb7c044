// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/trust.hpp"

#include "images/certificates/blocks.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

/// Distributions ship some 150 roots; lists of big authorities have megabytes.
constexpr std::size_t kMaximumInFile = 4096;
constexpr std::size_t kMaximumTrustSize = std::size_t{64} << 20U;

struct RevocationWord {
    const char* word;
    Revocation revocation;
};
constexpr RevocationWord kWords[] = {
    {"none", Revocation::kNone}, {"soft", Revocation::kSoft}, {"hard", Revocation::kHard}};

Result<CertificateBlocks> read_blocks(const fs::path& path) {
    CYBELE_TRY(
        const std::string bytes,
        read_file(path, kMaximumTrustSize).map_error(during("reading the trusted certificates")));
    return parse_blocks(bytes, path, kMaximumInFile);
}

Result<void> read_certificates(const std::vector<fs::path>& paths,
                               std::vector<CertificateHandle>& into) {
    for (const fs::path& path : paths) {
        CYBELE_TRY(CertificateBlocks blocks, read_blocks(path));
        if (blocks.certificates.empty()) {
            return fail(ErrorCode::kInput,
                        problem("certificate-missing",
                                fmt::format("{} holds no certificate", printable(path.native()))),
                        blocks.has_key ? "it holds a key" : "no block in it is a certificate",
                        "give a file with certificates");
        }
        std::move(blocks.certificates.begin(), blocks.certificates.end(), std::back_inserter(into));
    }
    return {};
}

Result<void> read_lists(const std::vector<fs::path>& paths,
                        std::vector<RevocationListHandle>& into) {
    for (const fs::path& path : paths) {
        CYBELE_TRY(CertificateBlocks blocks, read_blocks(path));
        if (blocks.lists.empty()) {
            return fail(
                ErrorCode::kInput,
                problem("revocation-list-missing",
                        fmt::format("{} holds no revocation list", printable(path.native()))),
                blocks.certificates.empty() ? "no block in it is a list" : "it holds certificates",
                "give the list of the certificate's issuer, as PEM or DER");
        }
        std::move(blocks.lists.begin(), blocks.lists.end(), std::back_inserter(into));
    }
    return {};
}

} // namespace

Result<Revocation> revocation_of(const std::string& word) {
    const auto* const known = std::ranges::find(kWords, word, &RevocationWord::word);
    if (known == std::end(kWords)) {
        return fail(
            ErrorCode::kUsage,
            problem("revocation-mode-unknown",
                    fmt::format("unknown way to look into revocation: {}", printable(word))),
            {},
            "choose none, soft or hard");
    }
    return known->revocation;
}

Result<TrustStore> TrustStore::load(const CertificateTrust& trust) {
    TrustStore store;
    std::vector<fs::path> roots = trust.roots;
    if (roots.empty()) {
        if (trust.system_pool.empty()) {
            return fail(ErrorCode::kEnvironment,
                        problem("no-root-certificates", "no root certificates to trust"),
                        "none are given, and this system has no pool of them",
                        "give the root: --certificate-roots FILE, or install ca-certificates");
        }
        roots = {trust.system_pool};
        store.is_system_pool_ = true;
    }
    CYBELE_CHECK(read_certificates(roots, store.roots_));
    CYBELE_CHECK(read_certificates(trust.intermediates, store.intermediates_));
    CYBELE_CHECK(read_certificates(trust.timestamp_roots, store.timestamp_roots_));
    CYBELE_CHECK(read_lists(trust.crls, store.crls_));
    store.revocation_ = trust.revocation;
    store.network_ = trust.network;
    return store;
}

} // namespace cybele::images
