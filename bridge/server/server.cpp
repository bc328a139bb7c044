// SPDX-License-Identifier: Apache-2.0
#include "bridge/server/server.hpp"

namespace cybele::bridge {

bool is_write(const Action& action) {
    switch (action.kind) {
    case Action::Kind::kClaim:
    case Action::Kind::kWriteStatus:
    case Action::Kind::kLetGo:
    case Action::Kind::kRemove:
        return true;
    default:
        return false;
    }
}

Written Server::write(const ObjectWrite& one) {
    switch (one.action->kind) {
    case Action::Kind::kClaim:
        return claim(*one.object);
    case Action::Kind::kLetGo:
        return let_go(*one.object);
    case Action::Kind::kRemove:
        return remove(*one.object);
    default:
        return write_status(*one.object, one.action->status);
    }
}

std::vector<Written> Server::write_all(const std::vector<ObjectWrite>& all) {
    std::vector<Written> written;
    written.reserve(all.size());
    for (const ObjectWrite& one : all) {
        written.push_back(write(one));
    }
    return written;
}

} // namespace cybele::bridge
