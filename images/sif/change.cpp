// SPDX-License-Identifier: Apache-2.0
#include "images/sif/change.hpp"

#include "images/sif/change_file.hpp"
#include "images/sif/disk.hpp"
#include "images/sif/journal.hpp"
#include "images/sif/table.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <unistd.h>

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

namespace {

/// Whether the bytes of the file alone are not what a reader sees, or more than that.
Result<bool> is_interrupted(const fs::path& path) {
    CYBELE_TRY(const UniqueFd fd, open_for_reading(path));
    const fs::path real = real_path(fd.get(), path);
    CYBELE_TRY(const auto journal, find_journal(fd.get(), real));
    if (!journal) {
        return false;
    }
    CYBELE_TRY(const JournalState state, judge_journal(*journal, fd.get(), real));
    return state != JournalState::kForeign;
}

} // namespace

Result<void> end_interrupted_change(const fs::path& path) {
    CYBELE_TRY(const bool is_waiting, is_interrupted(path));
    if (!is_waiting) {
        return {};
    }
    if (::access(path.c_str(), W_OK) == 0) {
        ChangeOptions in_place;
        in_place.may_copy = false;
        const ImageChange nothing = [](Table&, int) -> Result<ChangeOutcome> {
            return ChangeOutcome{false, {}, {}};
        };
        CYBELE_CHECK(change_image(path, nothing, in_place));
    }
    CYBELE_TRY(const bool is_still_waiting, is_interrupted(path));
    if (!is_still_waiting) {
        return {};
    }
    return fail(ErrorCode::kInput,
                "a change of " + printable(path.native()) + " was interrupted",
                "its bytes are no image without the journal beside it, and this user may not end "
                "the change",
                "let its owner do it: `cybelectl sign` or any other change ends it first");
}

} // namespace cybele::images
