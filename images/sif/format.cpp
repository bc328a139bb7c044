// SPDX-License-Identifier: Apache-2.0
#include "images/sif/format.hpp"

#include <algorithm>

namespace cybele::images {

namespace {

/// Takes fields from the front of some bytes.
class Fields {
public:
    explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class Unsigned>
    Unsigned number() {
        return decode_little_endian<Unsigned>(take(sizeof(Unsigned)));
    }
    std::int64_t time() {
        return static_cast<std::int64_t>(number<std::uint64_t>());
    }
    std::span<const std::byte> take(std::size_t size) {
        const auto front = bytes_.first(size);
        bytes_ = bytes_.subspan(size);
        return front;
    }
    /// All but the trailing NULs; no more memory than that, for a table may be large.
    std::string text(std::size_t size) {
        const auto bytes = take(size);
        const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return std::string(all.substr(0, all.find_last_not_of('\0') + 1));
    }

private:
    std::span<const std::byte> bytes_;
};

void append_bytes(std::string& bytes, std::span<const std::uint8_t> more) {
    for (const std::uint8_t byte : more) {
        bytes += static_cast<char>(byte);
    }
}

void append_time(std::string& bytes, std::int64_t time) {
    append_little_endian(bytes, static_cast<std::uint64_t>(time));
}

} // namespace

void append_padded(std::string& bytes, std::string_view text, std::size_t size) {
    const std::size_t end = bytes.size() + size;
    bytes += text.substr(0, size);
    bytes.resize(end, '\0');
}

bool has_control_characters(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x20 || byte == 0x7f) {
            return true;
        }
        if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
            return true;
        }
    }
    return false;
}

Header decode_header(std::span<const std::byte, kHeaderSize> bytes) {
    Fields fields(bytes);
    Header header;
    header.launch_script = fields.text(kLaunchScriptSize);
    (void)fields.take(kSifMagic.size() + kSifVersion.size());
    for (char& c : header.arch_code) {
        c = static_cast<char>(fields.number<std::uint8_t>());
    }
    header.arch = architecture_name({header.arch_code.data(), 2});
    for (std::uint8_t& byte : header.id) {
        byte = fields.number<std::uint8_t>();
    }
    header.created = fields.time();
    header.modified = fields.time();
    header.descriptors_free = fields.number<std::uint64_t>();
    header.descriptors_total = fields.number<std::uint64_t>();
    header.descriptors_offset = fields.number<std::uint64_t>();
    header.descriptors_size = fields.number<std::uint64_t>();
    header.data_offset = fields.number<std::uint64_t>();
    header.data_size = fields.number<std::uint64_t>();
    return header;
}

std::string encode_header(const Header& header) {
    std::string bytes;
    append_padded(bytes, header.launch_script, kLaunchScriptSize);
    bytes += kSifMagic;
    bytes += kSifVersion;
    bytes.append(header.arch_code.data(), header.arch_code.size());
    append_bytes(bytes, header.id);
    append_time(bytes, header.created);
    append_time(bytes, header.modified);
    append_little_endian(bytes, header.descriptors_free);
    append_little_endian(bytes, header.descriptors_total);
    append_little_endian(bytes, header.descriptors_offset);
    append_little_endian(bytes, header.descriptors_size);
    append_little_endian(bytes, header.data_offset);
    append_little_endian(bytes, header.data_size);
    return bytes;
}

std::optional<Descriptor> decode_descriptor(std::span<const std::byte, kDescriptorSize> bytes) {
    Fields fields(bytes);
    Descriptor descriptor;
    descriptor.type =
        static_cast<DataType>(static_cast<std::int32_t>(fields.number<std::uint32_t>()));
    if (fields.number<std::uint8_t>() == 0) {
        return std::nullopt;
    }
    descriptor.id = fields.number<std::uint32_t>();
    descriptor.group = fields.number<std::uint32_t>();
    descriptor.link = fields.number<std::uint32_t>();
    descriptor.offset = fields.number<std::uint64_t>();
    descriptor.size = fields.number<std::uint64_t>();
    descriptor.size_with_padding = fields.number<std::uint64_t>();
    descriptor.created = fields.time();
    descriptor.modified = fields.time();
    descriptor.uid = fields.time();
    descriptor.gid = fields.time();
    descriptor.name = fields.text(kNameSize);
    for (std::uint8_t& byte : descriptor.extra) {
        byte = fields.number<std::uint8_t>();
    }
    return descriptor;
}

std::string encode_descriptor(const Descriptor& descriptor) {
    std::string bytes;
    bytes.reserve(kDescriptorSize);
    append_little_endian(bytes, static_cast<std::uint32_t>(descriptor.type));
    bytes += '\1';
    append_little_endian(bytes, descriptor.id);
    append_little_endian(bytes, descriptor.group | kGroupMask);
    append_little_endian(bytes, descriptor.link);
    append_little_endian(bytes, descriptor.offset);
    append_little_endian(bytes, descriptor.size);
    append_little_endian(bytes, descriptor.size_with_padding);
    append_time(bytes, descriptor.created);
    append_time(bytes, descriptor.modified);
    append_time(bytes, descriptor.uid);
    append_time(bytes, descriptor.gid);
    append_padded(bytes, descriptor.name, kNameSize);
    append_bytes(bytes, descriptor.extra);
    return bytes;
}

} // namespace cybele::images
