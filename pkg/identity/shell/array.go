package shell

import "mvdan.cc/sh/v3/syntax"

// assign sets a variable to what an assignment gives it.
func (r *runner) assign(a *syntax.Assign, export bool) {
	if a.Array == nil {
		r.set(a.Name.Value, r.assigned(a), export)
		return
	}
	var list []string
	if a.Append {
		list = append(list, r.elements(a.Name.Value)...)
	}
	for _, e := range a.Array.Elems {
		if e.Index != nil || e.Value == nil {
			list = append(list, Open) // in an order of its own
			continue
		}
		list = append(list, r.fields(e.Value)...)
	}
	first := ""
	if len(list) > 0 {
		first = list[0]
	}
	r.set(a.Name.Value, first, export)
	v := &r.vars[len(r.vars)-1]
	v.array, v.list = true, list
}

// elements are those of an array; a variable that is none has one, or perhaps any number.
func (r *runner) elements(name string) []string {
	for i := len(r.vars) - 1; i >= 0; i-- {
		if r.vars[i].name != name {
			continue
		}
		if r.vars[i].array {
			return r.vars[i].list
		}
		break
	}
	text, ok := r.value(name)
	switch {
	case !ok:
		return nil
	case isOpaque(text):
		return []string{Open}
	}
	return []string{text}
}

// several are the words of a parameter that may be any number of them: $@, ${@:2}, ${A[@]} and their like. star tells
// those that quotes join.
func (r *runner) several(p *syntax.ParamExp) (words []string, star, ok bool) {
	if isAll(p) {
		return r.rest(), p.Param.Value == "*", true
	}
	if p.Param == nil || p.Length {
		return nil, false, false
	}
	name := p.Param.Value
	if index, isWord := p.Index.(*syntax.Word); isWord {
		subscript := index.Lit()
		if subscript != "@" && subscript != "*" {
			return nil, false, false
		}
		plain := *p
		plain.Index = nil
		if isPlain(&plain) && p.Exp == nil {
			return r.elements(name), subscript == "*", true
		}
		return []string{Open}, false, true
	}
	return []string{Open}, false, name == "@" || name == "*"
}
