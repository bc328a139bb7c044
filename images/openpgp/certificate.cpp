// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/certificate.hpp"

#include "images/openpgp/material.hpp"
#include "images/openpgp/packet.hpp"
#include "support/find.hpp"
#include "support/secret.hpp"

#include <algorithm>

namespace cybele::images::openpgp {

namespace {

bool is_secret(Tag tag) {
    return tag == Tag::kSecretKey || tag == Tag::kSecretSubkey;
}

Tag public_tag(Tag tag) {
    switch (tag) {
    case Tag::kSecretKey:
        return Tag::kPublicKey;
    case Tag::kSecretSubkey:
        return Tag::kPublicSubkey;
    default:
        return tag;
    }
}

/// The part of a key's body that everyone may see; empty: it cannot be told.
std::string public_body(const Component& key) {
    if (!is_secret(key.tag)) {
        return key.body;
    }
    const auto material = read_public(key.body);
    return material ? key.body.substr(0, material->size) : "";
}

Component public_component(const Component& component) {
    Component half = component;
    half.tag = public_tag(component.tag);
    half.body = public_body(component);
    return half;
}

} // namespace

std::string CertificateState::name() const {
    return user_ids.empty() ? "no user id" : user_ids.front();
}

Certificate::Certificate(std::vector<Component> components) : components_(std::move(components)) {
    for (const Component& component : components_) {
        if (is_key(component.tag)) {
            const bool is_ours = !component.body.empty() && component.body[0] == '\4';
            fingerprints_.push_back(is_ours ? fingerprint_of(public_body(component)) : "");
        }
    }
}

Certificate::~Certificate() {
    for (Component& component : components_) {
        if (is_secret(component.tag)) {
            wipe(component.body);
        }
    }
}

bool Certificate::has_secret() const {
    return std::ranges::any_of(components_,
                               [](const Component& component) { return is_secret(component.tag); });
}

Certificate Certificate::public_half() const {
    std::vector<Component> components;
    for (const Component& component : components_) {
        Component half = public_component(component);
        if (!half.body.empty()) {
            components.push_back(std::move(half));
        }
    }
    return Certificate(std::move(components));
}

bool Certificate::merge(const Certificate& other) {
    bool is_changed = false;
    std::vector<Component> merged = components_;
    for (const Component& theirs : other.components_) {
        const Component half = public_component(theirs);
        const auto same = std::ranges::find_if(merged, [&](const Component& ours) {
            return public_tag(ours.tag) == half.tag && public_body(ours) == half.body;
        });
        if (same == merged.end()) {
            // User ids stand before subkeys.
            const auto at =
                is_key(theirs.tag)
                    ? merged.end()
                    : std::find_if(merged.begin() + 1, merged.end(), [](const Component& ours) {
                          return is_key(ours.tag);
                      });
            merged.insert(at, theirs);
            is_changed = true;
            continue;
        }
        for (const std::string& signature : theirs.signatures) {
            if (!contains(same->signatures, signature)) {
                same->signatures.push_back(signature);
                is_changed = true;
            }
        }
    }
    if (is_changed) {
        *this = Certificate(std::move(merged));
    }
    return is_changed;
}

std::string Certificate::packets() const {
    std::string bytes;
    for (const Component& component : components_) {
        append_packet(bytes, component.tag, component.body);
        for (const std::string& signature : component.signatures) {
            append_packet(bytes, Tag::kSignature, signature);
        }
    }
    return bytes;
}

} // namespace cybele::images::openpgp
