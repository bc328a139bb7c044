// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/dsse.hpp"

#include "support/encoding.hpp"
#include "support/json.hpp"

#include <fmt/format.h>

namespace cybele::images {

namespace {

using OrderedJson = nlohmann::ordered_json;

/// Each costs a verification; real envelopes have one or two.
constexpr std::size_t kMaximumSignatures = 64;

tl::unexpected<Error> malformed_envelope(std::string because) {
    return fail(ErrorCode::kInput,
                problem("dsse-malformed", "it is not a DSSE envelope"),
                std::move(because));
}

/// The string at `key`; nothing where it is absent or of another type.
const std::string* text_at(const OrderedJson& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

Result<EnvelopeSignature> read_signature(const OrderedJson& entry, const std::string& signature) {
    EnvelopeSignature read;
    CYBELE_TRY(read.bytes, base64_decode(signature));
    if (const std::string* const key_id = text_at(entry, "keyid")) {
        read.key_id = *key_id;
    }
    if (const std::string* const chain = text_at(entry, "cert")) {
        read.chain = *chain;
    }
    if (const std::string* const timestamp = text_at(entry, "timestamp")) {
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
    OrderedJson signatures = OrderedJson::array();
    for (const EnvelopeSignature& signature : envelope.signatures) {
        OrderedJson entry;
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
    OrderedJson object;
    object["payloadType"] = envelope.payload_type;
    object["payload"] = base64(envelope.payload);
    object["signatures"] = std::move(signatures);
    return json_text(object, -1);
}

Result<Envelope> parse_envelope(std::string_view text) {
    const OrderedJson object = parse_json<OrderedJson>(text);
    if (!object.is_object()) {
        return malformed_envelope("it is not a JSON object");
    }
    const std::string* const type = text_at(object, "payloadType");
    const std::string* const payload = text_at(object, "payload");
    const auto signatures = object.find("signatures");
    if (type == nullptr || payload == nullptr || signatures == object.end() ||
        !signatures->is_array()) {
        return malformed_envelope("payloadType, payload or signatures is missing");
    }
    if (signatures->size() > kMaximumSignatures) {
        return malformed_envelope(fmt::format(
            "it has {} signatures; at most {} are read", signatures->size(), kMaximumSignatures));
    }
    Envelope envelope;
    envelope.payload_type = *type;
    CYBELE_TRY(envelope.payload, base64_decode(*payload));
    for (const OrderedJson& entry : *signatures) {
        const std::string* const signature = entry.is_object() ? text_at(entry, "sig") : nullptr;
        if (signature == nullptr) {
            return malformed_envelope("an entry of signatures has no sig");
        }
        CYBELE_TRY(EnvelopeSignature read, read_signature(entry, *signature));
        envelope.signatures.push_back(std::move(read));
    }
    return envelope;
}

} // namespace cybele::images
