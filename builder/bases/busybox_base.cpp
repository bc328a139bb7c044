// SPDX-License-Identifier: Apache-2.0
#include "builder/bases/busybox_base.hpp"

#include "builder/steps/inside.hpp"
#include "builder/steps/step_log.hpp"
#include "definitions/grammar/scan.hpp"
#include "images/inspection/container_architecture.hpp"
#include "images/sif/types.hpp"
#include "support/file.hpp"
#include "support/http.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBusyboxBases = "bases";
/// Whole builds of busybox have 1 to 3 MB.
constexpr std::uint64_t kMostProgramBytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t kHeadBytes = 64;
constexpr std::string_view kPlain = "http://";

std::string address_of(const StagePlan& plan) {
    return plan.stage->header_value("mirrorurl");
}

std::string cache_key(const StagePlan& plan) {
    return "busybox 1\n" + address_of(plan) + "\n";
}

Error refused(const std::string& address, std::string because) {
    return Error(
        ErrorCode::kInput,
        problem("busybox-wrong-file", printable(address) + " is not a busybox for this machine"),
        std::move(because),
        "name the program itself as MirrorURL, statically linked, for " +
            images::host_architecture());
}

/// An error page that came with status 200 has no such head.
Result<void> check_program(const fs::path& file, const std::string& address) {
    CYBELE_TRY(const UniqueFd fd, open_for_reading(file));
    CYBELE_TRY(const std::uint64_t size, file_size(fd.get(), file));
    std::string head(std::min<std::uint64_t>(size, kHeadBytes), '\0');
    CYBELE_CHECK(read_at(fd.get(), 0, std::as_writable_bytes(std::span(head)), file));
    const std::string architecture = images::elf_architecture(head);
    if (architecture.empty()) {
        return fail(refused(address, fmt::format("its {} bytes are not a program", size)));
    }
    if (architecture != images::host_architecture()) {
        return fail(refused(address, "it is a program for " + architecture));
    }
    return {};
}

Result<void>
fetch(const std::string& address, const AgentContext& context, const fs::path& target) {
    HttpRequest request;
    request.url = address;
    request.output = HttpOutput{target};
    request.access.ca_file = context.request.packages.ca_file;
    request.access.allows_plain = address.starts_with(kPlain); // the user wrote it
    request.limits.answer_size = kMostProgramBytes;
    const HttpClient client = HttpClient::find(context.environment, context.request.bases.program);
    CYBELE_TRY(const HttpResponse response, client.send(request));
    if (response.status != 200) {
        return fail(
            ErrorCode::kEnvironment,
            problem("busybox-not-fetched", fmt::format("cannot fetch {}", printable(address))),
            fmt::format("the server answers {}", response.status),
            "check MirrorURL");
    }
    return check_program(target, address);
}

Result<void> write_accounts(const fs::path& root) {
    CYBELE_CHECK(make_directories(root / "etc"));
    CYBELE_CHECK(write_file(root / "etc/passwd", "root:!:0:0:root:/root:/bin/sh\n"));
    CYBELE_CHECK(write_file(root / "etc/group", "root:x:0:\n"));
    return write_file(root / "etc/hosts",
                      "127.0.0.1   localhost localhost.localdomain localhost4 "
                      "localhost4.localdomain4\n");
}

} // namespace

Result<std::uint64_t> plan_busybox(StagePlan& plan, const BuildRequest& request) {
    const std::string address = address_of(plan);
    if (address.starts_with(kPlain) || address.starts_with("https://")) {
        return std::uint64_t{0};
    }
    return fail(
        Fault(ErrorCode::kInput,
              problem("busybox-mirror-unusable",
                      address.empty() ? "the header has no MirrorURL"
                                      : "MirrorURL is not an http or https address"),
              "the agent 'busybox' fetches the program itself from there",
              "add 'MirrorURL: https://HOST/…/busybox'",
              plan.stage->fault_at_header(request.source.file.native(), "mirrorurl").where));
}

Result<std::string> key_of_busybox(const StagePlan& plan, const AgentContext& context) {
    const auto known = context.request.use_cache
                           ? context.cache.peek(kBusyboxBases, cache_key(plan))
                           : std::optional<std::string>();
    return known ? "busybox " + *known : std::string();
}

Result<void> make_busybox(StagePlan& plan, const AgentContext& context) {
    const std::string address = address_of(plan);
    CYBELE_TRY(const auto lock, context.cache.lock(kBusyboxBases, cache_key(plan)));
    const auto known = context.request.use_cache ? context.cache.get(kBusyboxBases, cache_key(plan))
                                                 : std::optional<fs::path>();
    context.request.reporter.tell("bootstrap busybox: " +
                                  (known ? "reused" : "from " + printable(address)));
    if (!known && address.starts_with(kPlain)) {
        context.request.reporter.tell(
            "warning: nothing says that this is what its authors made: it "
            "comes over plain HTTP, without a checksum");
    }
    if (known) {
        plan.source = *known;
    } else {
        CYBELE_TRY(plan.source,
                   context.cache.put(kBusyboxBases, cache_key(plan), [&](const fs::path& target) {
                       return fetch(address, context, target);
                   }));
    }
    CYBELE_TRY(const std::string digest, read_file(plan.source.native() + ".sha256"));
    plan.base_key = "busybox " + digest;
    return {};
}

Result<void>
fill_by_busybox(const StagePlan& plan, const fs::path& root, const FillContext& context) {
    CYBELE_CHECK(write_accounts(root));
    CYBELE_CHECK(make_directories(root / "bin"));
    std::error_code error;
    fs::copy_file(plan.source, root / "bin/busybox", error);
    if (error || ::chmod((root / "bin/busybox").c_str(), 0755) != 0) {
        return fail(
            system_error("cannot write busybox into the tree", error ? error.value() : errno));
    }
    CYBELE_TRY(const ScriptEnd end,
               run_program(root, {"/bin/busybox", "--install", "/bin"}, context.host_environment));
    if (end.code != 0) {
        return fail(ErrorCode::kExecution,
                    problem("busybox-install-failed",
                            fmt::format("'busybox --install' failed with exit code {}", end.code)),
                    end.last_lines.empty() ? "" : "the end of its output:\n" + end.last_lines,
                    "name a complete, statically linked busybox as MirrorURL");
    }
    return {};
}

} // namespace cybele::builder
