// SPDX-License-Identifier: Apache-2.0
#include "bridge/decide/account_failure.hpp"
#include "bridge/server/logged_words.hpp"
#include "scene.hpp"

#include <chrono>
#include <string>

#include <doctest/doctest.h>

using namespace cybele;
using namespace scene;

TEST_CASE("words of a way that fails: credentials, or anything else") {
    CHECK(bridge::reason_of_words("alice@login: Permission denied (publickey).") ==
          "CredentialsFailed");
    CHECK(bridge::reason_of_words("Host key verification failed.") == "CredentialsFailed");
    CHECK(bridge::reason_of_words("commands run as another user: bob, not alice") ==
          "CredentialsFailed");
    for (const std::string_view sudo :
         {"sudo: a password is required",
          "Sorry, user bridge is not allowed to execute '/usr/bin/sh -s' as alice on login.",
          "Sorry, user bridge may not run sudo on login.",
          "bridge is not in the sudoers file.",
          "bridge is not allowed to run sudo on login."}) {
        CAPTURE(sudo);
        CHECK(bridge::reason_of_words(sudo) == "CredentialsFailed");
    }
    CHECK(bridge::reason_of_words("connect to host login port 22: Connection refused") ==
          "ClusterUnavailable");
    CHECK(bridge::reason_of_words("mkdir: cannot create directory: Permission denied") ==
          "ClusterUnavailable");
}

TEST_CASE("an error of a token is known by its id, whatever its words are") {
    const auto reason = [](std::string_view id) {
        const Result<void> failed =
            fail(ErrorCode::kEnvironment, problem(id, "words"), "others", "");
        return bridge::reason_of_error(failed.error());
    };
    CHECK(reason("token-file-missing") == "CredentialsFailed");
    CHECK(reason("bridge-token-expired") == "CredentialsFailed");
    CHECK(reason("ssh-failed") == "ClusterUnavailable");
}

TEST_CASE(
    "an object without a job says once why commands as its account fail, and is tried again") {
    Scene scene;
    scene.claimed();
    scene.view.account_failure = {"the token for alice has expired", bridge::kCredentialsFailed};
    const auto first = scene.decide();
    const bridge::Condition* submitted = written(first).find("Submitted");
    REQUIRE(submitted != nullptr);
    CHECK(submitted->status == "False");
    CHECK(submitted->reason == "CredentialsFailed");
    CHECK(submitted->message == scene.view.account_failure.message);
    CHECK(find(first, Action::Kind::kSearch) != nullptr);
    // Other words of the same kind are not written again.
    scene.object.status = written(first);
    scene.view.account_failure = {"the token of keys/alice is missing", bridge::kCredentialsFailed};
    const auto second = scene.decide();
    CHECK(find(second, Action::Kind::kWriteStatus) == nullptr);
    CHECK(find(second, Action::Kind::kSearch) != nullptr);
}

TEST_CASE("a deletion whose cancellation fails says why, and a job that runs is followed") {
    Scene scene;
    scene.with_id("7", "PENDING").shows("7", State::kRunning, "RUNNING");
    scene.view.account_failure = {"alice@login: Permission denied (publickey).",
                                  bridge::kCredentialsFailed};
    CHECK(written(scene.decide()).state == "RUNNING");
    CHECK(written(scene.decide()).find("Submitted")->status == "True");
    scene.deleted();
    const auto decision = scene.decide();
    const bridge::Condition* cancelling = written(decision).find("Cancelling");
    REQUIRE(cancelling != nullptr);
    CHECK(cancelling->status == "False");
    CHECK(cancelling->reason == "CredentialsFailed");
    CHECK(find(decision, Action::Kind::kCancel) != nullptr);
}

TEST_CASE("a failure that lasts is logged once an hour, and what was logged is forgotten") {
    using std::chrono::hours;
    using std::chrono::minutes;
    bridge::LoggedWords logged;
    CHECK(logged.is_due("the Lease: no answer", minutes(1)));
    CHECK_FALSE(logged.is_due("the Lease: no answer", minutes(60)));
    CHECK(logged.is_due("another", minutes(60)));
    CHECK(logged.is_due("the Lease: no answer", minutes(61)));
    logged.clear();
    CHECK(logged.is_due("another", minutes(62)));
    for (int at = 0; at < 5000; ++at) {
        CHECK(logged.is_due("pod " + std::to_string(at), hours(2)));
        REQUIRE(logged.size() <= 1000);
    }
    CHECK(logged.is_due("later", hours(4)));
    CHECK(logged.size() == 1);
}
