// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/id_choice.hpp"

#include <unistd.h>

namespace cybele::builder {

Result<namespaces::IdMap> choose_map(const std::function<void(const std::string&)>& tell) {
    if (::geteuid() == 0) {
        return namespaces::IdMap::kNone;
    }
    const namespaces::Abilities abilities = namespaces::probe_abilities();
    if (!abilities.user_namespaces) {
        return fail(ErrorCode::kEnvironment,
                    problem("user-namespaces-missing", "this user cannot build images here"),
                    abilities.user_namespaces_because,
                    "'cybelectl doctor' says what is missing and how to fix it");
    }
    if (abilities.subordinate_ids) {
        return namespaces::IdMap::kSubordinate;
    }
    tell("built with one id (" + abilities.subordinate_ids_because +
         "): every file belongs to root, ownership changes are faked, and programs that check "
         "them may fail");
    return namespaces::IdMap::kOwnRoot;
}

std::string_view owners_of(namespaces::IdMap map) {
    return map == namespaces::IdMap::kOwnRoot ? "one id" : "all ids";
}

} // namespace cybele::builder
