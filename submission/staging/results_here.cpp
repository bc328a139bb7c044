// SPDX-License-Identifier: Apache-2.0
#include "submission/staging/pieces.hpp"
#include "submission/staging/results.hpp"
#include "submission/staging/write_part.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/own_links.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fnmatch.h>

namespace cybele::submission {

namespace fs = std::filesystem;

std::string root_of(const std::string& pattern) {
    fs::path root;
    for (const fs::path& part : fs::path(pattern).parent_path()) {
        if (part.native().find_first_of("*?[") != std::string::npos) {
            break;
        }
        root /= part;
    }
    return root.native();
}

bool is_match(const std::string& pattern, const std::string& name) {
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0 ||
           ::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME | FNM_LEADING_DIR) == 0;
}

namespace {

Error not_collected(const std::string& name, const Error& error) {
    const Fault& fault = error.faults().front();
    return {ErrorCode::kEnvironment,
            problem("result-refused", "the result " + printable(name) + " is not collected"),
            fault.because.empty() ? fault.message : fault.because,
            "remove that link, or name the other results: --results 'PATTERN'"};
}

class ResultsHere : public Results {
public:
    explicit ResultsHere(fs::path workdir) : workdir_(std::move(workdir)) {}

    Result<std::vector<ReadBack>> read(const std::vector<fs::path>& files) override {
        constexpr std::uint64_t kMost = std::uint64_t{16} << 20U;
        std::vector<ReadBack> back;
        back.reserve(files.size());
        for (const fs::path& file : files) {
            back.push_back(read_piece({file, 0, kMost}));
        }
        return back;
    }

    Result<std::vector<std::vector<std::string>>>
    list(const std::vector<std::string>& patterns) override {
        std::vector<std::vector<std::string>> found;
        found.reserve(patterns.size());
        for (const std::string& pattern : patterns) {
            found.push_back(matches(pattern));
        }
        return found;
    }

    Result<std::vector<ResultFile>> fetch(const std::vector<std::string>& names,
                                          const fs::path& into) override {
        std::vector<ResultFile> files;
        for (const std::string& name : names) {
            CYBELE_TRY(ResultFile file, copy(name, into / name));
            files.push_back(std::move(file));
        }
        return files;
    }

private:
    [[nodiscard]] std::vector<std::string> matches(const std::string& pattern) const {
        std::vector<std::string> found;
        std::error_code error;
        auto at = fs::recursive_directory_iterator(
            workdir_ / root_of(pattern), fs::directory_options::skip_permission_denied, error);
        for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
            const std::string name = at->path().lexically_relative(workdir_).native();
            std::error_code ignored;
            if (name == ".cybelectl") {
                at.disable_recursion_pending();
            } else if (is_match(pattern, name) && at->is_regular_file(ignored)) {
                found.push_back(name);
            }
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    [[nodiscard]] Result<ResultFile> copy(const std::string& name, const fs::path& to) const {
        const auto opened = open_file_past_own_links(workdir_ / name);
        if (!opened) {
            return fail(not_collected(name, opened.error()));
        }
        const fs::path from = "/proc/self/fd/" + std::to_string(opened->get());
        CYBELE_TRY(const Digest digest, sha256_file(from));
        std::error_code error;
        ResultFile file{name, fs::file_size(from, error), "sha256:" + hex(digest)};
        const PartialFile partial = partial_file(to);
        if (partial.digest == hex(digest)) {
            return file;
        }
        const bool is_begun = begins_with(from, partial.part, partial.part_digest);
        const auto mode = fs::status(from, error).permissions();
        CYBELE_CHECK(copy_here(CopyFor::kCollection,
                               {from,
                                to,
                                is_begun ? partial.part : 0,
                                hex(digest),
                                copied_mode(static_cast<unsigned>(mode)),
                                workdir_ / name}));
        return file;
    }

    fs::path workdir_;
};

} // namespace

std::unique_ptr<Results> results_here(const fs::path& workdir) {
    return std::make_unique<ResultsHere>(workdir);
}

} // namespace cybele::submission
