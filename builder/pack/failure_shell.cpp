// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/failure_shell.hpp"

#include "builder/files/output.hpp"
#include "builder/files/workspace.hpp"
#include "builder/layers/changes.hpp"
#include "builder/layers/layers.hpp"
#include "builder/pack/failed_step.hpp"
#include "builder/pack/id_choice.hpp"
#include "builder/processes/fault_pipe.hpp"
#include "builder/steps/inside.hpp"
#include "images/squashfs/unpack.hpp"
#include "runtime/namespaces/children.hpp"
#include "runtime/namespaces/fake_root.hpp"
#include "support/error_pipe.hpp"
#include "support/own_folder.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChanges = "changes";
constexpr std::uint64_t kLookBytes = std::uint64_t{64} << 20U;

std::string build_command(const BuildRequest& request) {
    return "cybelectl build " + shell_quote(request.source.file.native());
}

Error layers_are_gone(const BuildRequest& request, const std::string& because) {
    return {ErrorCode::kInput,
            problem("failed-step-incomplete", "the failed step cannot be shown any more"),
            because,
            "let it fail again: `" + build_command(request) + "`"};
}

/// The step's tree, with a layer on top that takes what is changed.
class FailedTree {
public:
    FailedTree(const FoundFailedStep& found, const BuildRequest& request, const fs::path& work)
        : found_(found), request_(request), work_(work) {}

    Result<void> show(std::string_view owners) {
        const FailedStep& step = found_.step;
        OverlaySupport way = find_overlay_support(work_);
        if (step.owners != owners || (!step.layers.empty() && step.attributes != way.attributes)) {
            return fail(layers_are_gone(request_, "it was built as another user"));
        }
        if (way.attributes.empty()) {
            return unpack();
        }
        CYBELE_TRY(auto layers, Layers::make(work_ / "layers", std::move(way)));
        layers_.emplace(std::move(layers));
        for (const fs::path& layer : step.layers) {
            if (!registry::Cache::use({"steps", layer.stem().native(), layer, 0, 0, {}})) {
                return fail(layers_are_gone(request_, "a step before it is not cached any more"));
            }
            CYBELE_CHECK(layers_->add_squashfs(layer));
        }
        CYBELE_CHECK(layers_->add_squashfs(found_.squashfs));
        return layers_->begin();
    }
    [[nodiscard]] fs::path root() const {
        return layers_ ? layers_->root() : work_ / "tree";
    }
    /// What was changed, and takes the tree away.
    Result<std::string> end() {
        if (!layers_) {
            return std::string("# no overlay can be mounted here: changes are not known\n");
        }
        std::vector<fs::path> lowers = layers_->folders();
        std::reverse(lowers.begin(), lowers.end());
        CYBELE_TRY(const fs::path upper, layers_->end());
        return changes_as_commands(upper, lowers);
    }

private:
    Result<void> unpack() {
        CYBELE_CHECK(make_directories(root()));
        CYBELE_TRY(const UniqueFd fd, open_for_reading(found_.squashfs));
        CYBELE_TRY(const std::uint64_t size, file_size(fd.get(), found_.squashfs));
        return images::unpack_squashfs({fd.get(), 0, size}, root(), images::Whiteouts::kKept);
    }

    const FoundFailedStep& found_;
    const BuildRequest& request_;
    fs::path work_;
    std::optional<Layers> layers_;
};

/// In the namespaces of a build.
Result<int> open_shell(const FoundFailedStep& found,
                       const BuildRequest& request,
                       const FailureShell& look,
                       const HostEnvironment& host_environment,
                       std::string_view owners) {
    FailedTree tree(found, request, host_environment.work);
    CYBELE_CHECK(tree.show(owners));
    const ShellInside shell{found.step.state, look.terminal};
    InsideScript script{found.step.section, {}, {}, &shell};
    CYBELE_TRY(const ScriptEnd end, run_inside(tree.root(), script, host_environment));
    CYBELE_TRY(const std::string changes, tree.end());
    CYBELE_CHECK(write_file(host_environment.work / kChanges, look.tells_changes ? changes : ""));
    return end.code;
}

Result<int> open_apart(namespaces::IdMap map, const std::function<Result<int>()>& work) {
    CYBELE_TRY(namespaces::Pipe errors, namespaces::make_pipe());
    auto code = namespaces::run_in_namespaces(map, [&]() -> int {
        Result<int> result = 0;
        if (map == namespaces::IdMap::kOwnRoot) {
            if (auto faked = namespaces::fake_ownership(); !faked) {
                result = fail(std::move(faked.error()));
            }
        }
        if (result) {
            const auto guard = guarded([&] {
                result = work();
                return Result<void>();
            });
            result = guard ? std::move(result) : fail(guard.error());
        }
        if (!result) {
            send_error(errors.write.get(), result.error());
        }
        return result.value_or(1);
    });
    errors.write.reset();
    CYBELE_CHECK(end_of_child(errors.read.get(), 0));
    return code;
}

} // namespace

Result<FailureShellEnd> open_failure_shell(const BuildRequest& request,
                                           const FailureShell& look,
                                           const Environment& environment) {
    const registry::Cache cache(environment.cache_directory());
    CYBELE_CHECK(cache.check());
    const fs::path source = absolute_path(request.source.file);
    const auto found = find_failed_step(cache, source);
    if (!found) {
        return fail(
            ErrorCode::kInput,
            problem("no-failed-step",
                    "no failed step of " + printable(request.source.file.native()) + " is cached"),
            "a step that fails is cached until the source is built",
            "build it: `" + build_command(request) + "`");
    }
    const auto tell = [&](const std::string& line) { request.reporter.tell(line); };
    CYBELE_TRY(const namespaces::IdMap map, choose_map(tell));
    const fs::path temporary = building_directory(environment, kLookBytes);
    CYBELE_CHECK(make_own_folder(
        {temporary, "the tree that is shown", "CYBELE_TMPDIR", OwnFolder::kScratch}));
    CYBELE_TRY(const Workspace work, Workspace::make(temporary, map));
    CYBELE_TRY(HostEnvironment host_environment, find_surroundings(request, environment));
    host_environment.work = work.path();
    host_environment.has_one_id = map == namespaces::IdMap::kOwnRoot;
    host_environment.cache = cache.directory();
    host_environment.definition = source.native();
    host_environment.step_timeout = 0;
    tell(fmt::format("a shell where {} failed (exit code {}); `exit` ends it",
                     printable(found->step.kept.step),
                     found->step.code));
    FailureShellEnd result;
    CYBELE_TRY(result.code, open_apart(map, [&] {
                   return open_shell(*found, request, look, host_environment, owners_of(map));
               }));
    result.changes = read_file(work.path() / kChanges).value_or("");
    return result;
}

} // namespace cybele::builder
