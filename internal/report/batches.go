package report

import (
	"slices"
	"strconv"
	"strings"
)

// writersKept is of how many writers a Report knows the last batch: those that wrote last. A replica is a writer from its
// start to its end, and its last batch matters only until it knows whether that arrived.
const writersKept = 16

// batches are the last batches of writers, the latest writer first.
type batches []batch

type batch struct {
	writer string
	number uint64
}

// parseBatches reads "writer=number,…". What it cannot read it leaves out.
func parseBatches(s string) batches {
	var out batches
	for part := range strings.SplitSeq(s, ",") {
		writer, text, _ := strings.Cut(part, "=")
		if number, err := strconv.ParseUint(text, 10, 64); err == nil {
			out = append(out, batch{writer, number})
		}
	}
	return out
}

func (b batches) have(writer string, number uint64) bool {
	return slices.ContainsFunc(b, func(x batch) bool { return x.writer == writer && x.number >= number })
}

func (b batches) with(writer string, number uint64) batches {
	rest := slices.DeleteFunc(slices.Clone(b), func(x batch) bool { return x.writer == writer })
	return append(batches{{writer, number}}, rest[:min(len(rest), writersKept-1)]...)
}

// String is what parseBatches reads.
func (b batches) String() string {
	parts := make([]string, len(b))
	for i, x := range b {
		parts[i] = x.writer + "=" + strconv.FormatUint(x.number, 10)
	}
	return strings.Join(parts, ",")
}
