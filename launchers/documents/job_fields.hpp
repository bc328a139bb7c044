// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

namespace cybele::launchers {

/// The tables of the documents of kind Job and Site; from them come the readers' checks,
/// docs/schemas and the tables of docs/reference.
[[nodiscard]] const document::Kind& job_kind();
[[nodiscard]] const document::Kind& site_kind();

} // namespace cybele::launchers
