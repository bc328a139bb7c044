// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/bind_sources.hpp"
#include "runtime/containers/image_file.hpp"
#include "runtime/containers/runtime.hpp"
#include "support/error.hpp"

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

/// Namespaces and capabilities that options ask for.
namespace cybele::runtime {

/// What no container can be given, before one is made. kUsage: options that contradict each other
/// or have a wrong value; kEnvironment: what only root may ask for.
[[nodiscard]] Result<void> check_isolation(const Request& request, bool is_root);

/// By the name of Apptainer, root's --fakeroot needs a range of ids, too, unless root is another
/// user on the host.
[[nodiscard]] Result<void> check_range_of_root(const Request& request);

/// What Apptainer says of --security uid:N where root names a user that the host lacks.
void warn_of_unknown_user(const std::optional<uid_t>& uid);

/// As open_sources(), with what Apptainer says of a source that is missing where the image
/// lacks the mount point, too (of a SIF, which is not mounted yet: at a place that most images
/// lack).
[[nodiscard]] Result<std::vector<UniqueFd>>
open_sources_for(const ImageFile& file, std::vector<namespaces::Mount>& mounts);

/// What Apptainer says before the error of a mount point that a writable image lacks.
void warn_of_missing_place(const Error& error);

/// The IPC, UTS and network namespaces of the request, with the host name and the loopback
/// interface. This process has the right to make them.
[[nodiscard]] Result<void> isolate(const Request& request);

/// The capabilities that root keeps; nothing where it keeps all that it has.
[[nodiscard]] Result<std::optional<std::vector<int>>> kept_capabilities(const Request& request);

/// Those of --add-caps that a user's program has in the container's user namespace, as in
/// Apptainer; none by our own name.
[[nodiscard]] Result<std::vector<int>> given_capabilities(const Request& request);

/// The text of resolv.conf(5) that names the servers of --dns. kUsage: an address that is none.
[[nodiscard]] Result<std::string> resolv_conf_of(const std::string& servers);

/// The words of a list with commas, without blanks around them and without empty ones.
[[nodiscard]] std::vector<std::string> list_words(const std::vector<std::string>& lists);

} // namespace cybele::runtime
