// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/policy.hpp"
#include "tests/unit/support/document_fields.hpp"
#include "tests/unit/support/document_golden.hpp"

using namespace cybele;
using namespace cybele::images;

TEST_CASE("policy: every field, the schema, the page and its example") {
    const std::string example = test::example_of("policy");
    test::check_every_field(
        policy_kind(),
        {example, "kind: Policy\ncertificates: {roots: [a.pem], intermediates: [b.pem]}\n"});
    test::compare_generated(policy_kind(), "policy");
    const auto policy = read_policy(example, "docs/policy.yaml");
    REQUIRE_MESSAGE(policy.has_value(), test::told(policy));
    CHECK(policy->keys == std::vector<std::string>{"centre.pub"});
    CHECK(policy->certificates->revocation == "soft");
    CHECK(policy->pgp.size() == 1);
    CHECK(policy->wanted(3) == 1);
}

TEST_CASE("policy: how many must have signed") {
    const auto wanted = [](const std::string& require) {
        const auto policy =
            read_policy("kind: Policy\nkeys: [a, b, c]\nrequire: " + require + "\n", "p.yaml");
        return policy ? policy->wanted(3) : 99;
    };
    CHECK(wanted("any") == 1);
    CHECK(wanted("all") == 3);
    CHECK(wanted("2") == 2);
    CHECK(wanted("3") == 3);
}

TEST_CASE("policy: refusals with place and remedy") {
    struct Row {
        const char* text;
        const char* message;
        std::size_t line;
    };
    const Row rows[] = {
        {"require: any\n", "the policy names no signer", 1},
        {"keys: [a]\nrequire: 0\n", "'require' is 0", 3},
        {"keys: [a]\nrequire: 2\n", "'require' is 2, but the policy names 1 signer", 3},
        {"keys: [a]\nrequire: evry\n",
         "'require' requires a count or one of any, all, not 'evry'",
         3},
        {"pgp: [8C10B2D6]\n", "'pgp[0]' requires a PGP fingerprint, not '8C10B2D6'", 2},
        {"keys: a.pub\n", "'keys' requires a list, not 'a.pub'", 2},
    };
    for (const auto& row : rows) {
        CAPTURE(std::string(row.text));
        const auto policy = read_policy("kind: Policy\n" + std::string(row.text), "p.yaml");
        REQUIRE_FALSE(policy.has_value());
        CHECK(policy.error().faults().size() == 1);
        CHECK(policy.error().message() == row.message);
        CHECK(policy.error().faults().front().where->line == row.line);
        CHECK(policy.error().faults().front().help != "");
    }
}
