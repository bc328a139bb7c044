// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cybele::cli {

/// One verb on the way from the program to itself: `cybelectl`, `kube`, `render`.
using VerbPath = std::vector<const CLI::App*>;

/// The paths of all verbs, the program's own first, each before those below it.
[[nodiscard]] std::vector<VerbPath> all_verbs(const CLI::App& program);

/// `cybelectl-kube-render`, as man pages are named.
[[nodiscard]] std::string page_of(const VerbPath& path);

/// A verb's man page, in man(7), made from the table of options that `--help` prints.
///
/// The exit codes are those of docs/reference/exit-codes.md. Same program, same bytes.
[[nodiscard]] std::string man_page(const VerbPath& path);

} // namespace cybele::cli
