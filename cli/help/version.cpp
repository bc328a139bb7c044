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
namespace {

#if defined(__x86_64__)
constexpr std::string_view kBuiltFor = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view kBuiltFor = "aarch64";
#else
#error "name the processors that this program is built for"
#endif

} // namespace

std::string version_json() {
    return nlohmann::json{
               {"format", 1},
               {"version", CYBELE_VERSION},
               {"build", {{"linking", linking()}, {"compiler", __VERSION__}, {"arch", kBuiltFor}}},
               {"features",
                {{"schedulers", schedulers::dialect_names()},
                 {"imports", recipes::import_words()}}},
               {"templates", templates::TemplateSet().version()}}
               .dump(2) +
           "\n";
}

} // namespace cybele::cli
