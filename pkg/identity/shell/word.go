package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// field is a word that is being put together.
type field struct {
	strings.Builder
	// begun: the word exists even if it is empty, because of quotes.
	begun bool
}

// fields expands a word, which may become none or several.
func (r *runner) fields(w *syntax.Word) []string {
	var all []string
	var cur field
	flush := func() {
		if cur.begun || cur.Len() > 0 {
			all = append(all, cur.String())
		}
		cur = field{}
	}
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.DblQuoted:
			cur.begun = true
			r.quoted(&cur, p, &all)
		case *syntax.SglQuoted:
			cur.begun = true
			cur.WriteString(single(p))
		case *syntax.ParamExp:
			if words, _, ok := r.several(p); ok {
				for i, word := range words {
					if i > 0 {
						flush()
					}
					split(word, &cur, flush)
				}
				break
			}
			split(r.parameter(p), &cur, flush)
		default:
			cur.WriteString(r.part(part))
		}
	}
	flush()
	return all
}

// joined is one text of several words. What may be any number of them is hidden in it.
func joined(words []string) string {
	return strings.ReplaceAll(strings.Join(words, " "), Open, Hidden)
}

// split appends an unquoted expansion, breaking it at white space.
func split(text string, cur *field, flush func()) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, Open, Hidden), Hidden, Open)
	for i, piece := range strings.FieldsFunc(text, isSpace) {
		if i > 0 || text != "" && isSpace(rune(text[0])) {
			flush()
		}
		cur.WriteString(piece)
	}
	if text != "" && isSpace(rune(text[len(text)-1])) {
		flush()
	}
}

func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }

// text expands a word that is not split: an assignment's value, a default.
func (r *runner) text(w *syntax.Word) string {
	var cur field
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.DblQuoted:
			r.quoted(&cur, p, nil)
		case *syntax.SglQuoted:
			cur.WriteString(single(p))
		case *syntax.ParamExp:
			if words, _, ok := r.several(p); ok {
				cur.WriteString(joined(words))
				break
			}
			cur.WriteString(r.parameter(p))
		default:
			cur.WriteString(strings.TrimSuffix(r.part(part), "*"))
		}
	}
	return cur.String()
}

// quoted expands what stands in double quotes. "$@" there becomes several words: all but the last go to all.
func (r *runner) quoted(cur *field, q *syntax.DblQuoted, all *[]string) {
	for _, part := range q.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			cur.WriteString(unescape(p.Value, "$`\"\\"))
		case *syntax.ParamExp:
			rest, star, ok := r.several(p)
			if !ok {
				cur.WriteString(r.parameter(p))
				break
			}
			if star || all == nil {
				cur.WriteString(joined(rest))
				break
			}
			for i, arg := range rest {
				if i > 0 {
					*all = append(*all, cur.String())
					*cur = field{begun: true}
				}
				cur.WriteString(arg)
			}
			if len(rest) == 0 && len(q.Parts) == 1 {
				cur.begun = cur.Len() > 0 // "$@" without arguments is no word at all
			}
		default:
			cur.WriteString(Hidden)
		}
	}
}

// part is a piece of a word outside of quotes that is no parameter.
func (r *runner) part(part syntax.WordPart) string {
	switch p := part.(type) {
	case *syntax.Lit:
		return unescape(p.Value, "")
	case *syntax.ArithmExp, *syntax.ProcSubst:
		return Hidden
	}
	return Open
}

// single is what stands in single quotes; $'…' has escapes of its own.
func single(q *syntax.SglQuoted) string {
	if q.Dollar && strings.Contains(q.Value, `\`) {
		return Hidden
	}
	return q.Value
}

// unescape removes the backslashes that quote: all of them, or those in front of a character of special.
func unescape(text, special string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			next := text[i+1]
			if next == '\n' {
				i++
				continue
			}
			if special == "" || strings.IndexByte(special, next) >= 0 {
				i++
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
