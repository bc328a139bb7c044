// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/bindings.hpp"

#include "apiserver/patch.hpp"
#include "bridge/configuration/install.hpp"
#include "bridge/nodes/pod_view.hpp"
#include "support/boot_time.hpp"
#include "support/json.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace cybele::bridge {
namespace {

using BindingJson = nlohmann::json;
using apiserver::WriteResult;

constexpr std::chrono::milliseconds kPatienceOfBindings{20'000};
constexpr std::uint64_t kSeedOfBindings = 2000; ///< others' begin before it

} // namespace

/// The RoleBinding of one namespace.
class Bindings::Watcher : public apiserver::Observer {
public:
    Watcher(std::string space, std::string path)
        : space_(std::move(space)), path_(std::move(path)) {}

    void on_list_begin() override {
        known_.clear();
    }
    void on_object(BindingJson& binding) override {
        known_ = {{"metadata", member_of(binding, "metadata")}};
    }
    void on_deleted(BindingJson& /*binding*/) override {
        known_.clear();
    }
    void on_list_end() override {}
    void on_rewound(const std::string& /*seen*/, const std::string& /*now*/) override {
        known_.clear();
    }
    /// The watch of the objects says it of the server, and `bridge check` of a missing right.
    void on_error(const Error& /*error*/) override {}
    void on_recovered() override {}

    [[nodiscard]] const std::string& space() const {
        return space_;
    }
    [[nodiscard]] const std::string& path() const {
        return path_;
    }
    /// JSON patch that removes the finalizer; unset: it is not being deleted, or has none.
    [[nodiscard]] std::optional<std::string> patch() const {
        return member_text(member_of(known_, "metadata"), "deletionTimestamp").empty()
                   ? std::nullopt
                   : apiserver::remove_finalizer(known_, kBindingFinalizer, BindingJson::array());
    }

    bool is_pending = false;
    bool is_reported = false;

private:
    std::string space_;
    std::string path_;
    BindingJson known_;
};

Bindings::~Bindings() = default;

Bindings::Bindings(Settings settings,
                   apiserver::Transport& transport,
                   apiserver::Writer& writer,
                   std::uint64_t seed)
    : settings_(std::move(settings)), transport_(transport), writer_(writer),
      seed_(seed + kSeedOfBindings) {}

void Bindings::add_to(Pump& pump) {
    const std::string name = "cybelectl-bridge-" + settings_.bridge;
    for (const std::string& space : settings_.spaces) {
        apiserver::ListWatchSettings settings;
        settings.path = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + space + "/rolebindings";
        settings.selector = "fieldSelector=metadata.name%3D" + name;
        watchers_.push_back(std::make_unique<Watcher>(space, settings.path + "/" + name));
        watches_.push_back(std::make_unique<apiserver::ListWatch>(
            settings, transport_, *watchers_.back(), ++seed_));
        pump.add(*watches_.back());
    }
}

void Bindings::let_go(const std::function<bool(const std::string& space)>& is_needed) {
    for (const auto& binding : watchers_) {
        auto patch = binding->patch();
        if (!binding->is_pending && patch && !is_needed(binding->space())) {
            let_go(*binding, std::move(*patch));
        }
    }
}

void Bindings::let_go(Watcher& binding, std::string patch) {
    apiserver::Write write;
    write.path = binding.path();
    write.content_type = apiserver::kJsonPatch;
    write.body = std::move(patch);
    write.accept = apiserver::kMetadataOnly;
    write.patience = kPatienceOfBindings;
    write.on_end = [this, &binding](const WriteResult& outcome) {
        binding.is_pending = false;
        if (outcome.kind == WriteResult::Kind::kDone) {
            settings_.log({{}, {}, "Released", "the RoleBinding in " + binding.space()});
        } else if (outcome.error && outcome.kind != WriteResult::Kind::kConflict &&
                   !std::exchange(binding.is_reported, true)) {
            const Fault& fault = outcome.error->faults().front();
            settings_.log({{}, {}, "Trouble", fault.message + ": " + fault.because});
        }
    };
    binding.is_pending = writer_.submit(std::move(write), boot_time()).has_value();
}

} // namespace cybele::bridge
