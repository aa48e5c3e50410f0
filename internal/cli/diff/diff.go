// Package diff writes unified diffs. It is made for texts that differ by a few blocks of lines, of which it takes linear
// time: the usual algorithms take quadratic time for manifests, which repeat the same lines.
package diff

import (
	"fmt"
	"strings"
)

// context is how many unchanged lines stand around a change.
const context = 3

// span is where the lines a[aFrom:aTo] became b[bFrom:bTo].
type span struct{ aFrom, aTo, bFrom, bTo int }

// Unified is the diff of two texts of a file; empty where they are the same.
func Unified(name, before, after string) string {
	a, b := lines(before), lines(after)
	all := spans(a, b)
	if len(all) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("--- " + name + "\n+++ " + name + "\n")
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].aFrom-all[to-1].aTo <= 2*context {
			to++
		}
		hunk(&out, a, b, all[from:to])
		from = to
	}
	return out.String()
}

func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			line += "\n\\ No newline at end of file\n"
		}
		all = append(all, line)
	}
	return all
}

func spans(a, b []string) []span {
	var all []span
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if i < len(a) && j < len(b) && a[i] == b[j] {
			i, j = i+1, j+1
			continue
		}
		di, dj := gap(a[i:], b[j:])
		all = append(all, span{i, i + di, j, j + dj})
		i, j = i+di, j+dj
	}
	return all
}

// maxReplaced is how many lines are looked over that were both removed and added.
const maxReplaced = 8

// enough lines that are alike mean that the texts go on alike.
const enough = 2

// gap is how many lines of a and b are to be passed over until they go on alike.
func gap(a, b []string) (di, dj int) {
	for k := 1; k <= len(a) || k <= len(b); k++ {
		for m := 0; m <= min(k, maxReplaced); m++ {
			if alike(a, b, m, k) {
				return m, k
			}
			if alike(a, b, k, m) {
				return k, m
			}
		}
	}
	return len(a), len(b)
}

// alike reports whether a from i on begins as b from j on does.
func alike(a, b []string, i, j int) bool {
	if i > len(a) || j > len(b) {
		return false
	}
	a, b = a[i:], b[j:]
	n := min(enough, len(a), len(b))
	if n == 0 {
		return len(a) == len(b)
	}
	for k := range n {
		if a[k] != b[k] {
			return false
		}
	}
	return true
}

func hunk(out *strings.Builder, a, b []string, all []span) {
	first, last := all[0], all[len(all)-1]
	before, behind := min(context, first.aFrom), min(context, len(a)-last.aTo)
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		extent(first.aFrom-before, last.aTo+behind), extent(first.bFrom-before, last.bTo+behind))
	at := first.aFrom - before
	for _, s := range all {
		mark(out, " ", a[at:s.aFrom])
		mark(out, "-", a[s.aFrom:s.aTo])
		mark(out, "+", b[s.bFrom:s.bTo])
		at = s.aTo
	}
	mark(out, " ", a[at:last.aTo+behind])
}

// extent is the lines from:to as a diff has them: the first, counted from 1, and how many.
func extent(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func mark(out *strings.Builder, sign string, lines []string) {
	for _, line := range lines {
		out.WriteString(sign + line)
	}
}
