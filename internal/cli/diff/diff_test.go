package diff_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/dynawire/dynawire/internal/cli/diff"
)

func TestUnified(t *testing.T) {
	assert.Empty(t, diff.Unified("f", "a\nb\n", "a\nb\n"))
	assert.Equal(t, "--- f\n+++ f\n@@ -1,5 +1,6 @@\n 1\n 2\n+x\n 3\n 4\n-5\n+6\n", diff.Unified("f", "1\n2\n3\n4\n5\n", "1\n2\nx\n3\n4\n6\n"))
	assert.Equal(t, "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n", diff.Unified("f", "", "a"))
}

// Every line of both texts is in the diff, or is the same in both.
func TestApplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n"}), 0, 30)
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		got := diff.Unified("f", strings.Join(before, ""), strings.Join(after, ""))
		if joined := apply(t, before, got); joined != strings.Join(after, "") {
			t.Fatalf("%q applied is %q", got, joined)
		}
	})
}

func apply(t *rapid.T, before []string, text string) string {
	var out strings.Builder
	at := 0
	for line := range strings.Lines(text) {
		var from, n int
		switch {
		case strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++"):
		case strings.HasPrefix(line, "@@"):
			if _, err := fmt.Sscanf(line, "@@ -%d,%d", &from, &n); err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				from--
			}
			for ; at < from; at++ {
				out.WriteString(before[at])
			}
		case line[0] == '+':
			out.WriteString(line[1:])
		default:
			if before[at] != line[1:] {
				t.Fatalf("line %d is %q, the diff says %q", at, before[at], line)
			}
			if line[0] == ' ' {
				out.WriteString(line[1:])
			}
			at++
		}
	}
	return out.String() + strings.Join(before[at:], "")
}

func TestManyChangesTakeNoTime(t *testing.T) {
	before := strings.Repeat("a\nb\nc\nd\n", 50_000)
	after := strings.Repeat("a\nb\nx\ny\nc\nd\n", 50_000)
	start := time.Now()
	assert.NotEmpty(t, diff.Unified("f", before, after))
	assert.Less(t, time.Since(start), 10*time.Second)
}
