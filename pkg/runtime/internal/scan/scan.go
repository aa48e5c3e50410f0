// Package scan reads JSON that an API server has written: it finds the few values that are wanted and skips the rest, which
// is most, without looking at it more closely than it must. It trusts that what it skips is well formed; what it returns
// is exact for every well-formed input.
package scan

import (
	"encoding/json"
	"math/bits"
	"strings"
)

// Scanner walks over one text. After anything unexpected it is Bad, and everything that it returns is empty. An object:
//
//	for s.Enter('{'); s.More('}'); {
//		switch s.Key() {
//		case "name":
//			name = s.String()
//		default:
//			s.Skip()
//		}
//	}
//
// Strings without escapes are parts of the text, not copies.
type Scanner struct {
	text  string
	at    int
	first bool // nothing of the container that was entered last has been read
	bad   bool
}

// New returns a scanner at the beginning of the text.
func New(text string) *Scanner { return &Scanner{text: text} }

// Bad says that something was not as expected.
func (s *Scanner) Bad() bool { return s.bad }

// Fail makes it Bad.
func (s *Scanner) Fail() { s.bad, s.at = true, len(s.text) }

// Done says that nothing but white space is left and nothing was bad.
func (s *Scanner) Done() bool { return s.Peek() == 0 && !s.bad }

// Rest is what has not been read, white space at the ends cut off.
func (s *Scanner) Rest() string { return strings.TrimRight(s.text[s.at:], " \t\r\n") }

// Peek returns the first byte of what comes next, 0 at the end.
func (s *Scanner) Peek() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

func (s *Scanner) take(c byte) bool {
	if s.Peek() != c {
		s.Fail()
		return false
	}
	s.at++
	return true
}

// Enter goes into an object or array; open is its first byte.
func (s *Scanner) Enter(open byte) { s.first = s.take(open) }

// More says whether there is another element before the closing byte, and steps over what is in between.
func (s *Scanner) More(closing byte) bool {
	c := s.Peek()
	switch {
	case c == closing:
		s.at++
		s.first = false
		return false
	case s.bad:
		return false
	case s.first:
		s.first = false
		return true
	default:
		return s.take(',')
	}
}

// Key reads a key and its colon.
func (s *Scanner) Key() string {
	key := s.String()
	s.take(':')
	return key
}

// String reads a string; null is an empty one.
func (s *Scanner) String() string {
	if s.Null() {
		return ""
	}
	raw, escaped := s.quoted()
	if s.bad {
		return ""
	}
	if !escaped {
		return raw[1 : len(raw)-1]
	}
	var out string
	if json.Unmarshal([]byte(raw), &out) != nil {
		s.Fail()
	}
	return out
}

// Null reads a null if one comes next.
func (s *Scanner) Null() bool {
	if s.Peek() == 'n' && strings.HasPrefix(s.text[s.at:], "null") {
		s.at += len("null")
		return true
	}
	return false
}

// Raw reads any value and returns its text.
func (s *Scanner) Raw() string {
	s.Peek()
	from := s.at
	s.Skip()
	if s.bad {
		return ""
	}
	return s.text[from:s.at]
}

// Skip reads any value.
func (s *Scanner) Skip() {
	switch s.Peek() {
	case '"':
		s.quoted()
	case '{', '[':
		s.nested()
	case 0, ',', ':', '}', ']':
		s.Fail()
	default: // a number or a word ends where something else begins
		for s.at < len(s.text) && !delimiter(s.text[s.at]) {
			s.at++
		}
	}
}

// Leap steps over an array of objects, many times as fast as Skip, to the first place at which an array of objects ends and
// that key follows; it says whether there is one. In well-formed text that is never inside a string, but the array may be
// another one: one further in, and then the reader is not Done when it has left all that it entered; or one further on, and
// then it has missed what is between. Whoever leaps sees to both.
func (s *Scanner) Leap(key string) bool {
	for at := s.at; ; at++ {
		n := strings.IndexByte(s.text[at:], ']')
		if n < 1 {
			return false
		}
		at += n
		rest := s.text[at+1:]
		if s.text[at-1] == '}' && strings.HasPrefix(rest, `,"`) && strings.HasPrefix(rest[2:], key) && strings.HasPrefix(rest[2+len(key):], `":`) {
			s.at = at + 1
			return true
		}
	}
}

func delimiter(c byte) bool {
	switch c {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// nested reads an object or array. Nearly every byte of an API server's answer comes through here.
func (s *Scanner) nested() {
	text, depth := s.text, 0
	for at := s.at; at < len(text); {
		c := text[at]
		at++
		switch {
		case c == '"':
			for at = special(text, at); at < len(text) && text[at] == '\\'; {
				at = special(text, at+2)
			}
			at++
		case c|0x20 == '{': // or [
			depth++
		case c|0x20 == '}': // or ]
			if depth--; depth == 0 {
				s.at = at
				return
			}
		}
	}
	s.Fail()
}

// quoted reads a string and returns it as it stands, quotes included, and whether it has escapes.
func (s *Scanner) quoted() (raw string, escaped bool) {
	if s.Peek() != '"' {
		s.Fail()
		return "", false
	}
	from, text := s.at, s.text
	at := special(text, from+1)
	for at < len(text) && text[at] == '\\' {
		escaped = true
		at = special(text, at+2)
	}
	if at >= len(text) {
		s.Fail()
		return "", false
	}
	s.at = at + 1
	return text[from:s.at], escaped
}

// special returns where the next quote or backslash stands; there is none if that is not in the text.
func special(text string, at int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; len(text)-at >= 8; at += 8 { // eight bytes at a time: a byte that is xored to 0 borrows its top bit
		t := text[at : at+8]
		w := uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
			uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
		quote, back := w^ones*'"', w^ones*'\\'
		if found := ((quote-ones)&^quote | (back-ones)&^back) & tops; found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(text) && text[at] != '"' && text[at] != '\\' {
		at++
	}
	return at
}
