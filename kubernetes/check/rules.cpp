// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/rules.hpp"

#include "support/linter.hpp"

#include <array>

namespace cybele::kubernetes {
namespace {

using lint::Rule;
using lint::Severity;

constexpr auto kError = Severity::kError;
constexpr auto kWarning = Severity::kWarning;
constexpr auto kNote = Severity::kNote;

constexpr std::array kRules = {
    Rule{"K0",
         kError,
         "yaml that cannot be read",
         "it is not yaml, or readers of yaml differ on it",
         "fix the line",
         "2"},
    Rule{"K1",
         kError,
         "word without quotes that is not a text",
         "Kubernetes reads yaml 1.1: yes, no, on and off are flags, 017, 1e3 and 1_000 numbers, ~ "
         "is "
         "nothing",
         "put it in double quotes",
         "K1"},
    Rule{
        "K2",
        kNote,
        "word that readers of yaml interpret differently",
        "Kubernetes keeps 12:30:45 and dates as text, other readers make numbers and times of them",
        "put it in double quotes",
        "K2"},
    Rule{"K3",
         kError,
         "number or flag where a map of texts is read",
         "the server refuses it; through a loose definition it stops WLM-Operator for all jobs",
         "put the value in double quotes",
         "K3"},
    Rule{"K4",
         kError,
         "block that ends at its second line",
         "the first line is indented more than this one: the block ends there, and lines with # "
         "silently become comments",
         "indent the lines alike, or write |2",
         "K4"},
    Rule{"K5",
         kError,
         "directive indented less than its script",
         "it is a comment of the yaml, and the batch system never sees it",
         "indent it like the script",
         "K5"},
    Rule{"K6",
         kError,
         "script that is not a literal block",
         "everything after # is a comment, and > joins the lines",
         "write `|` and the script below it",
         "K6"},
    Rule{"K7",
         kError,
         "tab in the indentation",
         "yaml allows blanks only",
         "indent with blanks",
         "K7"},
    Rule{"K8",
         kWarning,
         "DOS line ends",
         "in blocks they are dropped silently, in quotes they stay and sbatch refuses them",
         "save the file with Unix line ends",
         "K8"},
    Rule{"K9",
         kError,
         "kind or field that the bridge does not know",
         "names are case-sensitive; kubectl refuses it, other clients drop the field silently",
         "write it as the bridge's definition does",
         "K9"},
    Rule{"K10",
         kError,
         "definition of a version that is gone",
         "servers since 1.22 know no apiextensions.k8s.io/v1beta1",
         "write `cybelectl kube crd KIND` instead",
         "K10"},
    Rule{
        "K11",
        kError,
        "name that no object may have",
        "RFC 1123, and at most 50 characters, since bridges append to it and pods' names end at 63",
        "use lower-case letters, digits and `-`",
        "K11"},
    Rule{"K12",
         kError,
         "label that the server refuses",
         "it is at most 63 letters, digits and - _ . with a letter or digit at both ends",
         "use these characters",
         "K12"},
    Rule{"K13",
         kError,
         "hostPath that is not an absolute path",
         "nothing expands $HOME or ~, and `..` is refused",
         "write an absolute path",
         "K13"},
    Rule{"K14",
         kError,
         "variable in a directive",
         "no shell reads directives: sbatch expands % alone",
         "write the absolute path",
         "K14"},
    Rule{"K15",
         kError,
         "relative results.from",
         "it starts at the working directory of the bridge's daemon",
         "write an absolute path",
         "K15"},
    Rule{"K16",
         kNote,
         "DirectoryOrCreate for results",
         "the folder is made by root with mode 0755, and a collector of an ordinary user cannot "
         "write "
         "there",
         "make the folder first, for the collector's user",
         "K16"},
    Rule{"K17",
         kError,
         "object too large",
         "ConfigMaps hold 1 MiB; kubectl apply keeps a copy in an annotation, and those hold 256 "
         "KiB",
         "put the program into a file of its own",
         "K17"},
    Rule{"K18",
         kError,
         "bytes that no text holds",
         "NUL and bytes that are not UTF-8 need binaryData",
         "write the script in UTF-8",
         "K18"},
    Rule{"K19",
         kError,
         "Job that starts its pod again",
         "backoffLimit is 6 unless it is written: a mirror Job that fails submits seven times",
         "write `backoffLimit: 0`",
         "K19"},
    Rule{"K20",
         kError,
         "Job without restartPolicy",
         "the server accepts Never or OnFailure only, and the default is Always",
         "write `restartPolicy: Never`",
         "K20"},
    Rule{"K21",
         kWarning,
         "grace period shorter than a cancel",
         "it covers preStop, SIGTERM and the cancel over the network; the default is 30 s",
         "write `terminationGracePeriodSeconds: 60` or more",
         "K21"},
    Rule{"K22",
         kWarning,
         "activeDeadlineSeconds",
         "the time in the batch system's queue counts too",
         "limit the run by the script's wall time",
         "K22"},
    Rule{"K23",
         kNote,
         "immutable ConfigMap with a fixed name",
         "it can never change, so the next submission is refused",
         "use a new name for each submission, or drop `immutable`",
         "K23"},
    Rule{"K24",
         kError,
         "label of an unlimited partition",
         "WLM-Operator makes -1 and 0 of UNLIMITED, and the server refuses all labels of the node",
         "ask the admin to set limits in red-box's configuration",
         "K24"},
    Rule{"K25",
         kError,
         "secret in a ConfigMap",
         "everybody who may read the namespace reads it",
         "put it into a Secret",
         "K25"},
    Rule{"K26",
         kError,
         "array",
         "the bridges report the first element only",
         "write one object an index",
         "K26"},
    Rule{"K28",
         kError,
         "directives of another batch system",
         "they are comments to the one that gets the script",
         "write them for the batch system of the kind",
         "K28"},
    Rule{"K29", kError, "duplicate key", "kubectl silently uses the last one", "keep one", "K29"},
    Rule{"K30",
         kWarning,
         "object before what it refers to",
         "several documents are made one after the other: the pod starts before its ConfigMap is "
         "there",
         "put ConfigMaps and Secrets first",
         "K30"},
    Rule{"K31",
         kError,
         "directive that crashes WLM-Operator",
         "it looks for a value after each word without =, and panics at the line's end, for all "
         "users",
         "write `--option=value`, and no option without value",
         "K31"},
    Rule{"K32",
         kError,
         "value that WLM-Operator cannot read",
         "it logs an error for ever; the object gets no status and no event",
         "write memory as a plain number of MB, times as H:M:S, counts as integers",
         "1.1"},
    Rule{
        "K33",
        kError,
        "nothing that WLM-Operator knows",
        "without --nodes, --time, --mem, --ntasks-per-node or --cpus-per-task the job never gets a "
        "pod",
        "write `#SBATCH --nodes=1` after the first line",
        "1.1"},
    Rule{"K34",
         kError,
         "directive that WLM-Operator misreads",
         "it splits at blanks, and uses the word after one without = as its value",
         "write one `--option=value` per line, without blanks and comments",
         "1.1"},
    Rule{"K35",
         kError,
         "directive after the first command",
         "batch systems read directives up to the first command only",
         "move it to the script's head",
         "1.1"},
    Rule{"K36",
         kWarning,
         "script and object differ",
         "two places say different things, and which one counts depends on the bridge",
         "make them say the same",
         "1.1, 1.5, 1.6"},
    Rule{"K37",
         kWarning,
         "results outside the job's directory",
         "the script does not write there, so nothing is found after the job",
         "name a file that the script writes",
         "1.3"},
    Rule{"K40",
         kError,
         "Pod for interLink without limits",
         "interLink asks for one core and one megabyte then",
         "write resources.limits with cpu and memory",
         "1.6"},
    Rule{"K41",
         kError,
         "annotation that slurm-bridge does not read",
         "it reads those of the top object only, and minutes as a plain number",
         "put it under the top object's metadata; write minutes",
         "1.7"},
    Rule{"K42",
         kWarning,
         "results that are several files",
         "WLM-Operator copies one file; a folder fails",
         "name one file",
         "1.3"},
    Rule{"K43",
         kNote,
         "kind of our own group, which needs a running bridge",
         "a server that has the definition accepts the object, and `cybelectl bridge run` executes "
         "it",
         "see whether one runs for its namespace: `cybelectl bridge status`",
         "K43"},
};

} // namespace

std::vector<const Rule*> check_rules() {
    std::vector<const Rule*> rules;
    rules.reserve(kRules.size());
    for (const Rule& rule : kRules) {
        rules.push_back(&rule);
    }
    return rules;
}

const Rule* find_check_rule(std::string_view id) {
    return lint::find_in(kRules, id);
}

std::string check_rules_page() {
    const std::string page =
        "# Rules of `kube check`\n\n"
        "After reading this page you can look up a rule of `kube check` by its id.\n\n"
        "An error is refused by a server, breaks the job or stops a bridge; a warning may; a note "
        "is advice.\n`kube check` ends with 3 at an error, and with `--strict` at a warning too. "
        "`cybelectl explain K19`\nshows one rule.\n\n"
        "A comment `# cybelectl: ignore K16, K22` disables rules on its own line or, where it "
        "stands alone,\non the next line that is not a comment; `# cybelectl: ignore-file K16` for "
        "the entire file.\nIn a "
        "script such a comment is a line of the script.\n\n";
    return page + lint::table_of(check_rules()) +
           "\n## See also\n\n[kube](kube.md), [how each bridge reads its "
           "object](kube-bridges.md)\n";
}

} // namespace cybele::kubernetes
