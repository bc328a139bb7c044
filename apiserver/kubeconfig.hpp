// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/access.hpp"
#include "support/yaml.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::apiserver {

/// Reads the files of kubectl. Of several, the first that names a cluster, user, context or the
/// current context decides; paths are relative to the file that has them.
class KubeconfigReader {
public:
    /// Without the credentials of files and programs, which Access reads.
    [[nodiscard]] static Result<Access> read(const std::string& files,
                                             const AccessOptions& options);

private:
    struct File {
        yaml::Document document;
        std::filesystem::path folder;
    };
    /// A mapping and the file that it is in.
    struct Part {
        const yaml::Node* node = nullptr;
        const File* file = nullptr;
    };
    struct Names {
        const char* list; ///< "clusters"
        const char* part; ///< "cluster"
    };

    [[nodiscard]] Result<void> open(const std::string& files);
    [[nodiscard]] Result<Part> find(Names names, const std::string& name) const;
    [[nodiscard]] Result<std::string> current_context() const;
    [[nodiscard]] Result<void> read_cluster(const Part& part, bool allows_insecure);
    [[nodiscard]] Result<void> read_user(const Part& part);
    [[nodiscard]] Result<void> read_program(const Part& part, const yaml::Node& node);
    [[nodiscard]] Result<Access::Source>
    read_source(const Part& part, const char* path_field, const char* data_field) const;
    [[nodiscard]] Error
    fault(const Part& part, const yaml::Node& node, Problem problem, std::string help) const;

    std::vector<File> files_;
    Access access_;
};

} // namespace cybele::apiserver
