# SPDX-License-Identifier: Apache-2.0
# Sourced by ./test: what a run prints.
# shellcheck disable=SC2154 # logs and the columns of the table are of other files of tests/run

passed=0 failed=0 skipped=0
suites_run=0
failed_suites=()

# tenths_text TENTHS
tenths_text() { printf '%d.%d' $(($1 / 10)) $(($1 % 10)); }

# minutes_since SECONDS: of this process.
minutes_since() { tenths_text $(((SECONDS - $1) / 6)); }

# report_suite SUITE: its line, and its failures.
report_suite() {
    local name=${1//\//-} suite_passed=0 suite_failed=1 suite_skipped=0 seconds=0 cpu
    [[ ! -s $logs/$name.result ]] || read -r suite_passed suite_failed seconds suite_skipped <"$logs/$name.result"
    passed=$((passed + suite_passed)) failed=$((failed + suite_failed)) skipped=$((skipped + suite_skipped))
    cpu=$(awk '/^CPU seconds: / { printf "%d", $3 + $4 }' "$logs/$name.said")
    printf '%d\t%s\t%d\t%d\t%s\n' "$seconds" "$1" "$suite_passed" "$suite_failed" "${cpu:--}" >>"$logs/measured"
    suites_run=$((suites_run + 1))
    printf '%-34s %5d passed %3d failed %6s min\n' "$1" "$suite_passed" "$suite_failed" "$(tenths_text $((seconds / 6)))"
    [[ ! -e $logs/$name.skips ]] || sed 's/^/  /' "$logs/$name.skips"
    [[ $1 != tidy ]] || grep '^tidy: ' "$logs/tidy.log" || true
    ((suite_failed == 0)) || { failed_suites+=("$1") && show_failures "$name"; }
}

# show_failures NAME
show_failures() {
    local log=$logs/$1.log
    printf '  from %s:\n' "$log"
    {
        ends_of_failed_cases <"$log"
        grep -v '^not ok' "$log" | grep -nE -A 12 '# skip|ERROR:|error:|FAILED|\*\*\*' | head -n 80
    } | sed 's/^/  | /' || true
    grep -v '^CPU seconds: ' "$logs/$1.said" | tail -n 20 | sed 's/^/  | /' || true
}

# ends_of_failed_cases: of each case that failed, the first lines (which command) and the last (what it printed).
ends_of_failed_cases() {
    awk 'function show(  i) {
             for (i = 1; i <= n; i++) {
                 if (n <= 28 || i <= 8 || i > n - 18) print line[i]
                 else if (i == 9) printf "# ... %d lines left out\n", n - 26
             }
             n = 0
         }
         /^(ok|not ok) / { show() }
         /^not ok / || n > 0 { line[++n] = NR ":" $0 }
         END { show() }' | head -n 160
}

# show_minutes: the longest suites, beside what tests/suites.tsv states; and the CPU time. All of them: $logs/measured.
show_minutes() {
    local seconds suite cpu
    echo 'minutes of the longest suites (measured, stated, CPU):'
    while IFS=$'\t' read -r seconds suite _ _ cpu; do
        [[ $cpu == - ]] || cpu=$(tenths_text $((cpu / 6)))
        printf '  %-34s %6s %6s %6s\n' "$suite" "$(tenths_text $((seconds / 6)))" "$(tenths_text "${tenths_of[$suite]}")" "$cpu"
    done < <(sort -k 1,1nr -k 2 "$logs/measured" | sed -n '1,30p')
}

show_slowest() {
    local file
    echo 'the slowest cases (seconds):'
    for file in "$logs"/*.cases; do
        sed "s|\$|\t$(basename "$file" .cases)|" "$file"
    done | sort -k 1,1nr | awk -F '\t' 'NR <= 20 { printf "  %6.1f  %s: %s\n", $1 / 1000, $3, $2 }' # reads to the end: no SIGPIPE
}

# finish: the end of every run. What failed is repeated, for it was printed long before; the last line counts.
finish() {
    local suite
    if ((suites_run > 1)); then
        show_minutes
        show_slowest
        for suite in "${failed_suites[@]}"; do
            printf 'failed: %s\n' "$suite"
            show_failures "${suite//\//-}"
        done
    fi
    printf 'outputs: %s, %s min in all\n' "$logs" "$(minutes_since 0)"
    printf '%d passed, %d failed%s\n' "$passed" "$failed" "$( ((skipped == 0)) || echo ", $skipped skipped")"
    ((failed == 0))
}
