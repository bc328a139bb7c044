// SPDX-License-Identifier: Apache-2.0
#include "cli/session.hpp"
#include "recipes/import/import.hpp"
#include "schedulers/render.hpp"
#include "templates/renderer.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace cybele::cli {

std::string version_json() {
#ifdef CYBELE_IS_STATIC
    constexpr std::string_view kLinking = "static";
#else
    constexpr std::string_view kLinking = "dynamic";
#endif
    return nlohmann::json{
               {"format", 1},
               {"version", CYBELE_VERSION},
               {"build", {{"linking", kLinking}, {"compiler", __VERSION__}, {"arch", "x86_64"}}},
               {"features",
                {{"schedulers", schedulers::dialect_names()},
                 {"imports", recipes::import_words()}}},
               {"templates", templates::TemplateSet().version()}}
               .dump(2) +
           "\n";
}

} // namespace cybele::cli
