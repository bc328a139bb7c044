// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/steps/download_watch.hpp"
#include "builder/steps/packages.hpp"
#include "images/inspection/layout_root.hpp"
#include "registry/cache/cache.hpp"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>

/// What pip downloads in a step, kept by content for every later step that names the same digests.
namespace cybele::builder {

/// The digests of `--hash=sha256:DIGEST` in a script that runs `pip install`, as its requirements
/// name them, in hexadecimal. None where the script also runs `pip download` or `pip wheel` or asks
/// for a `--report`, which show where a file came from, or says `--no-index`.
[[nodiscard]] std::set<std::string> named_digests(std::string_view script);

/// A kept file is found by a digest that the script itself names, and pip compares it with that
/// (--require-hashes): so nothing of this has to be trusted. What pip fetches is copied as it comes
/// (DownloadWatch), and kept where its digest is one of them.
class StepWheels {
public:
    /// `work`: a folder of this step's own, emptied first.
    StepWheels(registry::Cache cache,
               images::RootDirectory tree,
               std::filesystem::path work,
               std::string definition,
               std::set<std::string> digests);

    /// Before the script: copies what is kept below `brought`. The page below it that lists that,
    /// for pip's --find-links; empty: there is nothing.
    [[nodiscard]] std::filesystem::path begin(const std::filesystem::path& brought);
    /// After it.
    [[nodiscard]] PackageCount end();

private:
    /// The file's name in the folder; empty where it is not there.
    [[nodiscard]] std::string lay(const std::string& digest,
                                  const std::filesystem::path& folder) const;
    [[nodiscard]] PackageCount keep() const;

    registry::Cache cache_;
    images::RootDirectory tree_;
    std::filesystem::path work_;
    PackageCache packages_;
    std::set<std::string> digests_;
    std::unique_ptr<DownloadWatch> fetched_;
    std::unique_ptr<DownloadWatch> used_;
};

} // namespace cybele::builder
