// SPDX-License-Identifier: Apache-2.0
#include "cli/sif/print.hpp"

#include "cli/common/date_text.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

using images::DataType;
using images::Descriptor;

namespace {

constexpr std::string_view kRule =
    "------------------------------------------------------------------------------\n";

std::string link_text(const Descriptor& descriptor) {
    if (const auto group = descriptor.linked_group(); group && *group != 0) {
        return fmt::format("|{:<3} (G) ", *group);
    }
    if (const std::uint32_t object = descriptor.link & ~images::kGroupMask; object != 0) {
        return fmt::format("|{:<7} ", object);
    }
    return fmt::format("|{:<7} ", "NONE");
}

/// The type, and in parentheses what its extra fields say.
std::string type_text(const Descriptor& descriptor) {
    const std::string_view type = images::data_type_name(descriptor.type);
    switch (descriptor.type) {
    case DataType::kPartition:
        return fmt::format("{} ({}/{}/{})",
                           type,
                           images::fs_type_name(descriptor.fs_type()),
                           images::part_type_name(descriptor.part_type()),
                           descriptor.arch());
    case DataType::kSignature:
        return fmt::format("{} ({})", type, images::hash_type_name(descriptor.hash_type()));
    case DataType::kCryptoMessage:
        return fmt::format("{} ({}/{})",
                           type,
                           images::message_format_name(descriptor.message_format()),
                           images::message_type_name(descriptor.message_type()));
    case DataType::kSbom:
        return fmt::format("{} ({})", type, images::sbom_format_name(descriptor.sbom()));
    default:
        return std::string(type);
    }
}

/// The fields of `extra`, under the names of the options of `sif add`.
void put_extra(nlohmann::json& entry, const Descriptor& descriptor) {
    switch (descriptor.type) {
    case DataType::kPartition:
        entry["file-system"] = images::fs_type_name(descriptor.fs_type());
        entry["partition"] = images::part_type_name(descriptor.part_type());
        entry["architecture"] = descriptor.arch();
        break;
    case DataType::kSignature:
        entry["hash"] = images::hash_type_name(descriptor.hash_type());
        if (const auto signer = descriptor.fingerprint()) {
            entry["fingerprint"] = hex(*signer);
        }
        break;
    case DataType::kCryptoMessage:
        entry["message-format"] = images::message_format_name(descriptor.message_format());
        entry["message"] = images::message_type_name(descriptor.message_type());
        break;
    case DataType::kSbom:
        entry["sbom-format"] = images::sbom_format_name(descriptor.sbom());
        break;
    case DataType::kOciRootIndex:
    case DataType::kOciBlob:
        entry["digest"] = descriptor.oci_digest();
        break;
    default:
        break;
    }
}

void put_time(nlohmann::json& entry, const char* name, std::int64_t time) {
    if (time != images::kDeterministicTime) {
        entry[name] = time;
    }
}

} // namespace

std::string readable_size(std::uint64_t bytes) {
    constexpr std::string_view kUnits = "KMGTPE";
    if (bytes < 1024) {
        return fmt::format("{} B", bytes);
    }
    std::size_t unit = 0;
    double size = static_cast<double>(bytes) / 1024;
    for (std::uint64_t left = bytes / 1024; left >= 1024; left /= 1024) {
        size /= 1024;
        ++unit;
    }
    return fmt::format("{:.0f} {}iB", std::round(size), kUnits[unit]);
}

std::string list_head() {
    return fmt::format("{}{:<4} {:<8} {:<8} {:<26} {}\n{}",
                       kRule,
                       "ID",
                       "|GROUP",
                       "|LINK",
                       "|SIF POSITION (start-end)",
                       "|TYPE",
                       kRule);
}

std::string list_line(const Descriptor& descriptor) {
    const std::string group = descriptor.group == 0 ? "NONE" : std::to_string(descriptor.group);
    const std::string range =
        fmt::format("|{}-{} ", descriptor.offset, descriptor.offset + descriptor.size);
    return fmt::format("{:<4} |{:<7} {}{:<26} |{}\n",
                       descriptor.id,
                       group,
                       link_text(descriptor),
                       range,
                       type_text(descriptor));
}

std::string header_text(const images::Header& header) {
    std::vector<std::pair<std::string_view, std::string>> rows;
    if (!header.launch_script.empty()) {
        std::string_view script = header.launch_script;
        script.remove_suffix(script.ends_with('\n') ? 1 : 0);
        rows.emplace_back("Launch Script:", printable(script));
    }
    rows.emplace_back("Version:", "01");
    if (header.arch != "unknown") {
        rows.emplace_back("Primary Architecture:", header.arch);
    }
    if (header.id != decltype(header.id){}) {
        rows.emplace_back("ID:", images::image_id_text(header.id));
    }
    if (header.created != images::kDeterministicTime) {
        rows.emplace_back("Created At:", readable_time(header.created));
    }
    if (header.modified != images::kDeterministicTime) {
        rows.emplace_back("Modified At:", readable_time(header.modified));
    }
    rows.emplace_back("Descriptors Free:", std::to_string(header.descriptors_free));
    rows.emplace_back("Descriptors Total:", std::to_string(header.descriptors_total));
    rows.emplace_back("Descriptors Offset:", std::to_string(header.descriptors_offset));
    rows.emplace_back("Descriptors Size:", readable_size(header.descriptors_size));
    rows.emplace_back("Data Offset:", std::to_string(header.data_offset));
    rows.emplace_back("Data Size:", readable_size(header.data_size));
    std::size_t width = 0;
    for (const auto& [label, value] : rows) {
        width = std::max(width, label.size());
    }
    std::string text;
    for (const auto& [label, value] : rows) {
        text += fmt::format("{:<{}} {}\n", label, width, value);
    }
    return text;
}

nlohmann::json object_json(const Descriptor& descriptor) {
    nlohmann::json entry{{"id", descriptor.id},
                         {"type", images::data_type_name(descriptor.type)},
                         {"type-code", static_cast<std::int32_t>(descriptor.type)},
                         {"offset", descriptor.offset},
                         {"size", descriptor.size},
                         {"name", descriptor.name}};
    if (descriptor.group != 0) {
        entry["group"] = descriptor.group;
    }
    if (const auto group = descriptor.linked_group(); group && *group != 0) {
        entry["linked-group"] = *group;
    }
    if (const auto object = descriptor.linked_object()) {
        entry["linked-object"] = *object;
    }
    put_time(entry, "created", descriptor.created);
    put_time(entry, "modified", descriptor.modified);
    put_extra(entry, descriptor);
    return entry;
}

nlohmann::json header_json(const images::Header& header) {
    nlohmann::json entry{{"version", "01"},
                         {"launch-script", header.launch_script},
                         {"architecture", header.arch},
                         {"id", images::image_id_text(header.id)},
                         {"descriptors-free", header.descriptors_free},
                         {"descriptors-total", header.descriptors_total},
                         {"descriptors-offset", header.descriptors_offset},
                         {"descriptors-size", header.descriptors_size},
                         {"data-offset", header.data_offset},
                         {"data-size", header.data_size}};
    put_time(entry, "created", header.created);
    put_time(entry, "modified", header.modified);
    return entry;
}

} // namespace cybele::cli
