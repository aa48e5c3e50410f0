//go:build modules

// Package modules_test asks the released packages' own argument parsers what command lines and environments resolve to,
// and compares that with what package identity makes of the same pods.
package modules_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// releases are those that the table was made from.
var releases = []string{"1.3.1", "1.5.1", "1.6.1"}

func TestModuleTable(t *testing.T) {
	for _, release := range releases {
		path := packages(t, release)
		t.Run(release, func(t *testing.T) {
			for _, m := range modules {
				t.Run(m.name, func(t *testing.T) {
					t.Parallel()
					m.compare(t, path, release)
				})
			}
		})
	}
}

// TestNotAsked names the rows of the table that nothing here checks.
func TestNotAsked(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(notAsked)) {
		t.Run(name, func(t *testing.T) { t.Skipf("dynamo.%s is not compared: %s", name, notAsked[name]) })
	}
}

// compare asks one module of one release.
func (m *module) compare(t *testing.T, path, release string) {
	var cases []testCase
	var questions []question
	for _, c := range m.cases {
		if c.in != "" && !strings.Contains(c.in, release) {
			continue
		}
		cases = append(cases, c)
		questions = append(questions, m.question(c))
	}
	answers, skip := ask(t, path, m.name, questions)
	if skip != "" {
		t.Skipf("dynamo.%s %s is not compared: %s", m.name, release, skip)
	}
	var n tally
	for i, c := range cases {
		t.Run(c.name(), func(t *testing.T) {
			require.Empty(t, answers[i].Broken)
			r := identity.Resolve(podOf(m.name, release, questions[i]), wiring.Settings{})
			n.judge(t, differences(&r, &answers[i]), c.ends[release], answers[i].Stopped)
		})
	}
	t.Logf("dynamo.%s %s: %d cases: %d equal, %d end and are doubted, %d end for other reasons",
		m.name, release, len(cases), n.equal, n.doubted, n.aside)
}

// tally counts what became of a module's cases.
type tally struct {
	// equal: the same values.
	equal int
	// doubted: the process ends, and identity calls something unknown, malformed or refused.
	doubted int
	// aside: the process ends for a reason that is not identity's to see.
	aside int
}

// judge decides on a case: its differences, and why the table of cases expects the process to end.
func (n *tally) judge(t *testing.T, found []string, ends, stopped string) {
	all := strings.Join(found, "\n")
	switch {
	case ends != "" && stopped == "":
		t.Errorf("it does not end, though: %s\n%s", ends, all)
	case len(found) == 0 && stopped == "":
		n.equal++
	case len(found) == 0:
		n.doubted++
	case ends != "":
		n.aside++
	default:
		t.Error(all)
	}
}
