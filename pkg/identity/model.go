package identity

import "strings"

// Model is the name under which a worker serves its model, as far as the arguments say: of several the first. Nothing
// where they do not.
func (p *Process) Model() Value {
	v := p.Told(FlagModelName)
	if !v.Told() {
		return p.Told(FlagModel)
	}
	names := strings.FieldsFunc(v.Text, func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) > 0 {
		v.Text = names[0]
	}
	return v
}
