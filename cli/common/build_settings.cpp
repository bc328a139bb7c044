// SPDX-License-Identifier: Apache-2.0
#include "cli/common/build_settings.hpp"

#include "cli/common/apptainer_build.hpp"
#include "cli/common/image_store.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace cybele::cli {

namespace {

struct Folder {
    std::string_view setting;
    const char* variable; ///< by which the libraries find it
};
constexpr Folder kFolders[] = {{"cache-dir", "CYBELE_CACHE_DIR"}, {"tmpdir", "CYBELE_TMPDIR"}};

/// The address of a server, of which the part before `://` is often left out.
Result<void> check_address(const std::string& option, const std::string& address) {
    const bool is_place = address.empty() || address.front() == '/' ||
                          address.find(':') < address.find('/') ||
                          address.find(' ') != std::string::npos;
    if (is_place) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("server-address",
                        option + ": '" + printable(address) + "' is not an address of a server"),
                "it begins with https:// or http://",
                "write `" + option + " https://" + printable(address) + "`");
}

/// What takes the time while stages are built at once: the line that is repeated meanwhile.
class StageWork {
public:
    std::string after(const builder::StepEvent& event) {
        if (event.kind == builder::StepEvent::Kind::kReused) { // took no time
            return current_;
        }
        current_ = event.line;
        if (event.stage.empty()) {
            return current_;
        }
        steps_[event.stage] = event.line;
        // A stage that copies from another one waits for it.
        constexpr std::string_view kCopies = "%files from ";
        if (event.step.starts_with(kCopies)) {
            const auto other = steps_.find(event.step.substr(kCopies.size()));
            current_ = other == steps_.end() ? event.line : other->second;
        }
        return current_;
    }

private:
    std::string current_ = "building the image";
    std::map<std::string, std::string> steps_; ///< the last line of each stage
};

} // namespace

unsigned cores() {
    return std::max(1U, std::thread::hardware_concurrency());
}

Result<pipeline::BuildSettings> build_settings(const Session& session, const BuildFlags& flags) {
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    const auto choose = [&settings](const std::string& flag, std::string_view setting) {
        return flag.empty() ? settings.get(setting) : flag;
    };
    pipeline::BuildSettings build;
    build.builder = choose(flags.builder, "builder");
    build.packages.mirror = choose(flags.mirror, "mirror");
    build.packages.is_mirror_set = flags.mirror.empty();
    build.packages.pip_index = flags.pip_index;
    CYBELE_CHECK(check_address("--mirror", build.packages.mirror));
    CYBELE_CHECK(check_address("--pip-index", build.packages.pip_index));
    build.packages.ca_file = choose(flags.access.ca_file, "ca-file");
    build.sign_key = choose(flags.sign_key, "sign-key");
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(const registry::Transport transport,
               make_transport(session, flags.access, client, ""));
    build.bases.access = transport.access;
    build.bases.program = session.program;
    CYBELE_TRY(build.bases.store, store_root(session));
    build.reporter.is_verbose = session.verbosity > 0;
    build.reporter.output = session.is_apptainer()  ? builder::StepOutput::kStreams
                            : session.verbosity > 0 ? builder::StepOutput::kErrors
                                                    : builder::StepOutput::kKept;
    // Outputs of stages that run at once would be mixed.
    build.stages_at_once = build.reporter.output != builder::StepOutput::kKept ? 1
                           : flags.jobs == 0                                   ? cores()
                                                                               : flags.jobs;
    build.time.now = session.now();
    build.time.is_deterministic = session.is_deterministic();
    const auto told = std::make_shared<ApptainerBuild>(
        session, flags.makes_sandbox, flags.updated, flags.fixes_permissions);
    if (session.prints_info) {
        build.reporter.on_phase = [told](const std::string& phase, const std::string& value) {
            told->phase(phase, value);
        };
    }
    build.reporter.on_step =
        [&session, told, work = std::make_shared<StageWork>()](const builder::StepEvent& event) {
            told->step(event);
            session.work(event.line);
            session.doing(work->after(event));
        };
    build.environment = session.environment;
    for (const Folder& folder : kFolders) {
        if (const std::string value = settings.get(folder.setting); !value.empty()) {
            build.environment.set(folder.variable, value);
        }
    }
    return build;
}

} // namespace cybele::cli
