// SPDX-License-Identifier: Apache-2.0
#include "pipeline/folder_documents.hpp"

#include "pipeline/schemas.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

/// A copy of the file by a name that nothing has: `job.yaml.old`, `job.yaml.old-2`, …
Result<fs::path> keep_copy(const fs::path& file, std::string_view text) {
    for (unsigned number = 1;; ++number) {
        fs::path copy = file;
        copy += number == 1 ? ".old" : fmt::format(".old-{}", number);
        CYBELE_TRY(PendingFile pending, PendingFile::create(copy));
        CYBELE_CHECK(write_all(pending.fd(), text, copy));
        CYBELE_TRY(const bool is_made, pending.commit_new());
        if (is_made) {
            return copy;
        }
    }
}

/// Copies of the documents that are there with other bytes.
Result<std::vector<KeptDocument>> keep_documents(const FromFolder& plan) {
    std::error_code error;
    std::vector<KeptDocument> kept;
    for (const auto& [file, text] : plan.documents) {
        if (!fs::exists(file, error)) {
            continue;
        }
        const auto copy =
            read_file(file).and_then([&, &own = file, &now = text](const std::string& before) {
                return before == now ? Result<fs::path>(fs::path()) : keep_copy(own, before);
            });
        if (!copy) {
            for (const KeptDocument& one : kept) {
                fs::remove(one.copy, error);
            }
            return fail(copy.error());
        }
        if (!copy->empty()) {
            kept.push_back({file, *copy});
        }
    }
    return kept;
}

/// `made`: the files that were not there before.
Result<void> write_documents(const FromFolder& plan, std::vector<fs::path>& made) {
    std::error_code error;
    CYBELE_CHECK(make_directories(plan.folder));
    for (const auto& [file, text] : plan.documents) {
        const bool is_new = fs::symlink_status(file, error).type() == fs::file_type::not_found;
        CYBELE_CHECK(write_file(file, text));
        if (is_new) {
            made.push_back(file);
        }
    }
    CYBELE_CHECK(write_schemas(plan.folder, {"Recipe", "Job"}));
    return {};
}

} // namespace

Result<std::vector<KeptDocument>> write_from_folder(const FromFolder& plan, bool replaces) {
    std::error_code error;
    Faults faults;
    for (const auto& [file, text] : plan.documents) {
        if (!replaces && fs::symlink_status(file, error).type() != fs::file_type::not_found) {
            faults.add(
                Fault(ErrorCode::kInput,
                      problem("init-file-exists", printable(file.native()) + " exists already"),
                      "`init` replaces a file only where --force is given",
                      "add --force, which keeps a copy of it, or write elsewhere with -o"));
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    fs::path first_made; // the topmost folder that is not there yet
    for (fs::path folder = plan.folder; !folder.empty() && !fs::exists(folder, error);
         folder = folder.parent_path()) {
        first_made = folder;
    }
    CYBELE_TRY(std::vector<KeptDocument> kept, keep_documents(plan));
    std::vector<fs::path> made;
    auto written = write_documents(plan, made);
    if (!written) { // all or nothing
        for (const KeptDocument& one : kept) {
            fs::rename(one.copy, one.file, error);
        }
        for (const fs::path& file : made) {
            fs::remove(file, error);
        }
        if (!first_made.empty()) {
            fs::remove_all(first_made, error);
        }
        return fail(written.error());
    }
    return kept;
}

} // namespace cybele::pipeline
