// SPDX-License-Identifier: Apache-2.0
#include "recipes/stage/base.hpp"

namespace cybele::recipes {
namespace {

/// Images that are no files of SIF or folders, by what stands before them.
struct Scheme {
    std::string_view begin;
    std::string_view agent;
    bool is_remote; ///< NAME[:TAG], which a Lock makes NAME@DIGEST
};
constexpr Scheme kSchemes[] = {{"docker://", "docker", true},
                               {"oras://", "oras", true},
                               {"library://", "library", true},
                               {"shub://", "shub", false},
                               {"docker-daemon:", "docker-daemon", false},
                               {"docker-archive:", "docker-archive", false},
                               {"oci-archive:", "oci-archive", false},
                               {"oci:", "oci", false}};

/// `host:5000/name:tag` with a digest in the place of its tag.
std::string with_digest(const std::string& name, const std::string& digest) {
    const std::string plain = name.substr(0, name.find('@'));
    const auto slash = plain.rfind('/');
    const auto colon = plain.find(':', slash == std::string::npos ? 0 : slash);
    return plain.substr(0, colon) + "@" + digest;
}

bool is_better(const GpuRow& row, const GpuRow* best, bool is_last) {
    // a stage that compiles needs compilers; the one that is kept should be small
    const auto rank = [&](std::string_view flavour) {
        if (!is_last) {
            return flavour == "devel" ? 1 : 0;
        }
        return flavour == "runtime" ? 3 : flavour == "base" ? 2 : 1;
    };
    if (rank(row.flavour) == 0) {
        return false;
    }
    return best == nullptr ||
           (row.version == best->version ? rank(row.flavour) > rank(best->flavour)
                                         : true); // later rows are newer
}

const GpuRow* find_gpu(const WantedGpu& wanted, std::string_view release, bool is_last) {
    const GpuRow* best = nullptr;
    for (const auto& row : gpus()) {
        if (row.vendor == wanted.vendor && row.release == release &&
            (wanted.version.empty() || wanted.version == row.version) &&
            is_better(row, best, is_last)) {
            best = &row;
        }
    }
    return best;
}

/// The reader refuses a Recipe without one.
const Base& given_base(const Recipe& recipe) {
    static const Base none;
    return recipe.base ? *recipe.base : none;
}

} // namespace

const Base& base_of(const Recipe& recipe, const StageFields& fields) {
    return fields.base ? *fields.base : given_base(recipe);
}

const RecipeMpi& mpi_of(const Recipe& recipe, const StageFields& fields) {
    const Base& given = given_base(recipe);
    const bool has_same_base = !fields.base || (fields.base->distribution == given.distribution &&
                                                fields.base->image == given.image);
    return fields.mpi.family.empty() && has_same_base ? recipe.mpi : fields.mpi;
}

WantedGpu gpu_of(const Recipe& recipe, const StageFields& fields) {
    if (!fields.gpu_vendor.empty()) {
        return {fields.gpu_vendor, fields.gpu_version, {}};
    }
    if (fields.base) {
        return {};
    }
    return {recipe.gpu_vendor, recipe.gpu_version, "gpu"};
}

StageContext stage_context(const Recipe& recipe, std::size_t index, const LockVariant* lock) {
    StageContext context;
    context.recipe = &recipe;
    context.is_last = index == recipe.stages.size();
    context.is_alone = recipe.stages.empty();
    context.lock = lock;
    if (context.is_last) {
        context.fields = &recipe;
    } else {
        context.fields = &recipe.stages[index];
        context.prefix = "stages[" + std::to_string(index) + "].";
    }
    const Base& base = base_of(recipe, *context.fields);
    StageBase& own = context.base;
    if (base.image.empty()) {
        own.row = find_distribution(base.distribution);
        if (own.row == nullptr) {
            return context;
        }
        own.agent = own.row->agent;
        own.from = own.row->image;
        const WantedGpu wanted = gpu_of(recipe, *context.fields);
        if (!wanted.vendor.empty()) {
            own.gpu = find_gpu(wanted, own.row->id, context.is_last);
        }
        if (own.gpu != nullptr) {
            own.agent = "docker";
            own.from = own.gpu->image;
        }
        return context;
    }
    own.row = distribution_of_image(base.image);
    own.agent = "localimage";
    own.from = base.image;
    for (const Scheme& scheme : kSchemes) {
        if (!base.image.starts_with(scheme.begin)) {
            continue;
        }
        own.agent = scheme.agent;
        own.from = base.image.substr(scheme.begin.size());
        const std::string digest = lock == nullptr ? std::string() : lock->digest_of(base.image);
        if (scheme.is_remote && !digest.empty()) {
            own.from = with_digest(own.from, digest);
        }
        break;
    }
    return context;
}

std::vector<std::pair<std::string, std::string>> header_of(const StageBase& base,
                                                           const std::string& mirror) {
    if (base.agent != "debootstrap") {
        return {{"bootstrap", base.agent}, {"from", base.from}};
    }
    return {{"bootstrap", base.agent},
            {"osversion", std::string(base.row->suite)},
            {"mirrorurl", mirror.empty() ? "{{ mirror }}" : mirror},
            {"include", "ca-certificates"}};
}

} // namespace cybele::recipes
