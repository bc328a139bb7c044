// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/gpu_flags.hpp"

#include "runtime/containers/gpu.hpp"

namespace cybele::cli {

Result<void> check_gpu_flags(const Session& session, const OtherCall& call) {
    struct Row {
        std::string_view flag;
        runtime::GpuMaker maker;
    };
    constexpr Row kRows[] = {{"--nv", runtime::GpuMaker::kNvidia},
                             {"--nvccli", runtime::GpuMaker::kNvidia},
                             {"--rocm", runtime::GpuMaker::kAmd}};
    for (const Row& row : kRows) {
        if (!call.has(row.flag)) {
            continue;
        }
        const std::string flag(row.flag);
        if (!runtime::gpu_mounts(row.maker, false, session.environment).empty()) {
            return fail(ErrorCode::kEnvironment,
                        problem("apptainer-option-not-supported", flag + " is not supported"),
                        "build steps see no GPU; compile in the job instead");
        }
        session.inform_as_apptainer("Could not find any " + flag.substr(2) +
                                    " files on this host!");
    }
    return {};
}

} // namespace cybele::cli
