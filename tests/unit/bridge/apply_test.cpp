// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/apply.hpp"

#include <doctest/doctest.h>

using namespace cybele;

TEST_CASE("a document of `bridge install` is addressed by its kind, namespace and name") {
    const auto role = bridge::applied_of("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n"
                                         "metadata:\n  name: one\n  namespace: physics\n");
    CHECK(role.name == "Role/one");
    CHECK(role.path == "/apis/rbac.authorization.k8s.io/v1/namespaces/physics/roles/one");
    const auto space = bridge::applied_of("apiVersion: v1\nkind: Namespace\nmetadata:\n"
                                          "  name: cybelectl\n");
    CHECK(space.path == "/api/v1/namespaces/cybelectl");
    CHECK(bridge::applied_of("apiVersion: v1\nkind: Secret\n").path.empty());
}
