// SPDX-License-Identifier: Apache-2.0
#include "images/sif/change.hpp"

#include "images/sif/change_file.hpp"
#include "images/sif/journal.hpp"
#include "images/sif/table.hpp"
#include "support/file.hpp"

#include <algorithm>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

std::int64_t time_of(const Table& table, std::int64_t now) {
    return table.header().is_deterministic() ? kDeterministicTime : now;
}

} // namespace

Result<void>
add_objects(const fs::path& path, const std::vector<NewObject>& objects, std::int64_t now) {
    CYBELE_CHECK(add_objects_if(path, objects, now, [] { return true; }));
    return {};
}

Result<bool> add_objects_if(const fs::path& path,
                            const std::vector<NewObject>& objects,
                            std::int64_t now,
                            const std::function<bool()>& may) {
    bool is_changed = false;
    const auto add = [&](Table& table, int fd) -> Result<ChangeOutcome> {
        is_changed = may();
        if (!is_changed) {
            ChangeOutcome nothing;
            nothing.is_changed = false;
            return nothing;
        }
        const std::int64_t time = time_of(table, now);
        for (const NewObject& object : objects) {
            CYBELE_CHECK(table.add(fd, object, time));
        }
        table.set_modified(time);
        return ChangeOutcome{};
    };
    CYBELE_CHECK(change_image(path, add));
    return is_changed;
}

Result<void> delete_objects(const fs::path& path,
                            const std::vector<std::uint32_t>& ids,
                            const DeleteOptions& options,
                            std::int64_t now) {
    return change_image(path, [&](Table& table, int /*fd*/) -> Result<ChangeOutcome> {
        const std::int64_t time = time_of(table, now);
        ChangeOutcome outcome;
        for (const std::uint32_t id : ids) {
            CYBELE_TRY(const Descriptor erased, table.erase(id));
            if (options.zero && erased.size > 0) {
                outcome.zeros.push_back({erased.offset, erased.size});
            }
        }
        if (options.compact) {
            table.compact();
            outcome.length = table.end();
        }
        table.set_modified(time);
        return outcome;
    });
}

Result<void> set_primary(const fs::path& path, std::uint32_t id, std::int64_t now) {
    return change_image(path, [&](Table& table, int /*fd*/) -> Result<ChangeOutcome> {
        const std::int64_t time = time_of(table, now);
        ChangeOutcome outcome;
        CYBELE_TRY(outcome.is_changed, table.set_primary(id, time));
        if (outcome.is_changed) {
            table.set_modified(time);
        }
        return outcome;
    });
}

Result<void> end_interrupted_change(const fs::path& path) {
    CYBELE_TRY(const UniqueFd fd, open_for_reading(path));
    if (is_journal_of(fd.get(), path)) {
        CYBELE_CHECK(recover_image(path));
    }
    return {};
}

} // namespace cybele::images
