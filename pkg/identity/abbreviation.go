package identity

import "strings"

// Abbreviation is a word of the arguments that begins an identity flag and is none itself.
type Abbreviation struct {
	// Word is as written, Flag the whole name.
	Word, Flag string
	Field      Field
	// Taken: the module takes it for the flag, in some release at least.
	Taken bool
}

// Abbreviations are those that stand behind the module, be they taken or not. They are rare: the command is read again
// only where some word looks like one.
func (p *Process) Abbreviations() []Abbreviation {
	if p.Module == nil || !p.mayAbbreviate() {
		return nil
	}
	env := p.env
	env.set, env.cleared = nil, false
	inv := env.recognise(env.words(nil), len(p.Container.Command), nil, 0)
	if inv.module != p.Module {
		return nil
	}
	var found []Abbreviation
	for i, word := range inv.words {
		if word == "--" {
			break
		}
		name, _, _ := strings.Cut(word, "=")
		if flag, taken := p.Module.abbreviated(name); flag != "" {
			at := p.At.Args()
			if i < inv.fromCommand {
				at = p.At.Command()
			}
			found = append(found, Abbreviation{name, flag, at, taken})
		}
	}
	return found
}

// mayAbbreviate looks for such a word without reading the command.
func (p *Process) mayAbbreviate() bool {
	variables := false
	for _, words := range [...][]string{p.Container.Command, p.Container.Args} {
		for _, word := range words {
			if p.mentionsAbbreviation(word) {
				return true
			}
			variables = variables || strings.IndexByte(word, '$') >= 0
		}
	}
	if !variables {
		return false
	}
	for i := range p.Container.Env {
		if p.mentionsAbbreviation(p.Container.Env[i].Value) {
			return true
		}
	}
	return false
}

func (p *Process) mentionsAbbreviation(text string) bool {
	for {
		i := strings.Index(text, "--")
		if i < 0 {
			return false
		}
		text = text[i:]
		end := strings.IndexAny(text, "= \t\n\"'\\;")
		if end < 0 {
			end = len(text)
		}
		if flag, _ := p.Module.abbreviated(text[:end]); flag != "" {
			return true
		}
		text = text[max(end, len("--")):]
	}
}

// leastAbbreviation is how long a word must be that no release takes for an abbreviation; a shorter one may begin anything.
const leastAbbreviation = len("--xyz")

// abbreviated is the identity flag that a word begins, and whether some release takes it for that; empty where it is a
// flag itself.
func (m *Module) abbreviated(word string) (flag string, taken bool) {
	if len(word) <= len("--") || word[:2] != "--" {
		return "", false
	}
	for i := range m.Flags {
		f := &m.Flags[i]
		if f.Name == word {
			return "", false
		}
		if taken || !f.Flag.tellsIdentity() || !strings.HasPrefix(f.Name, word) {
			continue
		}
		taken = m.Abbreviations && (f.Shortest != "" && len(word) >= len(f.Shortest) || f.Older != "" && len(word) >= len(f.Older))
		if taken || flag == "" && len(word) >= leastAbbreviation {
			flag = f.Name
		}
	}
	return flag, taken
}

// tellsIdentity reports whether a flag says who the process is, or where it is to be found.
func (f Flag) tellsIdentity() bool {
	switch f {
	case FlagNamespace, FlagNamespacePrefix, FlagEndpoint, FlagComponent, FlagBackend, FlagMode, FlagModality:
		return true
	}
	return false
}
