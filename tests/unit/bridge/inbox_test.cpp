// SPDX-License-Identifier: Apache-2.0
#include "bridge/rounds/object_watch.hpp"

#include <doctest/doctest.h>

using namespace cybele;

namespace {

using InboxItem = bridge::Inbox::Item;

bridge::Object listed_object(const std::string& uid, const std::string& revision) {
    bridge::Object object;
    object.uid = uid;
    object.resource_version = revision;
    return object;
}

InboxItem seen_by(std::size_t watch, const std::string& uid, const std::string& revision) {
    InboxItem item;
    item.watch = watch;
    item.object = listed_object(uid, revision);
    return item;
}

InboxItem mark_of(std::size_t watch, InboxItem::Kind kind, std::set<std::string> uids = {}) {
    InboxItem item;
    item.kind = kind;
    item.watch = watch;
    item.uids = std::move(uids);
    return item;
}

} // namespace

TEST_CASE("an older echo of an object changes nothing; after a restore it is the truth, of each "
          "watch until its own list is complete") {
    using Kind = InboxItem::Kind;
    bridge::Rounds rounds([](const bridge::Object&) { return bridge::Admitted{}; });
    bridge::Inbox inbox;
    for (std::size_t watch = 0; watch < 2; ++watch) {
        inbox.add(seen_by(watch, watch == 0 ? "a" : "b", "100"));
    }
    inbox.add(seen_by(0, "a", "90"));
    CHECK_FALSE(inbox.apply(rounds, 2));
    CHECK(rounds.find("a")->resource_version == "100");
    inbox.add(mark_of(0, Kind::kPutBack));
    inbox.add(mark_of(1, Kind::kPutBack));
    inbox.add(seen_by(0, "a", "80"));
    inbox.add(mark_of(0, Kind::kListed, {"a"}));
    inbox.add(seen_by(0, "a", "79")); // an echo again
    inbox.add(seen_by(1, "b", "70"));
    CHECK(inbox.apply(rounds, 2));
    CHECK(rounds.find("a")->resource_version == "80");
    CHECK(rounds.find("b")->resource_version == "70");
    inbox.add(mark_of(1, Kind::kListed));
    CHECK_FALSE(inbox.apply(rounds, 2));
    CHECK(rounds.find("a") != nullptr);
    CHECK(rounds.find("b") == nullptr);
}
