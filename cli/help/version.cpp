// SPDX-License-Identifier: Apache-2.0
#include "cli/common/session.hpp"
#include "cli/help/linking.hpp"
#include "recipes/import/import.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "schedulers/scripts/render.hpp"
#include "templates/renderer.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace cybele::cli {

std::string version_json() {
    return nlohmann::json{
               {"format", 1},
               {"version", CYBELE_VERSION},
               {"build", {{"linking", linking()}, {"compiler", __VERSION__}, {"arch", "x86_64"}}},
               {"features",
                {{"schedulers", schedulers::dialect_names()},
                 {"imports", recipes::import_words()}}},
               {"templates", templates::TemplateSet().version()}}
               .dump(2) +
           "\n";
}

} // namespace cybele::cli
