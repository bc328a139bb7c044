// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

/// How `sif list` and `sif header` print: the text is Apptainer's, line by line.
namespace cybele::cli {

/// The head of the table, and one object's line of it.
[[nodiscard]] std::string list_head();
[[nodiscard]] std::string list_line(const images::Descriptor& descriptor);
[[nodiscard]] std::string header_text(const images::Header& header);

/// One object with all its fields; times are Unix seconds, left out where the image has none.
[[nodiscard]] nlohmann::json object_json(const images::Descriptor& descriptor);
[[nodiscard]] nlohmann::json header_json(const images::Header& header);

/// "27 KiB": rounded to an integer, as by Apptainer.
[[nodiscard]] std::string readable_size(std::uint64_t bytes);

} // namespace cybele::cli
