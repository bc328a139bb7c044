// SPDX-License-Identifier: Apache-2.0
// What a Job says of files and variables of the node, as text or with `expand`.
#include "launchers/documents/job_parts.hpp"
#include "support/document_view.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

using document::Reading;
using document::View;

/// One of the two names of outputs: the batch system's own stays at its default.
void read_output(const View& output,
                 std::string_view field,
                 std::string& name,
                 std::string& there) {
    const NodeText text = read_node_text(output.table(field));
    if (!text.expands) {
        name = output.text(field);
    } else {
        there = text.text;
    }
}

struct NeedsFolder {
    std::string_view field;
    std::string_view because;
};
/// Files that are looked for below `workdir` by whoever submits.
constexpr std::array<NeedsFolder, 2> kNeedWorkdir{
    {{"output.results", "results are looked for below `workdir` by the one who fetches them"},
     {"stage-in", "files are copied below `workdir` before the job begins"}}};

} // namespace

NodeText read_node_text(const View& view) {
    return view.is_scalar() ? NodeText{view.scalar(), false}
                            : NodeText{view.text("expand"), view.has("expand")};
}

std::vector<NodeText> read_node_texts(const View& root, std::string_view field) {
    std::vector<NodeText> texts;
    for (const View& item : root.tables(field)) {
        texts.push_back(read_node_text(item));
    }
    return texts;
}

std::map<std::string, NodeText> read_environment(const View& root) {
    std::map<std::string, NodeText> values;
    for (const auto& [name, view] : root.entries("environment")) {
        values[name] = read_node_text(view);
    }
    return values;
}

void read_node_files(const View& root, Job& job) {
    const auto keep = [&job](const std::string& field, const NodeText& value) {
        if (value.expands) {
            job.expanded.insert(field);
        }
        return value.text;
    };
    for (const NodeText& bind : read_node_texts(root, "binds")) {
        job.binds.push_back(keep(fmt::format("binds[{}]", job.binds.size()), bind));
    }
    for (const auto& [name, value] : read_environment(root)) {
        job.environment[name] = keep("environment." + name, value);
    }
    const NodeText workdir = read_node_text(root.table("workdir"));
    (workdir.expands ? job.expanded_workdir : job.workdir) = workdir.text;
    job.folders = read_node_texts(root, "make");
    job.image_copy = read_node_text(root.table("image-copy"));
    job.input = read_node_text(root.table("input"));
    if (root.has("output")) {
        const View output = root.table("output");
        read_output(output, "stdout", job.output.standard_output, job.output.expanded_output);
        read_output(output, "stderr", job.output.standard_error, job.output.expanded_error);
        job.output.results = output.list("results");
        job.output.to = output.text("to");
    }
}

void check_expanded(Reading& reading, const View& root, const Job& job) {
    if (!job.expanded_workdir.empty()) {
        for (const NeedsFolder& row : kNeedWorkdir) {
            if (reading.marks().contains(std::string(row.field)) && reading.is_good(row.field)) {
                reading.complain(
                    row.field,
                    problem("field-with-expanded-workdir",
                            fmt::format("`{}` with a `workdir` that is expanded", row.field)),
                    std::string(row.because) + ", and only the node knows it",
                    "copy the files in `setup` and `teardown`, or write `workdir` "
                    "as plain text");
            }
        }
    }
    const View image = root.table("image");
    if (image.has("expand") && image.has("variant") && reading.is_good("image")) {
        reading.complain("image.variant",
                         problem("variant-without-recipe", "`variant` without a `recipe`"),
                         "it is a variant of the Recipe's matrix",
                         "remove `variant`");
    }
    if (root.has("image-copy") && !job.image && reading.is_good("image")) {
        reading.complain("image-copy",
                         problem("image-copy-without-image", "`image-copy` without an image"),
                         "there is nothing to copy",
                         "add `image`, or remove `image-copy`");
    }
}

} // namespace cybele::launchers
