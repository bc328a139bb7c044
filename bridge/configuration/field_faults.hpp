// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/configuration/configuration.hpp"
#include "support/document.hpp"

#include <string>
#include <utility>
#include <vector>

namespace cybele::bridge {

/// Faults at fields of the Bridge or of its Site.
class FieldFaults {
public:
    explicit FieldFaults(const Configuration& configuration) : configuration_(configuration) {}

    void add(const std::string& path, Problem what, std::string because, std::string help) {
        const launchers::Bridge& document = configuration_.document;
        add(document::fault_at(document.source,
                               document::mark_of(document.marks, path),
                               std::move(what),
                               std::move(because),
                               std::move(help)));
    }
    void add_of_site(const std::string& path, Problem what, std::string because, std::string help) {
        const launchers::Site& site = configuration_.cluster;
        add(document::fault_at(site.source,
                               document::mark_of(site.marks, path),
                               std::move(what),
                               std::move(because),
                               std::move(help)));
    }
    void add(Fault fault) {
        faults_.push_back(std::move(fault));
    }
    [[nodiscard]] std::vector<Fault> take() {
        return std::move(faults_);
    }

private:
    const Configuration& configuration_;
    std::vector<Fault> faults_;
};

} // namespace cybele::bridge
