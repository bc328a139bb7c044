// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "support/document_view.hpp"

namespace cybele::launchers {

/// Parts of a Job that its reader and the Site's share, and the rules of `launch: batch`.
[[nodiscard]] Directives read_directives(const document::View& view);
[[nodiscard]] std::vector<Setup> read_setup(const document::View& root);
[[nodiscard]] std::vector<Teardown> read_teardown(const document::View& root);

/// A text, or `{expand: text}`.
[[nodiscard]] NodeText read_node_text(const document::View& view);
[[nodiscard]] std::vector<NodeText> read_node_texts(const document::View& root,
                                                    std::string_view field);
[[nodiscard]] std::map<std::string, NodeText> read_environment(const document::View& root);

/// Binds, environment, folders and files of the job.
void read_node_files(const document::View& root, Job& job);

/// Fields that need to know a folder before the job runs, next to one that the node knows.
void check_expanded(document::Reading& reading, const document::View& root, const Job& job);

/// The script's shell and arguments, modules, set-up, teardown and directives.
void read_batch(const document::View& root, Job& job);

/// What `launch: batch` requires, and fields that only it has.
void check_batch(document::Reading& reading, const document::View& root, const Job& job);

/// Whether the Job says how many tasks a node has; else a batch launch leaves it to the scheduler.
[[nodiscard]] bool has_placed_tasks(const document::Reading& reading);

} // namespace cybele::launchers
