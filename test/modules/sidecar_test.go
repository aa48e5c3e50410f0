//go:build modules

package modules_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// option is a long option of a clap program, with what its help says of it.
var (
	option   = regexp.MustCompile(`(?m)^ +(--[a-z-]+) <`)
	variable = regexp.MustCompile(`\[env: ([A-Z_]+)=`)
	byItself = regexp.MustCompile(`\[default: ([^\]]*)\]`)
)

// TestSidecars compares the sidecars' help with their rows: they are programs that dial an engine as soon as their command
// line is right, so no other answer is to be had from them.
func TestSidecars(t *testing.T) {
	for _, release := range releases {
		path := packages(t, release)
		for _, engine := range []string{"vllm", "sglang", "trtllm"} {
			t.Run(release+"/"+engine, func(t *testing.T) {
				if release == "1.3.1" {
					t.Skipf("dynamo.%s.sidecar 1.3.1 is not compared: there are no sidecars before 1.5", engine)
				}
				t.Parallel()
				help := string(runPython(t, path, nil, "-m", "dynamo."+engine+".sidecar", "--help"))
				compareHelp(t, engine+".sidecar", release, help)
			})
		}
	}
}

func compareHelp(t *testing.T, name, release, help string) {
	resolve := func(q question) *identity.Resolution {
		r := identity.Resolve(podOf(name, release, q), wiring.Settings{})
		require.NotNil(t, r.Process())
		return &r
	}
	r := resolve(question{})
	defaults := map[identity.Flag]string{
		identity.FlagNamespace: r.Identity.Namespace.Text, identity.FlagComponent: r.Identity.Component.Text,
		identity.FlagEndpoint: r.Identity.Endpoint.Text,
	}
	said := sections(help)
	for _, f := range r.Process().Module.Flags {
		text, ok := said[f.Name]
		if !ok && f.Flag == identity.FlagBackend && release == "1.5.1" {
			v := resolve(question{Args: []string{f.Name, "mem"}}).Process().Told(f.Flag)
			assert.False(t, v.Told(), "%s is a flag since 1.6", f.Name)
			continue
		}
		require.True(t, ok, "%s is in the table, and not in the help", f.Name)
		assert.Equal(t, f.Env, match(variable, text), f.Name)
		if want, ok := defaults[f.Flag]; ok {
			assert.Equal(t, want, match(byItself, text), f.Name)
		}
	}
	if assert.Contains(t, help, "is appended as `-{suffix}` unless it is empty or already present") {
		for namespace, want := range map[string]string{"x": "x-s", "x-s": "x-s", "xs": "xs-s"} {
			r = resolve(question{Env: map[string]string{"DYN_NAMESPACE": namespace, "DYN_NAMESPACE_WORKER_SUFFIX": "s"}})
			assert.Equal(t, want, r.Process().RegistersIn(r.Identity.Namespace.Text))
		}
	}
}

// sections are the parts of a help text by the option that they are about.
func sections(help string) map[string]string {
	parts := map[string]string{}
	found := option.FindAllStringSubmatchIndex(help, -1)
	for i, at := range found {
		end := len(help)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		parts[help[at[2]:at[3]]] = help[at[0]:end]
	}
	return parts
}

// match is the first group of the first match.
func match(re *regexp.Regexp, text string) string {
	if m := re.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
