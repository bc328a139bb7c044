// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/import/blocks.hpp"
#include "recipes/import/import.hpp"
#include "recipes/import/lists.hpp"
#include "recipes/tables/tables.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes {

/// One building block with its options; a text stands for a block without any.
struct Block {
    const BlockRow* row = nullptr;
    const yaml::Node* name = nullptr;
    const yaml::Node* options = nullptr; ///< a map, or nothing
    Lines lines;
};

/// Puts building blocks into a Recipe: carry() for each, in their order, then place().
class Blocks {
public:
    Blocks(const ImportRequest& request, Ledger& ledger, Draft& draft)
        : request_(request), ledger_(ledger), draft_(draft) {}

    void carry(const Block& block);
    /// With an MPI from source, what compiles has a stage of its own.
    void place();

private:
    void lose(const Block& block, std::string because, std::string help = "say it in the Recipe");
    void pass_over(const yaml::Node& options, std::string_view used, const std::string& because);
    void needs(const Block& block, const yaml::Node& options);
    [[nodiscard]] const DistributionRow* release() const;
    [[nodiscard]] bool has_package(const std::string& need) const;
    void add_need(const std::string& need, bool is_for_building);
    void compilers(const Block& block, const yaml::Node& options);
    void mpi(const Block& block, const yaml::Node& options);
    void source(const Block& block, const yaml::Node& options);
    void system_packages(const Block& block, const yaml::Node& options);
    void pip(const Block& block, const yaml::Node& options);
    void conda(const Block& block, const yaml::Node& options);
    void texts(const Block& block, const yaml::Node& options);
    void variable(const yaml::Entry& entry);
    void files(const Block& block, const yaml::Node& options);
    void commands(const Block& block, const yaml::Node& options);
    const ImportRequest& request_;
    Ledger& ledger_;
    Draft& draft_;
    std::vector<std::string> needs_;
    std::vector<std::string> building_;
    std::vector<SourcePackage> sources_;
    bool has_installer_ = false;
};

} // namespace cybele::recipes
