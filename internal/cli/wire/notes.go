package wire

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dynawire/dynawire/internal/cli/manifest"
)

// notes are comments at the end of a document that tell Uninject what was there before Inject, where it could not tell: the
// elements by the template's number. They are comments so that the object is what the webhook would make of it.
type notes map[int][]string

const notePrefix = "# dynawire: uninject keeps of pod template "

func notesOf(d *manifest.Document) notes {
	found := notes{}
	for line := range bytes.Lines(d.Text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(string(line)), notePrefix)
		if !ok {
			continue
		}
		var index int
		if _, err := fmt.Sscanf(rest, "%d:", &index); err != nil {
			continue
		}
		_, list, _ := strings.Cut(rest, ": ")
		found[index] = strings.Split(list, ", ")
	}
	return found
}

// write adds the notes to the text of a document. JSON has no comments.
func (n notes) write(d *manifest.Document, text []byte) []byte {
	if d.JSON || len(n) == 0 {
		return text
	}
	text, end := splitEnd(text)
	newline := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		newline = "\r\n"
	}
	for _, index := range slices.Sorted(maps.Keys(n)) {
		line := fmt.Sprintf("%s%d: %s", notePrefix, index, strings.Join(n[index], ", "))
		if bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, line+newline...)
		} else {
			text = append(text, newline+line...)
		}
	}
	return append(text, end...)
}

// splitEnd sets the "..." apart that ends a document.
func splitEnd(text []byte) (body, end []byte) {
	at := bytes.LastIndex(text, []byte("\n...")) + 1
	if at == 0 || bytes.Contains(bytes.TrimRight(text[at:], "\r\n"), []byte("\n")) {
		return slices.Clone(text), nil
	}
	return slices.Clone(text[:at]), text[at:]
}

// erase takes the notes out of a text.
func (n notes) erase(text []byte) []byte {
	if len(n) == 0 {
		return text
	}
	var out []byte
	for line := range bytes.Lines(text) {
		switch {
		case !bytes.HasPrefix(line, []byte(notePrefix)):
			out = append(out, line...)
		case !bytes.HasSuffix(line, []byte("\n")):
			out = bytes.TrimSuffix(bytes.TrimSuffix(out, []byte("\n")), []byte("\r"))
		}
	}
	return out
}
