# Turns the rows of bench-shim (part,what,variant,round,measure,value) into tables.
#
# Added cost is a difference, a ratio a quotient, of two runs in the same round; what is shown is the median over the
# rounds with the 5th and 95th percentile, or (for whole applications) the 95 % confidence interval of the median
# from order statistics (Conover, Practical Nonparametric Statistics, section 3.2), which assumes no distribution.

BEGIN { FS = "," }

NR > 1 {
    key = $1 SUBSEP $2 SUBSEP $5
    cell[key, $3, $4] = $6
    if (!((key, $3) in rounds)) rounds[key, $3] = 0
    if ($4 > rounds[key, $3]) rounds[key, $3] = $4
    if (!(($1, $2) in known)) { known[$1, $2] = 1; whats[$1, ++count[$1]] = $2 }
    if (!(($1, "variant", $3) in known)) { known[$1, "variant", $3] = 1; variants[$1, ++variant_count[$1]] = $3 }
}

END {
    calls_table(); cpu_table(); threads_table(); start_table(); processes_table(); applications_table(); size_table(); seen_table()
}

# --- numbers -----------------------------------------------------------------------------------------------------

function sort_sample(n,    i, j, x) {
    for (i = 2; i <= n; i++) {
        x = sample[i]
        for (j = i - 1; j >= 1 && sample[j] > x; j--) sample[j + 1] = sample[j]
        sample[j + 1] = x
    }
}

# The values of one variant (how = ""), or their differences ("-") or ratios ("/") to those of `base` in the same
# round, in `sample`, sorted; returns how many.
function gather(part, what, measure, variant, how, base,    key, round, n, a, b) {
    key = part SUBSEP what SUBSEP measure
    n = 0
    if (!((key, variant) in rounds)) return 0
    for (round = 1; round <= rounds[key, variant]; round++) {
        if (!((key, variant, round) in cell)) continue
        a = cell[key, variant, round]
        if (how != "") {
            if (!((key, base, round) in cell)) continue
            b = cell[key, base, round]
            a = how == "-" ? a - b : a / b
        }
        sample[++n] = a
    }
    sort_sample(n)
    return n
}

function quantile(n, p,    at, low) {
    at = 1 + (n - 1) * p
    low = int(at)
    return low >= n ? sample[n] : sample[low] + (at - low) * (sample[low + 1] - sample[low])
}

# The rank from either end that bounds the median with 95 % confidence, 0 when there are too few rounds.
function median_rank(n,    k, term, sum) {
    term = 0.5 ^ n
    sum = 0
    for (k = 0; sum + term <= 0.025; k++) {
        sum += term
        term *= (n - k) / (k + 1)
    }
    return k
}

function plain(n, form) { return n ? sprintf(form, quantile(n, 0.5)) : "–" }

function spread(n, form) {
    return n ? sprintf(form " (" form " … " form ")", quantile(n, 0.5), quantile(n, 0.05), quantile(n, 0.95)) : "–"
}

function interval(n,    k) {
    if (!n) return "–"
    k = median_rank(n)
    if (k == 0) return sprintf("%.4f (all: %.4f … %.4f)", quantile(n, 0.5), sample[1], sample[n])
    return sprintf("%.4f [%.4f, %.4f]", quantile(n, 0.5), sample[k], sample[n + 1 - k])
}

# --- tables ------------------------------------------------------------------------------------------------------

function heading(part, title) {
    if (!count[part]) return 0
    printf "## %s\n\n", title
    return 1
}

function table_head(columns,    n, i, cells) {
    n = split(columns, cells, "|")
    for (i = 1; i <= n; i++) printf "| %s ", cells[i]
    print "|"
    for (i = 1; i <= n; i++) printf i == 1 ? "|---" : "|---:"
    print "|"
}

# A traced program waits while the tracing one works: its own CPU time says nothing of the cost.
function is_shown(variant, measure) { return variant != "bare" && (measure != "cpu_ns" || variant !~ /trace /) }

# One row for each class of call: bare, then what each other variant adds.
function added_table(part, measure,    i, j, columns, what, n) {
    columns = "call|bare, ns"
    for (j = 1; j <= variant_count[part]; j++)
        if (is_shown(variants[part, j], measure))
            columns = columns "|" variants[part, j] " adds, ns"
    table_head(columns)
    for (i = 1; i <= count[part]; i++) {
        what = whats[part, i]
        n = gather(part, what, measure, "bare", "")
        printf "| %s | %s ", what, plain(n, "%.0f")
        for (j = 1; j <= variant_count[part]; j++)
            if (is_shown(variants[part, j], measure)) {
                n = gather(part, what, measure, variants[part, j], "-", "bare")
                printf "| %s ", spread(n, "%.0f")
            }
        print "|"
    }
    print ""
}

function calls_table() {
    if (!heading("call", "Cost per call, elapsed")) return
    print "Median over the rounds (p5 … p95). `two-clock-reads` is what any recorder that times calls pays at least; its cost"
    print "stands under *bare*. `fprintf+fflush` puts two calls on record (`fflush` and the `write` inside), `mpi-self` is the"
    print "mean of an `MPI_Irecv`, an `MPI_Send` and an `MPI_Wait`.\n"
    added_table("call", "elapsed_ns")
}

function cpu_table() {
    if (!heading("call", "Cost per call, CPU time")) return
    print "The calling thread's CPU time over all calls, growth of the trace file included.\n"
    added_table("call", "cpu_ns")
}

function threads_table(    i, what, class, n, one) {
    if (!heading("threads", "Cost per call with several threads, each on a file of its own (CPU time)")) return
    table_head("call and threads|bare, ns|with shim, ns|shim adds, ns|added / added with 1 thread")
    for (i = 1; i <= count["threads"]; i++) {
        what = whats["threads", i]
        class = what
        sub(/ .*/, "", class)
        printf "| %s ", what
        n = gather("threads", what, "cpu_ns", "bare", ""); printf "| %s ", plain(n, "%.0f")
        n = gather("threads", what, "cpu_ns", "shim", ""); printf "| %s ", plain(n, "%.0f")
        n = gather("threads", what, "cpu_ns", "shim", "-", "bare"); printf "| %s ", spread(n, "%.0f")
        if (what ~ / 1$/) one[class] = quantile(n, 0.5)
        printf "| %.2f |\n", one[class] ? quantile(n, 0.5) / one[class] : 0
    }
    print ""
}

function start_table(    j, variant, n) {
    if (!heading("start", "Start and stop: `/bin/true`")) return
    table_head("variant|µs|adds, µs|CPU added, µs")
    for (j = 1; j <= variant_count["start"]; j++) {
        variant = variants["start", j]
        scale("start", "true", variant)
        n = gather("start", "true", "elapsed_us", variant, ""); printf "| %s | %s ", variant, plain(n, "%.0f")
        if (variant == "bare") { print "| – | – |"; continue }
        n = gather("start", "true", "elapsed_us", variant, "-", "bare"); printf "| %s ", spread(n, "%.0f")
        n = gather("start", "true", "cpu_us", variant, "-", "bare"); printf "| %s |\n", spread(n, "%.0f")
    }
    print ""
}

function processes_table(    i, j, what, variant, n) {
    if (!heading("processes", "600 short processes, one after the other")) return
    table_head("how|variant|s|ratio|CPU time ratio")
    for (i = 1; i <= count["processes"]; i++)
        for (j = 1; j <= variant_count["processes"]; j++) {
            what = whats["processes", i]
            variant = variants["processes", j]
            n = gather("processes", what, "elapsed_ns", variant, "")
            printf "| %s | %s | %.2f ", what, variant, quantile(n, 0.5) / 1e9
            if (variant == "bare") { print "| – | – |"; continue }
            n = gather("processes", what, "elapsed_ns", variant, "/", "bare"); printf "| %s ", interval(n)
            n = gather("processes", what, "cpu_ns", variant, "/", "bare"); printf "| %s |\n", interval(n)
        }
    print ""
}

# Adds microseconds beside nanoseconds, for this variant and for bare.
function scale(part, what, variant,    unit, from, to, round, v, i, names) {
    names[1] = "bare"
    names[2] = variant
    for (unit = 1; unit <= 2; unit++) {
        from = part SUBSEP what SUBSEP (unit == 1 ? "elapsed_ns" : "cpu_ns")
        to = part SUBSEP what SUBSEP (unit == 1 ? "elapsed_us" : "cpu_us")
        for (i = 1; i <= 2; i++) {
            v = names[i]
            rounds[to, v] = rounds[from, v]
            for (round = 1; round <= rounds[from, v]; round++)
                cell[to, v, round] = cell[from, v, round] / 1000
        }
    }
}

function applications_table(    i, what, n, compared) {
    if (!heading("application", "Whole applications")) return
    print "Ratio with shim / bare, median and the 95 % confidence interval of the median (all ratios where the rounds are too"
    print "few for one).\n"
    compared = ("application", "variant", "before") in known
    table_head("application|rounds|bare, s|elapsed ratio|CPU time ratio" (compared ? "|elapsed, shim / before|CPU time, shim / before" : ""))
    for (i = 1; i <= count["application"]; i++) {
        what = whats["application", i]
        n = gather("application", what, "elapsed_ns", "bare", "")
        printf "| %s | %d | %.2f ", what, n, quantile(n, 0.5) / 1e9
        n = gather("application", what, "elapsed_ns", "shim", "/", "bare"); printf "| %s ", interval(n)
        n = gather("application", what, "cpu_ns", "shim", "/", "bare"); printf "| %s ", interval(n)
        if (compared) {
            n = gather("application", what, "elapsed_ns", "shim", "/", "before"); printf "| %s ", interval(n)
            n = gather("application", what, "cpu_ns", "shim", "/", "before"); printf "| %s ", interval(n)
        }
        print "|"
    }
    print ""
}

function number(part, what, variant, measure) { return cell[part, what, measure, variant, 1] }

function size_table(    i, what, events, bytes, files) {
    if (!heading("size", "Size of the trace, raw and packed (`syn pack`, `syn pack --exact`)")) return
    table_head("run|events|threads|bytes|bytes per event|packed|packed exactly")
    for (i = 1; i <= count["size"]; i++) {
        what = whats["size", i]
        events = number("size", what, "shim", "events")
        bytes = number("size", what, "shim", "bytes")
        files = number("size", what, "shim", "threads")
        printf "| %s | %d | %d | %d | %.1f | %.2f | %.2f |\n", what, events, files, bytes, bytes / events,
            number("size", what, "shim", "packed") / events, number("size", what, "shim", "exactly_packed") / events
    }
    print ""
}

function seen_table(    i, j, what) {
    if (!heading("seen", "What each recorder had on record")) return
    print "Calls found in its output; `made` is how many the program made.\n"
    printf "| call | made "
    for (j = 1; j <= variant_count["seen"]; j++) if (variants["seen", j] != "made") printf "| %s ", variants["seen", j]
    printf "|\n|---|---:"
    for (j = 2; j <= variant_count["seen"]; j++) printf "|---:"
    print "|"
    for (i = 1; i <= count["seen"]; i++) {
        what = whats["seen", i]
        printf "| %s | %d ", what, number("seen", what, "made", "calls")
        for (j = 1; j <= variant_count["seen"]; j++)
            if (variants["seen", j] != "made") printf "| %d ", number("seen", what, variants["seen", j], "calls")
        print "|"
    }
    print ""
}
