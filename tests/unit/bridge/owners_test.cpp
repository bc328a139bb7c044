// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/owners.hpp"

#include <doctest/doctest.h>

using namespace cybele;

TEST_CASE("a record says which Bridge handed its job over, at which API server") {
    constexpr const char* kHere = "00000000-0000-4000-8000-00000000000a";
    constexpr const char* kThere = "00000000-0000-4000-8000-00000000000b";
    const bridge::Owner self{"hall-a", kHere};
    const auto owner = [](const std::string& words) { return bridge::read_owner(words); };
    const auto ours = owner(std::string("claim hall-a physics/run 123 ") + kHere);
    CHECK(ours.has_claim);
    CHECK(ours.object == "physics/run");
    CHECK(bridge::is_same(ours.owner, self));
    CHECK_FALSE(
        bridge::is_same(owner(std::string("claim hall-a physics/run 123 ") + kThere).owner, self));
    CHECK_FALSE(
        bridge::is_same(owner(std::string("claim hall-b physics/run 123 ") + kHere).owner, self));
    // Whoever has no Lease yet has handed nothing over.
    CHECK_FALSE(bridge::is_same(ours.owner, {"hall-a", ""}));
    // An earlier version noted no Lease.
    CHECK(bridge::is_same(owner("claim hall-a physics/run 123").owner, self));
    CHECK_FALSE(owner("orphan").has_claim);
    CHECK_FALSE(owner("none").has_claim);
    CHECK(owner("claim ").owner.bridge.empty());
    CHECK(owner("claim hall-a physics/run 123 ../../x").owner.lease.empty());
}
