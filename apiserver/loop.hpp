// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/connection.hpp"

#include <functional>
#include <vector>

namespace cybele::apiserver {

/// One turn: waits until an answer comes or something is due, at most until `limit`, and lets the
/// connection and the parts do it. `others` are polled too; a ready one ends the wait.
void turn(Connection& connection,
          const std::vector<Receiver*>& parts,
          const std::function<Moment()>& clock,
          Moment limit,
          std::vector<pollfd>* others = nullptr);

} // namespace cybele::apiserver
