// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/blocks.hpp"

#include "images/certificates/handles.hpp"
#include "support/other_file.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/pkcs7.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

using Bytes = x509::Owner<PKCS7, PKCS7_free>;

bool add_certificate(std::string_view der, CertificateBlocks& blocks) {
    const unsigned char* at = x509::bytes_of(der);
    CertificateHandle certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())), X509_free);
    const bool is_whole = certificate != nullptr && at == x509::bytes_of(der) + der.size();
    if (is_whole) {
        blocks.certificates.push_back(std::move(certificate));
    }
    return is_whole;
}

/// With OpenSSL's own settings of trust behind it, which count.
bool add_trusted(std::string_view der, CertificateBlocks& blocks) {
    const unsigned char* at = x509::bytes_of(der);
    CertificateHandle certificate(d2i_X509_AUX(nullptr, &at, static_cast<long>(der.size())),
                                  X509_free);
    if (certificate == nullptr) {
        return false;
    }
    blocks.certificates.push_back(std::move(certificate));
    return true;
}

bool add_list(std::string_view der, CertificateBlocks& blocks) {
    const unsigned char* at = x509::bytes_of(der);
    RevocationListHandle list(d2i_X509_CRL(nullptr, &at, static_cast<long>(der.size())),
                              X509_CRL_free);
    const bool is_whole = list != nullptr && at == x509::bytes_of(der) + der.size();
    if (is_whole) {
        blocks.lists.push_back(std::move(list));
    }
    return is_whole;
}

bool add_bundle(std::string_view der, CertificateBlocks& blocks) {
    const unsigned char* at = x509::bytes_of(der);
    const Bytes bundle(d2i_PKCS7(nullptr, &at, static_cast<long>(der.size())));
    if (bundle == nullptr || !PKCS7_type_is_signed(bundle.get()) || bundle->d.sign == nullptr) {
        return false;
    }
    for (int index = 0; index < sk_X509_num(bundle->d.sign->cert); ++index) {
        blocks.certificates.push_back(x509::share(sk_X509_value(bundle->d.sign->cert, index)));
    }
    for (int index = 0; index < sk_X509_CRL_num(bundle->d.sign->crl); ++index) {
        X509_CRL* const list = sk_X509_CRL_value(bundle->d.sign->crl, index);
        if (X509_CRL_up_ref(list) != 1) {
            return false;
        }
        blocks.lists.emplace_back(list, X509_CRL_free);
    }
    return true;
}

struct Form {
    std::string_view label;
    bool (*add)(std::string_view der, CertificateBlocks& blocks);
};
constexpr Form kForms[] = {
    {"CERTIFICATE", add_certificate},
    {"X509 CERTIFICATE", add_certificate},
    {"TRUSTED CERTIFICATE", add_trusted},
    {"X509 CRL", add_list},
    {"PKCS7", add_bundle},
    {"PKCS #7 SIGNED DATA", add_bundle},
    {"CMS", add_bundle},
};

tl::unexpected<Error> unreadable_certificates(
    const fs::path& name,
    std::string because,
    std::string help = "copy the file again; it should be PEM, DER or PKCS #7") {
    ERR_clear_error();
    return fail(ErrorCode::kInput,
                problem("certificates-unreadable",
                        fmt::format("{} cannot be read as certificates", printable(name.native()))),
                std::move(because),
                std::move(help));
}

/// One PEM block as OpenSSL takes it apart.
struct PemBytes {
    x509::Owner<char, [](char* text) { OPENSSL_free(text); }> label;
    x509::Owner<char, [](char* text) { OPENSSL_free(text); }> header;
    x509::Owner<unsigned char, [](unsigned char* data) { OPENSSL_free(data); }> data;
    std::size_t size = 0;
};

bool next_block(BIO* bio, PemBytes& block) {
    char* label = nullptr;
    char* header = nullptr;
    unsigned char* data = nullptr;
    long size = 0;
    if (PEM_read_bio(bio, &label, &header, &data, &size) != 1) {
        return false;
    }
    block.label.reset(label);
    block.header.reset(header);
    block.data.reset(data);
    block.size = static_cast<std::size_t>(size);
    return true;
}

Result<CertificateBlocks>
parse_pem(std::string_view bytes, const fs::path& name, std::size_t limit) {
    CertificateBlocks blocks;
    const x509::Bio bio = x509::reader(bytes);
    if (bio == nullptr) {
        return x509::refused("cannot read certificates");
    }
    PemBytes block;
    while (next_block(bio.get(), block)) {
        const std::string_view label(block.label.get());
        const std::string_view der(reinterpret_cast<const char*>(block.data.get()), block.size);
        blocks.has_key = blocks.has_key || label.ends_with("KEY");
        for (const Form& form : kForms) {
            if (form.label == label && !form.add(der, blocks)) {
                return unreadable_certificates(name,
                                               fmt::format("a block {} in it is damaged", label));
            }
        }
        if (blocks.certificates.size() + blocks.lists.size() > limit) {
            return unreadable_certificates(name,
                                           fmt::format("it holds more than {} of them", limit));
        }
    }
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
        return unreadable_certificates(name,
                                       "a PEM block in it is damaged: " + x509::take_reason());
    }
    ERR_clear_error();
    return blocks;
}

} // namespace

Result<CertificateBlocks>
parse_blocks(std::string_view bytes, const fs::path& name, std::size_t limit) {
    if (bytes.find("-----BEGIN ") != std::string_view::npos) {
        return parse_pem(bytes, name, limit);
    }
    CertificateBlocks blocks;
    const bool is_known =
        add_certificate(bytes, blocks) || add_list(bytes, blocks) || add_bundle(bytes, blocks);
    ERR_clear_error();
    const auto other = is_known ? std::nullopt : recognize_file(bytes);
    if (other && !other->command.empty()) {
        return unreadable_certificates(
            name, fmt::format("it is {}", other->what), help_for_other_file(*other, name.native()));
    }
    if (!is_known) {
        return unreadable_certificates(name,
                                       bytes.empty() ? "it is empty" : "it is neither PEM nor DER");
    }
    return blocks;
}

} // namespace cybele::images
