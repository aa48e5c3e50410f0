package identity

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity/shell"
)

// hidden stands in a text for what only the running pod knows. No argument or variable can hold a NUL byte.
const hidden = shell.Hidden

// isHidden reports whether a part of text is known to the running pod only.
func isHidden(text string) bool { return strings.Contains(text, hidden) }

// expand replaces $(NAME) as the kubelet does: $$ is $, and a name that lookup does not know stays as it is written
// (kubernetes third_party/forked/golang/expansion/expand.go, v1.36).
func expand(text string, lookup func(name string) (string, bool)) string {
	dollar := strings.IndexByte(text, '$')
	if dollar < 0 {
		return text
	}
	var b strings.Builder
	for dollar >= 0 && dollar+1 < len(text) {
		b.WriteString(text[:dollar])
		text = text[dollar:]
		switch text[1] {
		case '$':
			b.WriteByte('$')
			text = text[2:]
		case '(':
			end := strings.IndexByte(text, ')')
			if end < 0 {
				b.WriteString("$(")
				text = text[2:]
				break
			}
			if value, ok := lookup(text[2:end]); ok {
				b.WriteString(value)
			} else {
				b.WriteString(text[:end+1])
			}
			text = text[end+1:]
		default:
			b.WriteString(text[:2])
			text = text[2:]
		}
		if b.Len() > maxExpanded {
			return hidden
		}
		dollar = strings.IndexByte(text, '$')
	}
	b.WriteString(text)
	return b.String()
}

// maxExpanded bounds a text whose variables multiply each other; an argument of that size starts no process
// (Linux MAX_ARG_STRLEN is 128 KiB).
const maxExpanded = 128 << 10

// hasVariable reports whether text has a $NAME, ${NAME} or $(NAME) left in it.
func hasVariable(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		switch c := text[i+1]; {
		case c == '(', c == '{', c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			return true
		}
	}
	return false
}
