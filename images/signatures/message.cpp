// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/message.hpp"

#include "support/find.hpp"
#include "support/json.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::images {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::uint64_t kMessageVersion = 1;

tl::unexpected<Error> malformed_message(std::string because) {
    return fail(ErrorCode::kInput,
                problem("signed-message-malformed", "the signed message is malformed"),
                std::move(because));
}

/// The digest at `key`; empty where it is absent, no text, or of an unknown algorithm.
std::string digest_at(const OrderedJson& object, const char* key) {
    const auto found = object.find(key);
    const std::string* const text =
        found == object.end() ? nullptr : found->get_ptr<const std::string*>();
    return text == nullptr || algorithm_of(*text).empty() ? "" : *text;
}

Result<SignedObject> parse_object(const OrderedJson& entry) {
    SignedObject object;
    if (!entry.is_object()) {
        return malformed_message("an entry of objects is not an object");
    }
    const auto id = entry.find("relativeId");
    if (id == entry.end() || !id->is_number_unsigned() || id->get<std::uint64_t>() > UINT32_MAX) {
        return malformed_message("a relativeId is missing or no number");
    }
    object.relative_id = id->get<std::uint32_t>();
    object.descriptor_digest = digest_at(entry, "descriptorDigest");
    object.object_digest = digest_at(entry, "objectDigest");
    if (object.descriptor_digest.empty() || object.object_digest.empty()) {
        return malformed_message("a digest of an object is missing or of an unknown algorithm");
    }
    return object;
}

bool is_covered_by(std::string_view digest, std::string_view bytes) {
    const auto found = digest_of(algorithm_of(digest), bytes);
    return found && *found == digest;
}

/// The object that an entry of a message names; nullptr: it is not in the group (any more).
const Descriptor* find_signed(const std::vector<const Descriptor*>& group,
                              const SignedObject& object) {
    const std::uint64_t first = group.empty() ? 0 : group.front()->id;
    const auto found = std::ranges::find_if(
        group, [&](const Descriptor* member) { return member->id == first + object.relative_id; });
    return found == group.end() ? nullptr : *found;
}

} // namespace

std::vector<std::uint32_t> signable_groups(const Image& image) {
    std::set<std::uint32_t> groups;
    for (const Descriptor& descriptor : image.descriptors()) {
        if (descriptor.group != 0 && descriptor.type != DataType::kSignature) {
            groups.insert(descriptor.group);
        }
    }
    return {groups.begin(), groups.end()};
}

std::vector<const Descriptor*> group_objects(const Image& image, std::uint32_t group) {
    std::vector<const Descriptor*> objects;
    for (const Descriptor& descriptor : image.descriptors()) {
        if (descriptor.group == group) {
            objects.push_back(&descriptor); // the table is in the order of ids
        }
    }
    return objects;
}

Result<SignedMessage> make_message(const Image& image,
                                   std::uint32_t group,
                                   ObjectDigests& digests,
                                   const std::vector<std::uint32_t>& only) {
    SignedMessage message;
    CYBELE_TRY(message.header_digest, digest_of(kWrittenAlgorithm, covered_bytes(image.header())));
    const std::vector<const Descriptor*> objects = group_objects(image, group);
    for (const Descriptor* const descriptor : objects) {
        if (!only.empty() && !contains(only, descriptor->id)) {
            continue;
        }
        SignedObject object;
        object.relative_id = descriptor->id - objects.front()->id;
        CYBELE_TRY(object.descriptor_digest,
                   digest_of(kWrittenAlgorithm, covered_bytes(*descriptor, object.relative_id)));
        CYBELE_TRY(object.object_digest, digests.of(*descriptor, kWrittenAlgorithm));
        message.objects.push_back(std::move(object));
    }
    return message;
}

std::string write_message(const SignedMessage& message) {
    OrderedJson objects = OrderedJson::array();
    for (const SignedObject& object : message.objects) {
        OrderedJson entry;
        entry["relativeId"] = object.relative_id;
        entry["descriptorDigest"] = object.descriptor_digest;
        entry["objectDigest"] = object.object_digest;
        objects.push_back(std::move(entry));
    }
    OrderedJson json;
    json["version"] = kMessageVersion;
    json["header"]["digest"] = message.header_digest;
    json["objects"] = std::move(objects);
    return json.dump();
}

Result<SignedMessage> parse_message(std::string_view text) {
    const OrderedJson json = parse_json<OrderedJson>(text);
    if (!json.is_object()) {
        return malformed_message("it is not a JSON object");
    }
    const auto version = json.find("version");
    if (version == json.end() || !version->is_number_unsigned() ||
        version->get<std::uint64_t>() != kMessageVersion) {
        return malformed_message("its version is not 1");
    }
    const auto header = json.find("header");
    const auto objects = json.find("objects");
    if (header == json.end() || !header->is_object() || objects == json.end() ||
        !objects->is_array()) {
        return malformed_message("header or objects is missing");
    }
    SignedMessage message;
    message.header_digest = digest_at(*header, "digest");
    if (message.header_digest.empty()) {
        return malformed_message("the digest of the header is missing or of an unknown algorithm");
    }
    for (const OrderedJson& entry : *objects) {
        CYBELE_TRY(SignedObject object, parse_object(entry));
        message.objects.push_back(std::move(object));
    }
    return message;
}

void expect_digests(const SignedMessage& message,
                    const Image& image,
                    std::uint32_t group,
                    ObjectDigests& digests) {
    const std::vector<const Descriptor*> objects = group_objects(image, group);
    for (const SignedObject& object : message.objects) {
        if (const Descriptor* const found = find_signed(objects, object); found != nullptr) {
            digests.expect(*found, algorithm_of(object.object_digest));
        }
    }
}

Result<std::string> compare_message(const SignedMessage& message,
                                    const Image& image,
                                    std::uint32_t group,
                                    ObjectDigests& digests,
                                    std::vector<std::uint32_t>& covers) {
    const std::vector<const Descriptor*> objects = group_objects(image, group);
    std::vector<const Descriptor*> covered;
    for (const SignedObject& object : message.objects) {
        const Descriptor* const found = find_signed(objects, object);
        if (found == nullptr) {
            const std::uint64_t first = objects.empty() ? 0 : objects.front()->id;
            return fmt::format("object {} was signed, but is not there any more",
                               first + object.relative_id);
        }
        covered.push_back(found);
        covers.push_back(found->id);
    }
    if (!is_covered_by(message.header_digest, covered_bytes(image.header()))) {
        return std::string("the launch script or the id of the image was changed after signing");
    }
    for (std::size_t i = 0; i < covered.size(); ++i) {
        const SignedObject& object = message.objects[i];
        if (!is_covered_by(object.descriptor_digest,
                           covered_bytes(*covered[i], object.relative_id))) {
            return fmt::format("the descriptor of object {} (its type, link, size, time, owner, "
                               "name or extra data) was changed after signing",
                               covered[i]->id);
        }
    }
    for (std::size_t i = 0; i < covered.size(); ++i) {
        const std::string& expected = message.objects[i].object_digest;
        CYBELE_TRY(const std::string found, digests.of(*covered[i], algorithm_of(expected)));
        if (found != expected) {
            return fmt::format("the content of object {} was changed after signing",
                               covered[i]->id);
        }
    }
    return std::string();
}

} // namespace cybele::images
