# Turns bench/run's raw lines "round implementation name unit best median" into the table and the JSON file.
# Rows are grouped by the part of the name before the first slash, in the order in which they were measured.
# A unit of "!" marks a run that failed. A group of collectives ends with the geometric mean of its ratios. Where an earlier
# build took part (oxmpi-base), every row is compared with it, every group has a mean, and a summary of all rows follows.

function larger_is_better(unit) { return unit == "MB/s" || unit == "GB/s" || unit == "M/s" || unit == "%" }

function better(a, b, unit) { return larger_is_better(unit) ? a > b : a < b }

# Sorts v[1..n] in place; n is a handful of rounds.
function sort(v, n,    i, j, t) {
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && v[j] < v[j - 1]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
}

function value(impl, name,    n, i, v, list) {
    if (!((impl, name) in best)) return ""
    if (stat == "best") return best[impl, name]
    n = split(medians[impl, name], list, " ")
    for (i = 1; i <= n; i++) v[i] = list[i] + 0
    sort(v, n)
    return v[int((n + 1) / 2)]
}

function shown(v) {
    if (v == "") return "-"
    if (v >= 1000) return sprintf("%.0f", v)
    if (v >= 100) return sprintf("%.1f", v)
    if (v >= 1) return sprintf("%.2f", v)
    return sprintf("%.3f", v)
}

function quoted(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); return "\"" s "\"" }

$4 == "!" { failures[$2 " " $3]++; next }

{
    if (!($3 in unit)) {
        seen[++count] = $3
        unit[$3] = $4
        split($3, part, "/")
        if (!(part[1] in known)) { known[part[1]] = 1; sections[++nsections] = part[1] }
    }
    key = $2 SUBSEP $3
    if (!(key in best) || better($5 + 0, best[key] + 0, $4)) best[key] = $5
    medians[key] = medians[key] " " $6
    if ($2 == "machine") machine[$3] = 1
}

END {
    n = split(order, impl, " ")
    for (i = 1; i <= n; i++) if (impl[i] == "oxmpi-base") has_base = 1
    has_peers = impl[1] == "oxmpi" && n > 1 + has_base
    for (i = 1; i <= nsections; i++)
        for (k = 1; k <= count; k++) {
            split(seen[k], part, "/")
            if (part[1] == sections[i]) names[++sorted] = seen[k]
        }
    printf "%s, %d CPUs, ranks on CPUs %s; %s; load %s\n", model, ncpu, cpus, when, loadavg
    printf "%s of %d interleaved rounds%s", stat == "best" ? "best repetition" : "median of the medians", rounds, quick ? " (quick)" : ""
    if (has_base) printf "; vs base: OxMPI against its earlier build, above 1 = the new one is better"
    if (has_peers) printf "; ratio: OxMPI against the best peer, above 1 = OxMPI is better"
    printf "\n"

    for (k = 1; k <= count; k++) if (names[k] in machine) {
        if (!heading++) printf "\n%-28s %-5s %10s\n", "the machine itself", "", ""
        printf "%-28s %-5s %10s\n", names[k], unit[names[k]], shown(value("machine", names[k]))
    }
    for (k = 1; k <= count; k++) {
        name = names[k]
        if (name in machine) continue
        split(name, part, "/")
        if (part[1] != section) {
            mean()
            section = part[1]
            printf "\n%-28s %-5s", section, ""
            for (i = 1; i <= n; i++) printf " %10s", impl[i]
            if (has_base) printf "  %8s", "vs base"
            if (has_peers) printf "  %8s  %s", "ratio", "best peer"
            printf "\n"
        }
        printf "%-28s %-5s", name, unit[name]
        ours = value("oxmpi", name); peer = ""; which = ""
        for (i = 1; i <= n; i++) {
            v = value(impl[i], name)
            printf " %10s", shown(v)
            if (impl[i] !~ /^oxmpi/ && v != "" && (peer == "" || better(v + 0, peer + 0, unit[name]))) { peer = v; which = impl[i] }
        }
        compare(name, ours)
        ratio[name] = ""; bestpeer[name] = which
        if (has_peers && ours != "" && peer != "" && ours > 0 && peer > 0) {
            ratio[name] = larger_is_better(unit[name]) ? ours / peer : peer / ours
            printf "  %8.2f  %s", ratio[name], which
            logs += log(ratio[name]); nlogs++
            if (ratio[name] < 1) behind++
        }
        printf "\n"
    }
    mean()
    if (has_base) summary()

    line = value("machine", "hop/line"); ring = value("machine", "hop/ring"); small = value("oxmpi", "latency/8")
    if (line != "" && small != "")
        printf "\nOxMPI's 8-byte half round trip is %.2f times hop/line and %.2f times hop/ring.\n", small * 1000 / line, small * 1000 / ring
    for (f in failures) {
        if (!failed++) printf "\nfailed runs:\n"
        printf "  %s (%d of %d rounds)\n", f, failures[f], rounds
    }
    if (json != "") write_json()
    if (failed) exit 1
}

# The new build against the earlier one, in one row.
function compare(name, ours,    earlier, r) {
    if (!has_base) return
    earlier = value("oxmpi-base", name)
    gain[name] = ""
    if (ours == "" || earlier == "" || ours <= 0 || earlier <= 0) { printf "  %8s", "-"; return }
    r = larger_is_better(unit[name]) ? ours / earlier : earlier / ours
    gain[name] = r
    printf "  %8.3f", r
    base_logs += log(r); base_rows++
    all_logs += log(r); all_rows++
    if (r < 0.97) slower[++nslower] = name
}

# Closes the section that was printed.
function mean(    width) {
    width = 34 + 11 * n
    if (has_base && base_rows) printf "%-" width "s  %8.3f", "geometric mean", exp(base_logs / base_rows)
    if (section ~ /^coll/ && nlogs) {
        if (!has_base) printf "%-" width "s", "geometric mean"
        else if (!base_rows) printf "%-" width "s  %8s", "geometric mean", "-"
        printf "  %8.2f  (%d of %d rows below 1)", exp(logs / nlogs), behind, nlogs
    }
    if ((has_base && base_rows) || (section ~ /^coll/ && nlogs)) printf "\n"
    logs = nlogs = behind = base_logs = base_rows = 0
}

# All rows against the earlier build, and those that lost more than 3 %.
function summary(    k) {
    if (!all_rows) return
    printf "\nagainst the earlier build: geometric mean %.3f over %d rows, %d of them below 0.97", exp(all_logs / all_rows), all_rows, nslower
    printf "%s\n", nslower ? ":" : ""
    for (k = 1; k <= nslower; k++) printf "  %-28s %.3f\n", slower[k], gain[slower[k]]
}

function write_json(    k, i, v, name, first) {
    printf("{\n  \"when\": %s, \"machine\": %s, \"cpus\": %s, \"load\": %s, \"stat\": %s, \"rounds\": %d, \"quick\": %s,\n  \"results\": [", \
        quoted(when), quoted(model), quoted(cpus), quoted(loadavg), quoted(stat), rounds, (quick ? "true" : "false")) > json
    for (k = 1; k <= count; k++) {
        name = names[k]
        printf("%s\n    {\"name\": %s, \"unit\": %s, \"values\": {", (k > 1 ? "," : ""), quoted(name), quoted(unit[name])) > json
        first = 1
        if (name in machine) printf "\"machine\": %s", value("machine", name) > json
        else for (i = 1; i <= n; i++) {
            v = value(impl[i], name)
            if (v == "") continue
            printf("%s%s: %s", (first ? "" : ", "), quoted(impl[i]), v) > json
            first = 0
        }
        printf "}" > json
        if (has_base && gain[name] != "") printf ", \"vs_base\": %.4f", gain[name] > json
        if (ratio[name] != "") printf ", \"ratio\": %.4f, \"best_peer\": %s", ratio[name], quoted(bestpeer[name]) > json
        printf "}" > json
    }
    printf "\n  ],\n  \"failed\": [" > json
    first = 1
    for (k in failures) { printf("%s%s", (first ? "" : ", "), quoted(k)) > json; first = 0 }
    printf "]\n}\n" > json
    close(json)
}
