// SPDX-License-Identifier: Apache-2.0
// rpm's database since 4.16: an SQLite file whose table Packages holds the headers of the packages
// (rpm's docs: "RPM v4 header"; tag numbers of rpmtag.h).
#include "images/inspection/packages.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include <sqlite3.h>

namespace cybele::images {
namespace {

constexpr std::size_t kIntroBytes = 8;
constexpr std::size_t kEntryBytes = 16;
constexpr std::uint32_t kInt32 = 4;
constexpr std::uint32_t kString = 6;
constexpr std::uint32_t kI18nString = 9;

enum class Tag : std::uint32_t {
    kName = 1000,
    kVersion = 1001,
    kRelease = 1002,
    kEpoch = 1003,
    kArchitecture = 1022,
};

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        value = value << 8U | static_cast<std::uint8_t>(bytes[at + i]);
    }
    return value;
}

/// A header's entries and data; every place that it names is checked.
class RpmHeader {
public:
    explicit RpmHeader(std::string_view bytes) {
        if (bytes.size() < kIntroBytes) {
            return;
        }
        const std::uint64_t count = big_endian(bytes, 0);
        const std::uint64_t size = big_endian(bytes, 4);
        if (count * kEntryBytes + size > bytes.size() - kIntroBytes) {
            return;
        }
        entries_ = bytes.substr(kIntroBytes, count * kEntryBytes);
        data_ = bytes.substr(kIntroBytes + count * kEntryBytes, size);
    }
    [[nodiscard]] std::string text(Tag tag) const {
        const auto found = find(tag);
        if (!found || (found->type != kString && found->type != kI18nString)) {
            return {};
        }
        const auto rest = data_.substr(found->offset);
        return std::string(rest.substr(0, rest.find('\0')));
    }
    [[nodiscard]] std::optional<std::uint32_t> number(Tag tag) const {
        const auto found = find(tag);
        if (!found || found->type != kInt32 || data_.size() - found->offset < 4) {
            return std::nullopt;
        }
        return big_endian(data_, found->offset);
    }

private:
    struct Entry {
        std::uint32_t type;
        std::uint32_t offset;
    };
    [[nodiscard]] std::optional<Entry> find(Tag tag) const {
        for (std::size_t at = 0; at < entries_.size(); at += kEntryBytes) {
            const Entry entry{big_endian(entries_, at + 4), big_endian(entries_, at + 8)};
            if (big_endian(entries_, at) == static_cast<std::uint32_t>(tag) &&
                entry.offset <= data_.size()) {
                return entry;
            }
        }
        return std::nullopt;
    }
    std::string_view entries_;
    std::string_view data_;
};

struct CloseDatabase {
    void operator()(sqlite3* database) const {
        sqlite3_close(database);
    }
};
struct FinalizeStatement {
    void operator()(sqlite3_stmt* statement) const {
        sqlite3_finalize(statement);
    }
};

tl::unexpected<Error> no_database(std::string because) {
    return fail(ErrorCode::kInput,
                problem("rpm-database-unreadable", "the database of rpm cannot be read"),
                std::move(because),
                "rebuild it with `rpm --rebuilddb`, and the image");
}

} // namespace

std::vector<Package> parse_rpm_header(std::string_view bytes) {
    const RpmHeader header(bytes);
    Package package;
    package.manager = "rpm";
    package.name = header.text(Tag::kName);
    package.version = header.text(Tag::kVersion) + "-" + header.text(Tag::kRelease);
    package.architecture = header.text(Tag::kArchitecture);
    if (const auto epoch = header.number(Tag::kEpoch)) {
        package.version = std::to_string(*epoch) + ":" + package.version;
    }
    // Keys are kept as packages without files.
    const bool is_package = !package.name.empty() && package.name != "gpg-pubkey";
    return is_package ? std::vector{package} : std::vector<Package>{};
}

Result<std::vector<Package>> parse_rpm_sqlite(std::string database) {
    constexpr std::array kJournalVersions = {std::size_t{18}, std::size_t{19}};
    if (database.size() < 100 || !database.starts_with("SQLite format 3")) {
        return no_database("it is not an SQLite file");
    }
    for (const auto at : kJournalVersions) {
        database[at] = 1; // write-ahead logs have no place in memory; what is in one is not seen
    }
    sqlite3* opened = nullptr;
    int code = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE, nullptr);
    const std::unique_ptr<sqlite3, CloseDatabase> own(opened);
    if (code == SQLITE_OK) {
        const auto size = static_cast<sqlite3_int64>(database.size());
        code = sqlite3_deserialize(opened,
                                   "main",
                                   reinterpret_cast<unsigned char*>(database.data()),
                                   size,
                                   size,
                                   SQLITE_DESERIALIZE_READONLY);
    }
    sqlite3_stmt* made = nullptr;
    code = code == SQLITE_OK
               ? sqlite3_prepare_v2(opened, "SELECT blob FROM Packages", -1, &made, nullptr)
               : code;
    const std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement(made);
    std::vector<Package> packages;
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement.get());
        if (code == SQLITE_ROW) {
            const auto* blob = static_cast<const char*>(sqlite3_column_blob(statement.get(), 0));
            const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement.get(), 0));
            auto found = parse_rpm_header(blob == nullptr ? "" : std::string_view(blob, size));
            packages.insert(packages.end(), found.begin(), found.end());
        }
    }
    if (code != SQLITE_DONE) {
        return no_database(sqlite3_errmsg(opened));
    }
    return packages;
}

} // namespace cybele::images
