// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/sif_info.hpp"

#include "cli/common/date_text.hpp"
#include "images/sif/sif.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

using images::DataType;
using InfoLines = std::vector<std::pair<std::string_view, std::string>>;

std::string group_text(std::uint32_t group) {
    return group == 0 ? "NONE" : std::to_string(group);
}

std::string linked_text(const images::Descriptor& object) {
    if (const auto group = object.linked_group(); group && *group != 0) {
        return fmt::format("{} (G)", *group);
    }
    const auto other = object.linked_object();
    return other && *other != 0 ? std::to_string(*other) : "NONE";
}

void add_extra(InfoLines& lines, const images::Descriptor& object) {
    const auto add = [&](std::string_view name, std::string_view value) {
        lines.emplace_back(name, value);
    };
    switch (object.type) {
    case DataType::kPartition:
        add("Filesystem Type", images::fs_type_name(object.fs_type()));
        add("Partition Type", images::part_type_name(object.part_type()));
        add("Architecture", object.arch());
        break;
    case DataType::kSignature:
        add("Hash Type", images::hash_type_name(object.hash_type()));
        if (const auto signer = object.fingerprint()) {
            std::string digits = hex(*signer);
            digits = text::uppered(digits);
            add("Entity", digits);
        }
        break;
    case DataType::kCryptoMessage:
        add("Format Type", images::message_format_name(object.message_format()));
        add("Message Type", images::message_type_name(object.message_type()));
        break;
    case DataType::kSbom:
        add("Format", images::sbom_format_name(object.sbom()));
        break;
    default:
        break;
    }
}

InfoLines lines_about(const images::Descriptor& object) {
    InfoLines lines{{"Data Type", std::string(images::data_type_name(object.type))},
                    {"ID", std::to_string(object.id)},
                    {"Group ID", group_text(object.group)},
                    {"Linked ID", linked_text(object)},
                    {"Offset", std::to_string(object.offset)},
                    {"Size", std::to_string(object.size)},
                    {"Created At", readable_time(object.created)},
                    {"Modified At", readable_time(object.modified)}};
    if (!object.name.empty()) {
        lines.emplace_back("Name", printable(object.name));
    }
    add_extra(lines, object);
    return lines;
}

} // namespace

Result<int> show_object(const OtherCall& call) {
    const std::string& word = call.words.front();
    std::uint32_t id = 0; // check_sif_words() has refused what is not one
    (void)std::from_chars(word.data(), word.data() + word.size(), id);
    CYBELE_TRY(const auto image, images::Image::open(call.words.back()));
    CYBELE_TRY(const images::Descriptor object, image.object(id));
    const InfoLines lines = lines_about(object);
    std::size_t width = 0;
    for (const auto& [name, value] : lines) {
        width = std::max(width, name.size());
    }
    std::string text;
    for (const auto& [name, value] : lines) {
        text += fmt::format("  {:<{}}{}\n", fmt::format("{}:", name), width + 3, value);
    }
    Session::print(text);
    return 0;
}

} // namespace cybele::cli
