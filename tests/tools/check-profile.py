#!/usr/bin/env python3
"""check-profile.py RANKS SOURCE PROFILE.json TIMELINE.json PROFILE.html: whether they say what the program of SOURCE does."""
import json
import re
import sys

ranks, source, profile_file, timeline_file, page_file = int(sys.argv[1]), *sys.argv[2:6]
is_c = source.endswith(".c")


def check(is_true, what):
    if not is_true:
        sys.exit(f"check-profile: {what}")


# The lines of the places, by the words in their comments.
lines = {}
for number, line in enumerate(open(source), 1):
    found = re.search(r"(?://|!) ([a-z-]+)$", line.rstrip())
    if found and "MPI_" in line:
        lines[found[1]] = number

profile = json.load(open(profile_file))
check(profile["version"] == 1 and profile["missing_ranks"] == [] and profile["lost_calls"] == 0, "head")
check([one["rank"] for one in profile["processes"]] == list(range(ranks)), "ranks")
check(all(one["finalized"] and one["waited_seconds"] <= one["mpi_seconds"] for one in profile["processes"]), "times")

# Calls and bytes of each place, of all ranks.
ring = ranks * (10 * 100 + 100000)
expected = {
    "irecv": ("MPI_Irecv", 11 * ranks, ring),
    "send": ("MPI_Send", 11 * ranks, ring),
    "wait": ("MPI_Wait", 11 * ranks, 0),
    "allreduce": ("MPI_Allreduce", 7 * ranks, 7 * ranks * 4),
    "bcast": ("MPI_Bcast", ranks, ranks * 16),
    "barrier": ("MPI_Barrier", ranks, 0),
}
if is_c:
    expected["send-first"] = ("MPI_Send", ranks - 1, 8 * (ranks - 1))
    expected["recv-any"] = ("MPI_Recv", ranks - 1, 8 * (ranks - 1))
    expected["put"] = ("MPI_Put", ranks, ranks * 8)
    expected["accumulate"] = ("MPI_Accumulate", ranks, ranks * 4)
    expected["get"] = ("MPI_Get", ranks, ranks * 12)
    expected["send-init"] = ("MPI_Send_init", ranks, 0)
    expected["recv-init"] = ("MPI_Recv_init", ranks, 0)
    expected["start-messages"] = ("MPI_Startall", 5 * ranks, 2 * 5 * 40 * ranks)
    expected["bcast-init"] = ("MPI_Bcast_init", ranks, 0)
    expected["start-bcast"] = ("MPI_Start", 3 * ranks, 3 * 48 * ranks)
    expected["start-parts"] = ("MPI_Startall", ranks, 2000 * ranks)
    expected["ready"] = ("MPI_Pready", 4 * ranks, 2000 * ranks)
    expected["short"] = ("MPI_Iprobe", 10000 * ranks, 0)
    expected["mixed"] = ("MPI_Recv", 300, 4 if ranks > 1 else 0)
    expected["alltoall"] = ("MPI_Alltoall", ranks, ranks * ranks * 4)
sites = {site["line"]: site for site in profile["sites"] if site["line"]}
for word, (function, calls, count) in expected.items():
    if calls == 0:
        continue
    site = sites.get(lines[word], {})
    found = (site.get("function"), site.get("calls"), site.get("bytes"))
    check(found == (function, calls, count), f"{word}: {found}, not {(function, calls, count)}")
    check(site["file"].endswith(source.rsplit("/", 1)[-1]), f"{word}: {site['file']}")
    check(0 <= site["waited_seconds"] <= site["seconds"] and site["imbalance"] >= 0.99, f"{word}: {site}")
if is_c:
    # Most calls of these places are not timed; those that wait are.
    short, mixed = sites[lines["short"]], sites[lines["mixed"]]
    check(1e-9 < short["seconds"] / short["calls"] < 1e-5, f"short calls: {short}")
    check(ranks == 1 or 0.05 < mixed["waited_seconds"] < 20, f"a long call among short ones: {mixed}")
check(all(site["share"] <= 1 for site in profile["sites"]), "shares")

# Who sends to whom, without what the library sends for collective operations.
messages = {}
for rank in range(ranks):
    messages[rank, (rank + 1) % ranks] = [11 + 9, 101000 + 2200] if is_c else [11, 101000]
if is_c and ranks > 1:
    messages.setdefault((ranks - 1, 0), [0, 0])
    messages[ranks - 1, 0][0] += 1
    messages[ranks - 1, 0][1] += 4
if is_c:
    for rank in range(1, ranks):
        sum_of = messages.setdefault((rank, 0), [0, 0])
        sum_of[0] += 1
        sum_of[1] += 8
found = {(one["from"], one["to"]): [one["messages"], one["bytes"]] for one in profile["traffic"] if one["messages"]}
check(found == messages, f"traffic: {found}, not {messages}")
sizes = {(one["from"], one["to"]): one["messages"] for one in profile["message_sizes"]}
wanted = {(64, 127): 10 * ranks, (65536, 131071): ranks}
if is_c:
    wanted[32, 63] = 5 * ranks
    wanted[256, 511] = 4 * ranks
if is_c and ranks > 1:
    wanted[8, 15] = ranks - 1
    wanted[4, 7] = 1
check(sizes == wanted, f"sizes: {sizes}, not {wanted}")
broadcasts = [one for one in profile["collectives"] if one["function"] == "MPI_Start"]
check(not is_c or sum(one["calls"] for one in broadcasts) == 3 * ranks, broadcasts)
reductions = [one for one in profile["collectives"] if one["function"] == "MPI_Allreduce"]
check(sum(one["calls"] for one in reductions) == 7 * ranks and all(one["algorithm"] for one in reductions), reductions)

# The timeline: what the format asks for, and two ends of each arrow, within calls.
timeline = json.load(open(timeline_file))
slices, ends = {}, {"s": {}, "f": {}}
for event in timeline["traceEvents"]:
    check(event["ph"] in "MXsf" and isinstance(event["pid"], int) and isinstance(event["tid"], int), event)
    if event["ph"] == "M":
        continue
    check(isinstance(event["ts"], (int, float)) and event["ts"] >= 0 and event["name"], event)
    if event["ph"] == "X":
        check(event["dur"] >= 0 and event["args"]["waited_us"] <= event["dur"] + 0.002, event)
        slices.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    else:
        check(event["id"] not in ends[event["ph"]], f"twice: {event}")
        ends[event["ph"]][event["id"]] = event
check(ends["s"].keys() == ends["f"].keys(), "arrows with one end")
check(len(ends["s"]) == sum(number for number, _ in messages.values()), f"{len(ends['s'])} arrows")
for number, begin in ends["s"].items():
    end = ends["f"][number]
    check(begin["ts"] <= end["ts"] and begin["args"] == end["args"] and end["bp"] == "e", (begin, end))
    for event in (begin, end):
        inside = slices[event["pid"], event["tid"]]
        # The clocks of two ranks differ a little: an arrow that would go back in time ends when it begins.
        check(begin["ts"] == end["ts"] or any(start - 0.002 <= event["ts"] <= stop + 0.002 for start, stop in inside), f"outside of calls: {event}")
for own in slices.values():
    own.sort()
    check(all(first[1] <= second[0] + 0.002 for first, second in zip(own, own[1:])), "slices of a thread overlap")
check(timeline["otherData"]["lost_events"] == 0, timeline["otherData"])

page = open(page_file).read()
for load in ("http", "src=", "<script", "<link", "@import", "url("):
    check(load not in page, f"the page loads something: {load}")
check(page.count("<rect") == ranks * ranks and "MPI_Allreduce" in page and page.rstrip().endswith("</html>"), "page")
