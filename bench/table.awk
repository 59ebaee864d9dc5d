# Turns bench/run's raw lines "round implementation name unit best median" into the table and the JSON file.
# Rows are grouped by the part of the name before the first slash, in the order in which they were measured.
# A unit of "!" marks a run that failed. A group of collectives ends with the geometric mean of its ratios.

function larger_is_better(unit) { return unit == "MB/s" || unit == "GB/s" || unit == "M/s" }

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
    for (i = 1; i <= nsections; i++)
        for (k = 1; k <= count; k++) {
            split(seen[k], part, "/")
            if (part[1] == sections[i]) names[++sorted] = seen[k]
        }
    printf "%s, %d CPUs, ranks on CPUs %s; %s; load %s\n", model, ncpu, cpus, when, loadavg
    printf "%s of %d interleaved rounds%s", stat == "best" ? "best repetition" : "median of the medians", rounds, quick ? " (quick)" : ""
    if (n && impl[1] == "oxmpi" && n > 1) printf "; ratio: OxMPI against the best peer, above 1 = OxMPI is better"
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
            if (impl[1] == "oxmpi" && n > 1) printf "  %8s  %s", "ratio", "best peer"
            printf "\n"
        }
        printf "%-28s %-5s", name, unit[name]
        ours = value("oxmpi", name); peer = ""; which = ""
        for (i = 1; i <= n; i++) {
            v = value(impl[i], name)
            printf " %10s", shown(v)
            if (impl[i] != "oxmpi" && v != "" && (peer == "" || better(v + 0, peer + 0, unit[name]))) { peer = v; which = impl[i] }
        }
        ratio[name] = ""; bestpeer[name] = which
        if (impl[1] == "oxmpi" && ours != "" && peer != "" && ours > 0 && peer > 0) {
            ratio[name] = larger_is_better(unit[name]) ? ours / peer : peer / ours
            printf "  %8.2f  %s", ratio[name], which
            logs += log(ratio[name]); nlogs++
            if (ratio[name] < 1) behind++
        }
        printf "\n"
    }
    mean()

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

# Closes the section that was printed.
function mean() {
    if (section ~ /^coll/ && nlogs)
        printf "%-" (34 + 11 * n) "s  %8.2f  (%d of %d rows below 1)\n", "geometric mean", exp(logs / nlogs), behind, nlogs
    logs = nlogs = behind = 0
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
        if (ratio[name] != "") printf ", \"ratio\": %.4f, \"best_peer\": %s", ratio[name], quoted(bestpeer[name]) > json
        printf "}" > json
    }
    printf "\n  ],\n  \"failed\": [" > json
    first = 1
    for (k in failures) { printf("%s%s", (first ? "" : ", "), quoted(k)) > json; first = 0 }
    printf "]\n}\n" > json
    close(json)
}
