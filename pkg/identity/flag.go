package identity

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity/shell"
)

// Flag is what a flag or its variable means, whatever a module calls it.
type Flag uint8

const (
	FlagNamespace Flag = iota
	FlagNamespacePrefix
	FlagEndpoint
	FlagComponent
	FlagBackend
	// FlagMode is --disaggregation-mode.
	FlagMode
	FlagModality
	FlagPrefillWorker
	FlagDecodeWorker
	FlagEncodeWorker
	// FlagBackendWorker is any flag that makes the component "backend" whatever the mode says.
	FlagBackendWorker
	FlagMultimodalWorker
	FlagRerankWorker
	// FlagConfig is a file that may hold the mode, or a planner's settings.
	FlagConfig
	// FlagStage is a stage of an omni pipeline, whose name is in a file.
	FlagStage
	FlagOmniRouter
	FlagHeadless
	FlagNodeRank
	FlagHTTPPort
	FlagGRPCServer
	FlagGRPCMetricsPort
	// FlagTLSCertificate makes a frontend serve HTTPS, FlagTLSClientCA makes it ask for a client's certificate.
	FlagTLSCertificate
	FlagTLSClientCA
	FlagRouterMode
	FlagServeIndexer
	// FlagWorkers is the number of runtimes that one process starts.
	FlagWorkers
	// FlagModel is the model to load, FlagModelName the name under which it is served; else that is FlagModel's.
	FlagModel
	FlagModelName
)

// FlagName is how a module spells a flag.
type FlagName struct {
	Flag Flag
	// Name with its dashes; empty where only the variable exists.
	Name string
	// Env is the variable behind the flag, or empty.
	Env string
	// Switch is a flag without a value.
	Switch bool
	// EmptyIsNone: an empty value falls back to the variable; elsewhere it counts.
	EmptyIsNone bool
	// From: the flag, but not the variable, exists from this release on.
	From Release
	// Shortest is the shortest abbreviation that argparse takes in every supported release. Empty: none is.
	Shortest string
	// Older is shorter still and was taken in releases before Until.
	Older string
	Until Release
}

// given is a flag as it stands in the arguments.
type given struct {
	// name is as written, value without the "=".
	name, value string
	flag        Flag
	// off is --no-name.
	off       bool
	inCommand bool
	// open is an abbreviation that some release takes and another refuses.
	open bool
	// none is an empty value that falls back to the variable.
	none bool
}

// flags reads the words after a module by the rules of argparse: --flag value, --flag=value, the last one wins, "--"
// ends the options, and a value does not begin with a dash. The first fromCommand words stand in the command. open tells
// that some word may stand for any number of flags.
func (m *Module) flags(words []string, fromCommand int, r Release) (all []given, open bool) {
	value := false // the word before may take this one
	for i := 0; i < len(words); i++ {
		word := words[i]
		if strings.HasPrefix(word, shell.Open) && !value {
			open = true
		}
		value = strings.HasPrefix(word, "--") && !strings.Contains(word, "=")
		if len(word) < 3 || word[0] != '-' || word[1] != '-' {
			if word == "--" {
				return all, open
			}
			continue
		}
		name, text, joined := strings.Cut(word, "=")
		f, doubtful := m.flag(name, r)
		if f == nil {
			continue
		}
		g := given{flag: f.Flag, name: name, value: text, inCommand: i < fromCommand, open: doubtful}
		value = value && !f.Switch
		if !f.Switch && !joined {
			if i+1 == len(words) || isOption(words[i+1]) {
				continue // argparse stops the process here
			}
			i++
			g.value, value = words[i], false
		}
		g.off = f.Switch && strings.HasPrefix(name, "--no-")
		g.none = f.EmptyIsNone && g.value == ""
		if all == nil {
			all = make([]given, 0, 4)
		}
		all = append(all, g)
	}
	return all, open
}

// isOption tells a word that argparse takes for an option and not for a value.
func isOption(word string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	negative := word[1] >= '0' && word[1] <= '9' || word[1] == '.'
	return !negative && !strings.Contains(word, " ")
}

// flag finds the flag that a word names; open where that depends on the release.
func (m *Module) flag(word string, r Release) (f *FlagName, open bool) {
	for i := range m.Flags {
		f := &m.Flags[i]
		if r.Before(f.From.Major, f.From.Minor) {
			continue
		}
		if f.Name == word || f.Switch && strings.HasPrefix(word, "--no-") && word[len("--no-"):] == f.Name[len("--"):] {
			return f, false
		}
	}
	if !m.Abbreviations || len(word) < len("--x") {
		return nil, false
	}
	for i := range m.Flags {
		if f := &m.Flags[i]; f.Shortest != "" && strings.HasPrefix(f.Name, word) {
			shortest := f.Shortest
			if f.Older != "" && r.Before(f.Until.Major, f.Until.Minor) {
				shortest = f.Older
			}
			return f, len(word) < len(shortest)
		}
	}
	return nil, false
}
