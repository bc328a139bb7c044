// SPDX-License-Identifier: Apache-2.0
#include "builder/stage.hpp"

#include "builder/archive.hpp"
#include "builder/output.hpp"
#include "builder/tidy.hpp"
#include "definitions/lines.hpp"
#include "definitions/scan.hpp"
#include "images/unpack_squashfs.hpp"
#include "support/digest.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;
using definitions::Section;

constexpr std::string_view kKind = "steps";
constexpr std::uint64_t kStepCacheBytes = std::uint64_t{10} << 30U;
/// To be raised when a step's result would differ for the same text.
constexpr std::string_view kStepFormat = "step 1";

class StageBuilder {
public:
    StageBuilder(StageContext& context, const StagePlan& plan)
        : context_(context), plan_(plan),
          root_(context.surroundings.work / fmt::format("stage-{}", context.roots.size())) {}

    /// What the stage's tree depends on; "" where that cannot be known.
    [[nodiscard]] Result<std::string> find_key();
    [[nodiscard]] Result<void> build();
    [[nodiscard]] const fs::path& root() const {
        return root_;
    }

private:
    [[nodiscard]] Result<void> run_host_script(const std::string& section,
                                               const std::string& text,
                                               const std::string& arguments);
    [[nodiscard]] Result<void> unpack_base();
    [[nodiscard]] Result<void> unpack_image();
    [[nodiscard]] Result<std::vector<Copy>> stage_copies(const Step& step) const;
    [[nodiscard]] Result<void> find_keys();
    [[nodiscard]] Result<std::size_t> start();
    [[nodiscard]] Result<void> run_step(const Step& step);
    [[nodiscard]] Result<void> run_script(const Step& step);
    [[nodiscard]] Result<void> keep(const std::string& key);
    [[nodiscard]] Result<void> write_metadata();
    [[nodiscard]] Result<void> test();
    [[nodiscard]] Error
    step_failed(const Section& section, const std::string& name, const ScriptEnd& end) const;
    [[nodiscard]] CopyFrom from_stage(const Step& step) const {
        return {context_.roots[step.from_stage], "/", true};
    }
    [[nodiscard]] const Section* last_section(std::string_view name) const;

    StageContext& context_;
    const StagePlan& plan_;
    fs::path root_;
    std::string base_key_;
    std::vector<std::string> keys_; ///< of the steps; empty: not known
};

Error StageBuilder::step_failed(const Section& section,
                                const std::string& name,
                                const ScriptEnd& end) const {
    Fault fault;
    fault.code = ErrorCode::kExecution;
    fault.message = end.code > 128 ? fmt::format("{} was killed by signal {}", name, end.code - 128)
                                   : fmt::format("{} failed with exit code {}", name, end.code);
    if (!end.last_lines.empty()) {
        fault.because = "the end of its output:\n" + end.last_lines;
        fault.help = "-v shows the whole output";
    }
    if (section.line > 0) {
        const std::string text =
            "%" + section.name + (section.arguments.empty() ? "" : " " + section.arguments);
        fault.where =
            definitions::fault_at(context_.request.definition_file.native(), section.line, text)
                .where;
    }
    return Error(std::move(fault));
}

const Section* StageBuilder::last_section(std::string_view name) const {
    const Section* last = nullptr;
    for (const Section& section : plan_.stage->sections) {
        last = section.name == name ? &section : last;
    }
    return last;
}

/// %pre and %setup: on the host, in the caller's directory, with the caller's environment.
Result<void> StageBuilder::run_host_script(const std::string& section,
                                           const std::string& text,
                                           const std::string& arguments) {
    const fs::path file = context_.surroundings.work / (section + ".script");
    CYBELE_CHECK(write_file(file, text, 0700));
    Command command;
    CYBELE_TRY(command.argv, script_command(arguments, file.native()));
    EnvironmentMap variables = context_.environment.all();
    variables["APPTAINER_ROOTFS"] = root_.native();
    variables["SINGULARITY_ROOTFS"] = root_.native();
    command.environment = std::move(variables);
    command.directory = absolute_path(context_.request.directory);
    if (context_.surroundings.is_verbose) {
        command.output = Command::Stream::kInherit;
        command.errors = Command::Stream::kInherit;
    }
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (!outcome.ok()) {
        const ScriptEnd end{outcome.shell_code(), "  " + printable(outcome.errors)};
        return fail(step_failed(*last_section(section), "%" + section, end));
    }
    return {};
}

/// A SIF, a bare squashfs, or a folder.
Result<void> StageBuilder::unpack_image() {
    std::error_code error;
    if (fs::is_directory(plan_.source, error)) {
        const fs::path copy = context_.surroundings.work / "folder.tar";
        CYBELE_CHECK(write_tar(plan_.source, copy));
        CYBELE_CHECK(extract_tar(copy, root_));
        return remove_tree(copy);
    }
    constexpr std::string_view kSquashfsMagic = "hsqs";
    CYBELE_TRY(const UniqueFd fd, open_for_reading(plan_.source));
    CYBELE_TRY(const std::uint64_t size, file_size(fd.get(), plan_.source));
    std::array<char, 4> magic{};
    if (size >= magic.size()) {
        CYBELE_CHECK(read_at(fd.get(), 0, std::as_writable_bytes(std::span(magic)), plan_.source));
    }
    if (std::string_view(magic.data(), magic.size()) == kSquashfsMagic) {
        return images::unpack_squashfs({fd.get(), 0, size}, root_);
    }
    CYBELE_TRY(const images::Image image, images::Image::open(plan_.source));
    CYBELE_TRY(const images::Descriptor partition, image.primary_partition());
    if (partition.fs_type() != images::FsType::kSquashfs) {
        return fail(ErrorCode::kInput,
                    "not yet: the root file system of " + printable(plan_.source.native()),
                    "it is no squashfs",
                    "convert the image with apptainer build");
    }
    return images::unpack_squashfs({image.fd(), partition.offset, partition.size}, root_);
}

Result<void> StageBuilder::unpack_base() {
    if (plan_.agent == "debootstrap") {
        CYBELE_CHECK(extract_tar(plan_.source, root_));
    } else if (plan_.agent == "localimage") {
        context_.report("unpack " + printable(plan_.source.native()));
        CYBELE_CHECK(unpack_image());
    }
    return images::write_base_layout(root_);
}

Result<std::vector<Copy>> StageBuilder::stage_copies(const Step& step) const {
    std::vector<Copy> copies;
    for (const definitions::FileLine& line : definitions::file_lines(*step.section)) {
        CYBELE_TRY(
            auto copy,
            find_sources(line, from_stage(step), {}, context_.request.definition_file.native()));
        copies.push_back(std::move(copy));
    }
    return copies;
}

/// Each key says all that a tree depends on: the base, every step before, the step itself.
Result<void> StageBuilder::find_keys() {
    base_key_ = plan_.base_key;
    std::error_code error;
    const bool wanted = std::any_of(
        plan_.steps.begin(), plan_.steps.end(), [](const Step& s) { return s.is_kept; });
    if (wanted && plan_.agent == "localimage" && fs::is_regular_file(plan_.source, error)) {
        CYBELE_TRY(const Digest digest, sha256_file(plan_.source));
        base_key_ = "localimage " + hex(digest);
    }
    std::string parent = plan_.stage->has("pre") ? "" : base_key_;
    for (const Step& step : plan_.steps) {
        Sha256 key;
        key.update(fmt::format("{}\n{}\n{}\n{}\n{}\n",
                               kStepFormat,
                               parent,
                               static_cast<int>(step.kind),
                               step.arguments,
                               step.text));
        if (wanted && step.kind == Step::Kind::kCopy) {
            for (const Copy& copy : step.copies) {
                add_to_digest(copy, {}, key);
            }
        } else if (step.kind == Step::Kind::kStageCopy && !context_.keys[step.from_stage].empty()) {
            // The other stage's key stands for its files, so that they need not be made to know it.
            key.update(context_.keys[step.from_stage]);
        } else if (wanted && step.kind == Step::Kind::kStageCopy) {
            CYBELE_TRY(const auto copies, stage_copies(step));
            for (const Copy& copy : copies) {
                add_to_digest(copy, from_stage(step), key);
            }
        }
        // What a script does on the host cannot be known.
        const bool is_known = !parent.empty() && step.kind != Step::Kind::kHostScript;
        parent = is_known ? hex(key.finish()) : "";
        keys_.push_back(parent);
    }
    return {};
}

/// The tree after the last step whose result is kept, else the base. Gives the next step's number.
Result<std::size_t> StageBuilder::start() {
    for (std::size_t i = plan_.steps.size(); i > 0; --i) {
        if (!plan_.steps[i - 1].is_kept || keys_[i - 1].empty()) {
            continue;
        }
        if (const auto kept = context_.cache.get(kKind, keys_[i - 1])) {
            for (std::size_t k = 0; k < i; ++k) {
                context_.report(plan_.steps[k].name + ": reused");
            }
            CYBELE_CHECK(extract_tar(*kept, root_));
            return i;
        }
    }
    CYBELE_CHECK(unpack_base());
    return std::size_t{0};
}

Result<void> StageBuilder::run_script(const Step& step) {
    if (step.text.find_first_not_of(" \t\r\n") == std::string::npos) {
        return {};
    }
    CYBELE_TRY(
        const ScriptEnd end,
        run_inside(root_, {step.section->name, step.arguments, step.text}, context_.surroundings));
    if (end.code != 0) {
        return fail(step_failed(*step.section, step.name, end));
    }
    return {};
}

Result<void> StageBuilder::run_step(const Step& step) {
    context_.report(step.name);
    switch (step.kind) {
    case Step::Kind::kCopy:
        for (const Copy& copy : step.copies) {
            CYBELE_CHECK(copy_files(copy, {}, root_));
        }
        return {};
    case Step::Kind::kStageCopy: {
        if (auto make = std::exchange(context_.put_off[step.from_stage], {})) {
            CYBELE_CHECK(make());
        }
        CYBELE_TRY(const auto copies, stage_copies(step));
        for (const Copy& copy : copies) {
            CYBELE_CHECK(copy_files(copy, from_stage(step), root_));
        }
        return {};
    }
    case Step::Kind::kHostScript:
        return run_host_script("setup", step.text, step.arguments);
    case Step::Kind::kScript:
        return run_script(step);
    }
    return {};
}

/// A result that cannot be kept (no space) costs the next build time, not this one its end.
Result<void> StageBuilder::keep(const std::string& key) {
    CYBELE_TRY(const auto lock, context_.cache.lock(kKind, key));
    std::error_code error;
    if (fs::exists(context_.cache.path(kKind, key), error)) {
        return {};
    }
    const auto put = context_.cache.put(
        kKind, key, [&](const fs::path& target) { return write_tar(root_, target); });
    if (!put) {
        context_.report("warning: the step's result is not kept: " + put.error().message());
    }
    return {};
}

Result<void> StageBuilder::write_metadata() {
    const definitions::Stage& stage = *plan_.stage;
    const auto arguments = [&](std::string_view name) {
        const Section* section = last_section(name);
        return section != nullptr ? section->arguments : std::string();
    };
    images::Metadata metadata;
    metadata.definition = context_.request.definition.text;
    metadata.environment = stage.joined("environment");
    metadata.runscript = stage.joined("runscript");
    metadata.runscript_arguments = arguments("runscript");
    metadata.startscript = stage.joined("startscript");
    metadata.startscript_arguments = arguments("startscript");
    metadata.test = stage.joined("test");
    metadata.test_arguments = arguments("test");
    metadata.has_test = metadata.test.find_first_not_of(" \t\r\n") != std::string::npos;
    metadata.help = stage.joined("help");
    for (auto& [key, value] : definitions::label_lines(stage.joined("labels"))) {
        metadata.labels[key] = value;
    }
    for (const auto& [key, value] : context_.request.labels) {
        metadata.labels[key] = value;
    }
    for (const auto& [key, value] : stage.header) {
        metadata.header_labels[key] = value;
    }
    metadata.build_time = context_.request.now;
    return images::write_metadata(root_, metadata);
}

Result<void> StageBuilder::test() {
    const Section* section = last_section("test");
    if (section == nullptr || !context_.request.run_tests ||
        plan_.stage->joined("test").find_first_not_of(" \t\r\n") == std::string::npos) {
        return {};
    }
    context_.report("%test");
    CYBELE_TRY(const ScriptEnd end, run_test(root_, context_.surroundings));
    if (end.code != 0) {
        return fail(step_failed(*section, "%test", end));
    }
    return {};
}

Result<std::string> StageBuilder::find_key() {
    CYBELE_CHECK(find_keys());
    return keys_.empty() ? base_key_ : keys_.back();
}

Result<void> StageBuilder::build() {
    CYBELE_CHECK(make_directories(root_));
    if (const Section* pre = last_section("pre")) {
        context_.report("%pre");
        CYBELE_CHECK(run_host_script("pre", plan_.stage->joined("pre"), pre->arguments));
    }
    CYBELE_TRY(const std::size_t first, start());
    for (std::size_t i = first; i < plan_.steps.size(); ++i) {
        CYBELE_CHECK(run_step(plan_.steps[i]));
        if (plan_.steps[i].is_kept && !keys_[i].empty()) {
            CYBELE_CHECK(keep(keys_[i]));
        }
    }
    context_.cache.prune(kKind, kStepCacheBytes);
    CYBELE_CHECK(tidy(root_));
    CYBELE_CHECK(write_metadata());
    return test();
}

} // namespace

Result<void> build_stage(StageContext& context, const StagePlan& plan, bool is_last) {
    const auto builder = std::make_shared<StageBuilder>(context, plan);
    CYBELE_TRY(const std::string key, builder->find_key());
    context.roots.push_back(builder->root());
    context.keys.push_back(key);
    context.put_off.emplace_back();
    if (!is_last && !key.empty()) {
        context.put_off.back() = [builder] { return builder->build(); };
        return {};
    }
    return builder->build();
}

} // namespace cybele::builder
