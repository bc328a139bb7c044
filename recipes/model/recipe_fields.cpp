// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/recipe_fields.hpp"

#include "recipes/forms/recipe_rules.hpp"

#include <utility>

namespace cybele::recipes {
namespace {

using document::Field;
using document::Group;
using document::Shape;
using document::Table;
using document::Type;

constexpr Shape kText{.type = Type::kText};
constexpr Shape kValue{.type = Type::kValue};
constexpr Shape kTexts{.type = Type::kList, .item = &kText};
constexpr Shape kName{.type = Type::kName};
constexpr Shape kPath{.type = Type::kPath};
constexpr Shape kPaths{.type = Type::kList, .item = &kPath};
constexpr Shape kScript{.type = Type::kScript};
constexpr Shape kImage{.type = Type::kImage};

// base
constexpr std::string_view kArchWords[] = {"amd64", "arm64", "ppc64el", "riscv64", "s390x"};
constexpr Shape kArch{.type = Type::kWord, .words = kArchWords};
constexpr Shape kDistribution{.type = Type::kText, .rule = &kDistributionRule};
constexpr Field kBaseFields[] = {
    {"distribution", &kDistribution, "bootstrapped from its packages, as `debian:12`"},
    {"image", &kImage, "used without changes"},
    {"arch", &kArch, "the processors that it runs on", false, "amd64"},
    {"key", &kPath, "public key or Policy that the image must be signed by"},
};
constexpr std::string_view kBaseNames[] = {"distribution", "image"};
constexpr Group kBaseGroups[] = {{kBaseNames, true}};
constexpr Table kBaseTable{
    .title = "base", .fields = kBaseFields, .groups = kBaseGroups, .has_short_form = true};
constexpr Shape kBase{.type = Type::kMap, .table = &kBaseTable};

// mpi
constexpr std::string_view kFamilies[] = {"openmpi", "mpich", "mvapich2", "mvapich", "intel"};
constexpr std::string_view kOrigins[] = {"distribution", "source", "base"};
constexpr std::string_view kLauncherWords[] = {"mpirun", "srun"};
constexpr std::string_view kPmiWords[] = {"pmix", "pmi2"};
constexpr Shape kFamily{.type = Type::kWord, .words = kFamilies};
constexpr Shape kOrigin{.type = Type::kWord, .words = kOrigins};
constexpr Shape kLauncher{.type = Type::kWord, .words = kLauncherWords};
constexpr Shape kPmi{.type = Type::kWord, .words = kPmiWords};
constexpr Field kHostFields[] = {
    {"launcher", &kLauncher, "what starts the ranks there"},
    {"family", &kFamily, "whose MPI the host has"},
    {"version", &kText, "its version"},
    {"pmi", &kPmi, "how its ranks find each other"},
};
constexpr Table kHostTable{.title = "mpi.host", .fields = kHostFields};
constexpr Shape kHost{.type = Type::kMap, .table = &kHostTable, .scalar = &kPath};
constexpr Field kMpiFields[] = {
    {"family", &kFamily, "whose MPI the image gets", true},
    {"version", &kText, "unset: the distribution's"},
    {"from", &kOrigin, "where it comes from", false, "distribution"},
    {"host", &kHost, "the host's MPI, which must fit; or the path of a Site"},
};
constexpr Table kMpiTable{.title = "mpi", .fields = kMpiFields, .has_short_form = true};
constexpr Shape kMpi{.type = Type::kMap, .table = &kMpiTable};

// gpu, compilers
constexpr std::string_view kVendors[] = {"cuda", "rocm", "oneapi"};
constexpr Shape kVendor{.type = Type::kWord, .words = kVendors};
constexpr Field kGpuFields[] = {
    {"vendor", &kVendor, "whose GPUs", true},
    {"version", &kText, "of the tool kit"},
};
constexpr Table kGpuTable{.title = "gpu", .fields = kGpuFields, .has_short_form = true};
constexpr Shape kGpu{.type = Type::kMap, .table = &kGpuTable};
constexpr Field kCompilerFields[] = {
    {"family", &kText, "whose compilers", false, "gnu"},
    {"version", &kText, "unset: the distribution's"},
    {"target",
     &kText,
     "processors, as `x86-64-v3`, `armv8-a`; never the builder's own",
     false,
     "x86-64"},
};
constexpr Table kCompilerTable{
    .title = "compilers", .fields = kCompilerFields, .has_short_form = true};
constexpr Shape kCompilers{.type = Type::kMap, .table = &kCompilerTable};

// packages
constexpr Shape kPackage{.type = Type::kText, .rule = &kPackageRule};
constexpr Shape kPackageList{.type = Type::kList, .item = &kPackage};
constexpr Field kCondaFields[] = {
    {"channels", &kTexts, "conda channels, the first wins"},
    {"packages", &kTexts, "conda packages"},
};
constexpr Table kCondaTable{.title = "packages.conda", .fields = kCondaFields};
constexpr Shape kConda{.type = Type::kMap, .table = &kCondaTable};
constexpr std::string_view kBuildWords[] = {"autotools", "cmake", "make", "script"};
constexpr Shape kBuild{.type = Type::kWord, .words = kBuildWords};
constexpr Shape kSha256{.type = Type::kText, .rule = &kHexRule};
constexpr Shape kCommit{.type = Type::kText, .rule = &kCommitRule};
constexpr Field kSourceFields[] = {
    {"name", &kName, "of the program", true},
    {"url", &kText, "an archive"},
    {"sha256", &kSha256, "of the archive"},
    {"git", &kText, "a repository"},
    {"commit", &kCommit, "in it"},
    {"build", &kBuild, "how it is built", false, "autotools"},
    {"options", &kTexts, "for its configuration"},
    {"script", &kScript, "for `build: script`"},
};
constexpr std::string_view kSourceNames[] = {"url", "git"};
constexpr Group kSourceGroups[] = {{kSourceNames, true}};
constexpr Table kSourceTable{
    .title = "packages.source", .fields = kSourceFields, .groups = kSourceGroups};
constexpr Shape kSourceItem{.type = Type::kMap, .table = &kSourceTable};
constexpr Shape kSource{.type = Type::kList, .item = &kSourceItem};
constexpr std::string_view kManagerWords[] = {"apt", "dnf", "microdnf", "yum", "zypper", "apk"};
constexpr Shape kManager{.type = Type::kWord, .words = kManagerWords};
constexpr Shape kFlag{.type = Type::kFlag};
constexpr Shape kRepositoryUrl{.type = Type::kText, .rule = &kRepositoryUrlRule};
constexpr Shape kFingerprint{.type = Type::kText, .rule = &kFingerprintRule};
constexpr Shape kAptWord{.type = Type::kText, .rule = &kAptWordRule};
constexpr Shape kAptWords{.type = Type::kList, .item = &kAptWord};
constexpr Field kRepositoryFields[] = {
    {"url", &kRepositoryUrl, "its address; of RPMs the folder that holds `repodata`", true},
    {"suites", &kAptWords, "of apt, as `bookworm`; `./` of a flat one"},
    {"components", &kAptWords, "of apt, as `main`"},
    {"key", &kPath, "a file with the one OpenPGP key that signs it", true},
    {"fingerprint", &kFingerprint, "of this key, from its owner: another key ends with 4", true},
};
constexpr Table kRepositoryTable{.title = "packages.repositories", .fields = kRepositoryFields};
constexpr Shape kRepository{.type = Type::kMap, .table = &kRepositoryTable};
constexpr Shape kFurtherRepositories{.type = Type::kList, .item = &kRepository};
constexpr Field kPackagesFields[] = {
    {"system", &kPackageList, "for the base's package manager: `name[=version]`"},
    {"recommends", &kFlag, "also install the packages that those recommend", false, "false"},
    {"manager",
     &kManager,
     "the package manager of an image whose name does not show its distribution"},
    {"needs", &kTexts, "generic names, the same for every distribution"},
    {"pip", &kTexts, "requirement lines"},
    {"conda", &kConda, "conda packages"},
    {"spack", &kTexts, "specs"},
    {"source", &kSource, "programs built from source"},
    {"repositories",
     &kFurtherRepositories,
     "further repositories for `system`, of apt or dnf; removed after the installation"},
};
constexpr Table kPackagesTable{.title = "packages", .fields = kPackagesFields};
constexpr Shape kPackages{.type = Type::kMap, .table = &kPackagesTable};

// files, environment, steps
constexpr Shape kMode{.type = Type::kText, .rule = &kModeRule};
constexpr Field kFileFields[] = {
    {"from", &kPath, "relative to the Recipe's folder, or in the stage", true},
    {"to", &kPath, "absolute, in the image", true},
    {"mode",
     &kMode,
     "mode of the file, or of each file in the folder, as `\"0755\"`; unset: unchanged"},
    {"stage", &kName, "copy from that stage instead of the host"},
    {"allow",
     &kTexts,
     "private keys, tokens and `.env` files that are copied nevertheless: names, or paths below "
     "`from`"},
};
constexpr Table kFileTable{.title = "files", .fields = kFileFields};
constexpr Shape kFileItem{.type = Type::kMap, .table = &kFileTable};
constexpr Shape kFiles{.type = Type::kList, .item = &kFileItem};
constexpr Field kVariableFields[] = {
    {"prepend", &kPath, "put before the value, with a colon"},
    {"append", &kPath, "put after the value, with a colon"},
};
constexpr std::string_view kVariableNames[] = {"prepend", "append"};
constexpr Group kVariableGroups[] = {{kVariableNames, true}};
constexpr Table kVariableTable{
    .title = "environment value", .fields = kVariableFields, .groups = kVariableGroups};
constexpr Shape kVariable{.type = Type::kMap, .table = &kVariableTable, .scalar = &kValue};
constexpr Table kEnvironmentTable{
    .title = "environment", .rest = &kVariable, .rest_key = &kVariableRule};
constexpr Shape kEnvironment{.type = Type::kMap, .table = &kEnvironmentTable};
constexpr std::string_view kShells[] = {"sh", "bash"};
constexpr Shape kShell{.type = Type::kWord, .words = kShells};
constexpr Field kStepFields[] = {
    {"run", &kScript, "the commands", true},
    {"shell", &kShell, "what runs them; bash runs with `-eu -o pipefail`", false, "sh"},
    {"workdir", &kPath, "where; unset: `/`"},
    {"environment", &kFlag, "whether `environment` of the Recipe is set in it", false, "true"},
};
constexpr Table kStepTable{.title = "steps", .fields = kStepFields, .has_short_form = true};
constexpr Shape kStep{.type = Type::kMap, .table = &kStepTable};
constexpr Shape kSteps{.type = Type::kList, .item = &kStep};

constexpr Field kSharedFields[] = {
    {"mpi", &kMpi, "the MPI of the image"},
    {"gpu", &kGpu, "tool kit for GPUs"},
    {"compilers", &kCompilers, "compilers and target"},
    {"packages", &kPackages, "what to install"},
    {"files", &kFiles, "what to copy in"},
    {"environment", &kEnvironment, "at run time and in `steps`"},
    {"steps", &kSteps, "after packages and files; each is a cache step"},
};
constexpr Table kSharedTable{.title = "fields of a stage", .fields = kSharedFields};

// run, test, help, labels
constexpr Shape kRun{.type = Type::kArgvOrScript};
constexpr Table kLabelTable{.title = "labels", .rest = &kValue, .rest_key = &kLabelRule};
constexpr Shape kLabels{.type = Type::kMap, .table = &kLabelTable};

// stages, apps, when, matrix, image
constexpr Field kStageFields[] = {
    {"name", &kName, "for `files.stage`", true},
    {"base", &kBase, "unset: the top level's"},
};
constexpr Table kStageTable{.title = "stages", .fields = kStageFields, .more = &kSharedTable};
constexpr Shape kStageItem{.type = Type::kMap, .table = &kStageTable};
constexpr Shape kStages{.type = Type::kList, .item = &kStageItem};
constexpr Field kAppFields[] = {
    {"steps", &kSteps, "of its installation"},
    {"files", &kFiles, "what to copy in"},
    {"environment", &kEnvironment, "when it runs"},
    {"run", &kRun, "what it runs"},
    {"test", &kScript, "its test"},
    {"help", &kText, "one line for users"},
    {"labels", &kLabels, "its labels"},
};
constexpr Table kAppTable{.title = "an app", .fields = kAppFields};
constexpr Shape kApp{.type = Type::kMap, .table = &kAppTable};
constexpr Table kAppsTable{.title = "apps", .rest = &kApp, .rest_key = &kAppRule};
constexpr Shape kApps{.type = Type::kMap, .table = &kAppsTable};
constexpr Shape kAlternatives{.type = Type::kTextOrList};
constexpr Table kOnTable{.title = "when.on", .rest = &kAlternatives, .rest_key = &kArgumentRule};
constexpr Shape kOn{.type = Type::kMap, .table = &kOnTable};
constexpr Field kWhenFields[] = {
    {"on", &kOn, "`distribution`, `arch`, or an argument: text or list of alternatives", true},
    {"run", &kRun, "as at the top level"},
    {"test", &kScript, "as at the top level"},
    {"help", &kText, "as at the top level"},
    {"labels", &kLabels, "as at the top level"},
};
constexpr Table kWhenTable{.title = "when", .fields = kWhenFields, .more = &kSharedTable};
constexpr Shape kWhenItem{.type = Type::kMap, .table = &kWhenTable};
constexpr Shape kWhen{.type = Type::kList, .item = &kWhenItem};
constexpr Table kArgsTable{.title = "args", .rest = &kValue, .rest_key = &kArgumentRule};
constexpr Shape kArgs{.type = Type::kMap, .table = &kArgsTable};
constexpr Table kExcludeTable{.title = "matrix.exclude", .rest = &kText};
constexpr Shape kExcludeItem{.type = Type::kMap, .table = &kExcludeTable};
constexpr Shape kExcludeList{.type = Type::kList, .item = &kExcludeItem};
constexpr Field kMatrixFields[] = {
    {"exclude", &kExcludeList, "combinations that are left out"},
};
constexpr Table kMatrixTable{
    .title = "matrix", .fields = kMatrixFields, .rest = &kTexts, .rest_key = &kArgumentRule};
constexpr Shape kMatrix{.type = Type::kMap, .table = &kMatrixTable};
constexpr std::string_view kCompressionWords[] = {"zstd", "gzip"};
constexpr std::string_view kSbomWords[] = {"spdx", "none"};
constexpr Shape kCompression{.type = Type::kWord, .words = kCompressionWords};
constexpr Shape kSbom{.type = Type::kWord, .words = kSbomWords};
constexpr Field kImageFields[] = {
    {"compression", &kCompression, "`gzip` for old runtimes", false, "zstd"},
    {"sbom", &kSbom, "the list of what is inside", false, "spdx"},
};
constexpr Table kImageTable{.title = "image", .fields = kImageFields};
constexpr Shape kImageSettings{.type = Type::kMap, .table = &kImageTable};

constexpr Field kRecipeFields[] = {
    {"name", &kName, "also the SIF's name and labels", true},
    {"version", &kText, "also in the labels", false, "0"},
    {"base", &kBase, "what the image begins with", true},
    {"args", &kArgs, "defaults for `--arg x=v`; never a secret"},
    {"matrix", &kMatrix, "a variant for each combination"},
    {"include", &kPaths, "Recipes that are merged first"},
    {"when", &kWhen, "merged where every `on` matches"},
    {"run", &kRun, "the runscript; gets the arguments"},
    {"test", &kScript, "run at the end of the build, after the generated tests"},
    {"help", &kText, "one line for users"},
    {"labels", &kLabels, "of the image"},
    {"stages", &kStages, "earlier stages; the top level is the last stage and becomes the image"},
    {"apps", &kApps, "SCIF apps"},
    {"image", &kImageSettings, "form of the image file"},
};
constexpr Table kRecipeTable{.title = "Recipe", .fields = kRecipeFields, .more = &kSharedTable};
constexpr document::Kind kRecipe{
    .name = "Recipe", .description = "What a program needs.", .table = &kRecipeTable};

} // namespace

std::span<const std::string_view> arch_words() {
    return kArchWords;
}

std::string_view arch_word_of(std::string_view machine) {
    constexpr std::pair<std::string_view, std::string_view> kMachines[] = {
        {"x86_64", "amd64"}, {"x86-64", "amd64"}, {"aarch64", "arm64"}, {"ppc64le", "ppc64el"}};
    for (const auto& [own, word] : kMachines) {
        if (own == machine) {
            return word;
        }
    }
    return {};
}

const document::Kind& recipe_kind() {
    return kRecipe;
}

} // namespace cybele::recipes
