// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cybele::images {

/// Lines of sh that read an image's own variables, /.singularity.d/env/*.sh, as the action scripts
/// of Apptainer 1.4.5 do: in order, a file that is there only, and behind 10-docker*.sh (the ENV of
/// an OCI image, whose PATH may be short) what every PATH has. No function around them: in one,
/// what bash `declare`s would be gone with it. A file may change the directory.
inline constexpr std::string_view kReadEnvironmentFiles = R"(cybele_complete() {
    for cybele_part in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do
        case ":$PATH:" in *":$cybele_part:"*) ;; *) PATH="$PATH:$cybele_part" ;; esac
    done
    export PATH
}
for cybele_file in /.singularity.d/env/*.sh; do
    [ -f "$cybele_file" ] || continue
    . "$cybele_file"
    case "$cybele_file" in */10-docker*.sh) cybele_complete ;; esac
done
unset -f cybele_complete
unset cybele_file cybele_part
)";

} // namespace cybele::images
