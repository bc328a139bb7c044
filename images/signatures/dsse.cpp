// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/dsse.hpp"

#include "support/encoding.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::images {

namespace {

using Json = nlohmann::ordered_json;

/// Each costs a verification; real envelopes have one or two.
constexpr std::size_t kMaximumSignatures = 64;

tl::unexpected<Error> malformed(std::string because) {
    return fail(ErrorCode::kInput, "it is no DSSE envelope", std::move(because));
}

/// The string at `key`; nothing where it is absent or of another type.
const std::string* text_of(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

Result<EnvelopeSignature> read_signature(const Json& entry, const std::string& signature) {
    EnvelopeSignature read;
    CYBELE_TRY(read.bytes, base64_decode(signature));
    if (const std::string* const key_id = text_of(entry, "keyid")) {
        read.key_id = *key_id;
    }
    if (const std::string* const chain = text_of(entry, "cert")) {
        read.chain = *chain;
    }
    if (const std::string* const timestamp = text_of(entry, "timestamp")) {
        // Nobody signed it: a damaged one fails where it is looked into, not the signature.
        read.timestamp = base64_decode(*timestamp).value_or(*timestamp);
    }
    return read;
}

} // namespace

std::string pre_authentication_encoding(std::string_view type, std::string_view payload) {
    return fmt::format("DSSEv1 {} {} {} {}", type.size(), type, payload.size(), payload);
}

std::string write_envelope(const Envelope& envelope) {
    Json signatures = Json::array();
    for (const EnvelopeSignature& signature : envelope.signatures) {
        Json entry;
        entry["keyid"] = signature.key_id;
        entry["sig"] = base64(signature.bytes);
        // Apptainer passes over fields that it does not know (tests/integration/certificates.bats).
        if (!signature.chain.empty()) {
            entry["cert"] = signature.chain;
        }
        if (!signature.timestamp.empty()) {
            entry["timestamp"] = base64(signature.timestamp);
        }
        signatures.push_back(std::move(entry));
    }
    Json object;
    object["payloadType"] = envelope.payload_type;
    object["payload"] = base64(envelope.payload);
    object["signatures"] = std::move(signatures);
    return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Envelope> parse_envelope(std::string_view text) {
    const Json object = Json::parse(text, nullptr, false);
    if (!object.is_object()) {
        return malformed("it is not a JSON object");
    }
    const std::string* const type = text_of(object, "payloadType");
    const std::string* const payload = text_of(object, "payload");
    const auto signatures = object.find("signatures");
    if (type == nullptr || payload == nullptr || signatures == object.end() ||
        !signatures->is_array()) {
        return malformed("payloadType, payload or signatures is missing");
    }
    if (signatures->size() > kMaximumSignatures) {
        return malformed(fmt::format(
            "it has {} signatures; at most {} are read", signatures->size(), kMaximumSignatures));
    }
    Envelope envelope;
    envelope.payload_type = *type;
    CYBELE_TRY(envelope.payload, base64_decode(*payload));
    for (const Json& entry : *signatures) {
        const std::string* const signature = entry.is_object() ? text_of(entry, "sig") : nullptr;
        if (signature == nullptr) {
            return malformed("an entry of signatures has no sig");
        }
        CYBELE_TRY(EnvelopeSignature read, read_signature(entry, *signature));
        envelope.signatures.push_back(std::move(read));
    }
    return envelope;
}

} // namespace cybele::images
